package rawjson

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// Null is the JSON null.
var Null = Value("null")

// IsNull tells whether v is absent or null.
func IsNull(v Value) bool { return v == nil || string(v) == "null" }

// String returns s as a JSON string. Invalid UTF-8 becomes U+FFFD.
func String(s string) Value {
	v, _ := jsontext.AppendQuote(make([]byte, 0, len(s)+len(`""`)), s)
	return v
}

// Unquote returns the text of a JSON string. Invalid UTF-8 and lone surrogates
// become U+FFFD.
func Unquote(v Value) (string, bool) {
	if len(v) < len(`""`) || v[0] != '"' {
		return "", false
	}
	if text := v[1 : len(v)-1]; isPlain(text) {
		return string(text), true
	}
	text, _ := jsontext.AppendUnquote(make([]byte, 0, len(v)), v)
	return string(text), true
}

// isPlain tells whether a JSON string means its own bytes.
func isPlain(text []byte) bool {
	for _, c := range text {
		if c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

func Int(n int64) Value { return strconv.AppendInt(nil, n, 10) }

func Bool(b bool) Value { return strconv.AppendBool(nil, b) }

// Array returns an array of vs, which must be valid JSON.
func Array(vs []Value) Value {
	size := len(`[]`)
	for _, v := range vs {
		size += len(v) + len(`,`)
	}
	dst := append(make([]byte, 0, size), '[')
	for i, v := range vs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, v...)
	}
	return append(dst, ']')
}

// maxDigits is how many an int64 can have.
const maxDigits = 19

func parseInt(v Value) (int64, bool) {
	if v.Kind() != '0' {
		return 0, false
	}
	mantissa, exponent, _ := bytes.Cut(bytes.ToLower(v), []byte{'e'})
	sign := ""
	if mantissa[0] == '-' {
		sign, mantissa = "-", mantissa[1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte{'.'})
	digits := bytes.TrimLeft(append(whole[:len(whole):len(whole)], fraction...), "0")
	significant := bytes.TrimRight(digits, "0")
	if len(significant) == 0 {
		return 0, true
	}
	shift, err := strconv.Atoi(string(exponent))
	if len(exponent) > 0 && err != nil {
		return 0, false
	}
	zeros := shift - len(fraction) + len(digits) - len(significant)
	if zeros < 0 || zeros > maxDigits {
		return 0, false
	}
	text := append([]byte(sign), significant...)
	for range zeros {
		text = append(text, '0')
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return n, err == nil
}
