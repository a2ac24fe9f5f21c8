package rawjson

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// request is a body with a long history.
func request(size int) []byte {
	var b bytes.Buffer
	b.WriteString(`{"model":"gpt-5","stream":true,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}],"input":[`)
	for i := 0; b.Len() < size; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"type":"message","role":"user","content":[{"type":"input_text","text":"%s \"n\" %d\n"}]}`,
			strings.Repeat("some words ", 40), i)
	}
	b.WriteString(`]}`)
	return b.Bytes()
}

func BenchmarkParse250KB(b *testing.B) {
	body := request(250_000)
	for name, parse := range map[string]func([]byte) (*Object, error){"client": Parse, "upstream": ParseLenient} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parse(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseDelta(b *testing.B) {
	delta := []byte(`{"type":"response.output_text.delta","sequence_number":17,"item_id":"msg_68c0","output_index":4,"content_index":0,"delta":" the","logprobs":[],"obfuscation":"Yp1xqlB9aXcd"}`)
	b.SetBytes(int64(len(delta)))
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		o, err := ParseLenient(delta)
		if err != nil {
			b.Fatal(err)
		}
		o.Set("sequence_number", Int(18))
		dst = o.Append(dst[:0])
	}
}
