package sse

import (
	"strings"
	"testing"
)

func BenchmarkDecoder(b *testing.B) {
	delta := `{"type":"response.output_text.delta","sequence_number":17,"item_id":"msg_68c0","output_index":4,"content_index":0,"delta":" the","logprobs":[],"obfuscation":"Yp1xqlB9aXcd"}`
	frame := string(AppendEvent(nil, "response.output_text.delta", []byte(delta)))
	image := string(AppendEvent(nil, "response.output_item.done", []byte(strings.Repeat("iVBORw0K", 256<<10))))
	for _, bc := range []struct {
		name, in string
		piece    int
	}{
		{"event in one Write", frame, len(frame)},
		{"20 events in one Write", strings.Repeat(frame, 20), 20 * len(frame)},
		{"event in two Writes", frame, len(frame)/2 + 1},
		{"CRLF", strings.ReplaceAll(frame, "\n", "\r\n"), len(frame) + 3},
		{"2 MiB in pieces of 32 KiB", image, 32 << 10},
		{"2 MiB in one Write", image, len(image)},
	} {
		b.Run(bc.name, func(b *testing.B) {
			in := []byte(bc.in)
			events := 0
			d := NewDecoder(16<<20, func(Event) error {
				events++
				return nil
			})
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				for p := in; len(p) > 0; {
					n := min(bc.piece, len(p))
					if _, err := d.Write(p[:n]); err != nil {
						b.Fatal(err)
					}
					p = p[n:]
				}
			}
			if events == 0 {
				b.Fatal("no events")
			}
		})
	}
}

// Each event that lies within one Write costs no allocation.
func TestNoAllocationPerEvent(t *testing.T) {
	in := []byte(strings.Repeat("event: response.output_text.delta\ndata: {\"delta\":\"x\"}\n\n", 100))
	d := NewDecoder(1<<20, func(Event) error { return nil })
	if n := testing.AllocsPerRun(10, func() { _, _ = d.Write(in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
