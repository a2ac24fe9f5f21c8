package interceptor

import (
	"strings"
	"testing"
)

// A body may arrive in any pieces.
func TestScannerFindsWhatMayConcernUsWhateverTheSplit(t *testing.T) {
	for body, want := range map[string][2]bool{ // without and with records
		`{"tools":[{"type":"code_interpreter"}]}`:           {true, true},
		`{"tools":[{"type":"code\u005finterpreter"}]}`:      {true, true},
		`{"tools":[{"type":"\u0063ode_interprete\u0072"}]}`: {true, true},
		`{"input":"x","previous_response_id":"resp_1"}`:     {false, true},
		`{"input":[{"id":"ci_1"}]}`:                         {false, true},
		`{"input":"caf\u00e9 a_b 100 _interprete ci_"}`:     {false, false},
		`_interpreter`: {true, true},
		`\u0061`:       {true, true},
		``:             {false, false},
		`_`:            {false, false},
	} {
		for n, chained := range []bool{false, true} {
			if got := MayConcern([]byte(body), chained); got != want[n] {
				t.Errorf("whole %s, records %v: %v", body, chained, got)
			}
			padded := strings.Repeat("x", 40) + body + strings.Repeat("y", 40)
			for size := 1; size <= len(padded); size++ {
				s := Scanner{Chained: chained}
				for rest := padded; rest != ""; {
					k := min(size, len(rest))
					_, _ = s.Write([]byte(rest[:k]))
					rest = rest[k:]
				}
				if s.Found != want[n] {
					t.Errorf("%s in pieces of %d, records %v: %v", body, size, chained, s.Found)
				}
			}
		}
	}
}
