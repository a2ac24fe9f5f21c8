package interceptor

import (
	"strings"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// Design decision 2: a surrogate pair may be split across two deltas.
func TestDeltasThatCutASurrogatePairAreJoined(t *testing.T) {
	for name, test := range map[string]struct {
		deltas []string
		want   string
	}{
		"pair in one":          {[]string{`"a\ud83d\ude00b"`}, "a😀b"},
		"pair in two":          {[]string{`"a\ud83d"`, `"\ude00b"`}, "a😀b"},
		"upper case":           {[]string{`"\uD83D"`, `"\uDE00"`}, "😀"},
		"half alone":           {[]string{`"a\ud83d"`, `"b"`}, "a\ufffdb"},
		"escaped backslash":    {[]string{`"a\\ud83d"`, `"b"`}, `a\ud83db`},
		"two in a row":         {[]string{`"\ud83d"`, `"\ude00\ud83d"`, `"\ude01"`}, "😀😁"},
		"another escape":       {[]string{`"\u00e9"`, `"\ud7ff"`}, "é\ud7ff"},
		"not a string":         {[]string{`5`, `null`, `"x"`}, "x"},
		"empty":                {[]string{`""`, `""`}, ""},
		"escape before a half": {[]string{`"\n\ud83d"`, `"\ude00"`}, "\n😀"},
	} {
		t.Run(name, func(t *testing.T) {
			var p pieceReader
			var got strings.Builder
			for _, d := range test.deltas {
				got.WriteString(p.text(rawjson.Value(d)))
			}
			if got.String() != test.want {
				t.Errorf("got %q, want %q", got.String(), test.want)
			}
		})
	}
}
