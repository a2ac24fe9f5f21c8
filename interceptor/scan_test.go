package interceptor

import (
	"fmt"
	"math/rand/v2"
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
		`code_interpreter`:                                  {true, true},
		`\u0061`:                                            {true, true},
		``:                                                  {false, false},
		`_`:                                                 {false, false},
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
					t.Fatalf("%s in pieces of %d, records %v: %v", body, size, chained, s.Found)
				}
			}
		}
	}
}

// The scan looks at some places for words, and asks each piece which byte to
// look for; neither may have a blind spot.
func TestTheScanFindsWordsAtEveryPlaceOfALongBody(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	// What surrounds the piece's edge makes either byte of a literal the rarer.
	for _, around := range [][2]string{{" ", " "}, {`\"`, "_0u"}, {"_0u", `\"`}, {"code_", "ious_"}, {"interpreter", "response_id"}} {
		before, after := strings.Repeat(around[0], 1+piece/len(around[0])), strings.Repeat(around[1], 1+piece/len(around[1]))
		if MayConcern([]byte(before[:piece]+after), true) {
			t.Errorf("%q concerns us", around)
		}
		for at := piece - 100; at < piece+100; at++ {
			for word, chained := range map[string]bool{
				toolWord: false, spelled(random, toolWord): false,
				chainWord: true, spelled(random, chainWord): true, callWord: true, `\u0063`: true,
			} {
				body := before[:min(at, piece)] + after[:max(0, at-piece)] + word + after
				if !MayConcern([]byte(body), chained) {
					t.Fatalf("%s at %d between %q is not found", word, at, around)
				}
				s := Scanner{Chained: chained}
				cut := at - 10 + random.IntN(120)
				_, _ = s.Write([]byte(body[:cut]))
				_, _ = s.Write([]byte(body[cut:]))
				if !s.Found {
					t.Fatalf("%s at %d between %q, cut at %d, is not found", word, at, around, cut)
				}
			}
		}
	}
}

// spelled escapes any of a word's letters, as JSON may.
func spelled(random *rand.Rand, word string) string {
	var b strings.Builder
	share := random.IntN(5)
	for _, letter := range []byte(word) {
		switch {
		case random.IntN(4) >= share:
			b.WriteByte(letter)
		case random.IntN(2) == 0:
			fmt.Fprintf(&b, `\u%04x`, letter)
		default:
			fmt.Fprintf(&b, `\u%04X`, letter)
		}
	}
	return b.String()
}
