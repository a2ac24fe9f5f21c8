package interceptor

import (
	"strings"
	"testing"
)

// The gate's scan of bodies that do not concern us; its cost per byte is what
// every other request pays.
func BenchmarkMayConcern(b *testing.B) {
	for name, line := range map[string]string{
		"prose":   `The quick brown fox, said \"the interpreter\", jumps over the lazy dog.\n`,
		"code":    "def fit_model(x_train, y_train):\\n\\treturn np.linalg.lstsq(x_train, y_train)[0]\\n",
		"escaped": `Gr\u00fc\u00dfe aus M\u00fcnchen, \u4f60\u597d. `,
		"numbers": `0.1203, 1.0e-05, 100, -20.007, 0, `,
		"base64":  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
	} {
		body := []byte(`{"input":"` + strings.Repeat(line, 4<<20/len(line)) + `"}`)
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if MayConcern(body, false) {
					b.Fatal("it concerns us")
				}
			}
		})
	}
}
