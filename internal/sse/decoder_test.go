package sse

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// collect decodes pieces and renders the events, one string each.
func collect(maxEvent int, pieces ...string) (events []string, err error) {
	d := NewDecoder(maxEvent, func(e Event) error {
		events = append(events, render(e))
		return nil
	})
	for _, piece := range pieces {
		b := []byte(piece)
		n, err := d.Write(b)
		for i := range b {
			b[i] = '?' // the caller's buffer is its own after Write
		}
		if err != nil {
			return events, err
		}
		if n != len(piece) {
			return events, fmt.Errorf("wrote %d of %d bytes", n, len(piece))
		}
	}
	return events, d.Close()
}

func render(e Event) string {
	return fmt.Sprintf("%q %q %q %v %q", e.Type, e.Data, e.ID, e.HasID, e.Retry)
}

func TestDecode(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		want     []Event
		err      error
	}{
		{name: "nothing"},
		{name: "one", in: "event: a\ndata: {}\n\n", want: []Event{{Type: "a", Data: []byte("{}")}}},
		{name: "CR", in: "event: a\rdata: 1\r\rdata: 2\r\r", want: []Event{{Type: "a", Data: []byte("1")}, {Data: []byte("2")}}},
		{name: "CRLF", in: "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n", want: []Event{{Type: "a", Data: []byte("1")}, {Data: []byte("2")}}},
		{name: "mixed line ends", in: "data: 1\r\ndata: 2\rdata: 3\n\r\ndata: 4\n\r", want: []Event{{Data: []byte("1\n2\n3")}, {Data: []byte("4")}}},
		{name: "LF CR is two ends", in: "data: 1\n\rdata: 2\n\r", want: []Event{{Data: []byte("1")}, {Data: []byte("2")}}},
		{name: "byte order mark", in: "\uFEFFdata: 1\n\n\uFEFFdata: 2\n\n", want: []Event{{Data: []byte("1")}}},
		{name: "two byte order marks", in: "\uFEFF\uFEFFdata: 1\n\ndata: 2\n\n", want: []Event{{Data: []byte("2")}}},
		{name: "half a byte order mark", in: "\xEF\xBBdata: 1\n\ndata: 2\n\n", want: []Event{{Data: []byte("2")}}},
		{name: "comment after a byte order mark", in: "\uFEFF: hi\ndata: 1\n\n", want: []Event{{Data: []byte("1")}}},
		{name: "comments", in: ": OPENROUTER PROCESSING\n\n:\n:data: x\ndata: 1\n: within\ndata: 2\n\n: after\n\n", want: []Event{{Data: []byte("1\n2")}}},
		{name: "empty data", in: "data\n\ndata:\n\ndata: \n\n", want: []Event{{}, {}, {}}},
		{name: "empty data lines", in: "data\ndata:\n\ndata:\ndata: 1\ndata\n\n", want: []Event{{Data: []byte("\n")}, {Data: []byte("\n1\n")}}},
		{name: "no data, no event", in: "event: a\nid: 1\n\n\n\ndata: 1\n\n", want: []Event{{Data: []byte("1")}}},
		{name: "one space only", in: "data:  1 \ndata:2\ndata:\t3\n\n", want: []Event{{Data: []byte(" 1 \n2\n\t3")}}},
		{name: "id", in: "id: a\ndata: 1\n\nid\ndata: 2\n\nid: b\x00\ndata: 3\n\ndata: 4\n\n", want: []Event{
			{Data: []byte("1"), ID: "a", HasID: true}, {Data: []byte("2"), HasID: true}, {Data: []byte("3")}, {Data: []byte("4")},
		}},
		{name: "retry", in: "retry: 3000\nretry: 3s\nretry:\ndata: 1\n\n", want: []Event{{Data: []byte("1"), Retry: "3000"}}},
		{name: "the last of a field", in: "event: a\nevent: b\nid: 1\nid: 2\ndata: 1\n\n", want: []Event{{Type: "b", Data: []byte("1"), ID: "2", HasID: true}}},
		{name: "unknown fields", in: "Data: x\n data: x\ndata : x\nfoo\nfoo: bar\ndata: 1\n\n", want: []Event{{Data: []byte("1")}}},
		{name: "colons in data", in: "data: a: b\ndata:: c\n\n", want: []Event{{Data: []byte("a: b\n: c")}}},
		{name: "invalid UTF-8", in: "data: \xff\xfe\n\n", want: []Event{{Data: []byte("\xff\xfe")}}},
		{name: "no blank line", in: "data: 1\n\ndata: 2\n", want: []Event{{Data: []byte("1")}}, err: ErrUnterminated},
		{name: "no line end", in: "data: 1\n\ndata: [DONE]", want: []Event{{Data: []byte("1")}}, err: ErrUnterminated},
		{name: "ends in a field without data", in: "data: 1\n\nevent: a\n: data: x", want: []Event{{Data: []byte("1")}}},
		{name: "ends in a comment", in: "data: 1\n\n: data", want: []Event{{Data: []byte("1")}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var want []string
			for _, e := range tc.want {
				want = append(want, render(e))
			}
			// Whole, by the byte, and in two pieces.
			splits := [][]string{{tc.in}, strings.Split(tc.in, "")}
			var bytewise []string
			for i := range len(tc.in) {
				bytewise = append(bytewise, tc.in[i:i+1])
				splits = append(splits, []string{tc.in[:i], tc.in[i:]})
			}
			for _, pieces := range append(splits, bytewise) {
				got, err := collect(1000, pieces...)
				if !errors.Is(err, tc.err) || fmt.Sprint(got) != fmt.Sprint(want) {
					t.Fatalf("%q: got %v, %v, want %v, %v", pieces, got, err, want, tc.err)
				}
			}
		})
	}
}

// The LF of a CRLF may never come, so the event must not wait for it.
func TestDispatchOnCR(t *testing.T) {
	var got []string
	d := NewDecoder(100, func(e Event) error {
		got = append(got, string(e.Data))
		return nil
	})
	for i, piece := range []string{"data: 1\r\r", "\ndata: 2\r", "\n\r", "\ndata: 3\n\n"} {
		if _, err := d.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
		if want := []string{"1", "1", "1 2", "1 2 3"}[i]; strings.Join(got, " ") != want {
			t.Fatalf("after %q: %q", piece, got)
		}
	}
}

func TestHandleErrorIsSticky(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	d := NewDecoder(100, func(Event) error {
		calls++
		return stop
	})
	n, err := d.Write([]byte("data: 1\n\ndata: 2\n\n"))
	if n != len("data: 1\n\n") || err != stop {
		t.Fatalf("Write: %d, %v", n, err)
	}
	if n, err := d.Write([]byte("data: 3\n\n")); n != 0 || err != stop {
		t.Fatalf("second Write: %d, %v", n, err)
	}
	if err := d.Close(); err != stop || calls != 1 {
		t.Fatalf("Close: %v, %d calls", err, calls)
	}
}

func TestWriteAfterClose(t *testing.T) {
	d := NewDecoder(100, func(Event) error { return nil })
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Write([]byte("data: 1\n\n")); err == nil {
		t.Fatal("written after Close")
	}
}

func TestEventTooLarge(t *testing.T) {
	for _, tc := range []struct {
		name, in string
		fits     bool
	}{
		{"just fits", "data: 4567890\n\n", true},
		{"many that fit", strings.Repeat("data: 4567890\n\n", 10), true},
		{"one byte more", "data: 45678901\n\n", false},
		{"without a line end", "data: 45678901", false},
		{"unknown field", "x2345678901234", false},
		{"data lines", "data: 1\ndata: 2\ndata: 3\ndata: 4\n\n", true},
		{"more data lines", "data: 1\ndata: 2\ndata: 3\ndata: 4\ndata: 5\n\n", false},
		{"empty data lines", strings.Repeat("data\n", 20), false},
		{"type", "event: 8\nid: 1\ndata: 34567\n\n", true},
		{"long type", "event: 89\nid: 1\ndata: 345678901\n\n", false},
		{"the same field again", strings.Repeat("event: a\nid: a\nretry: 1\n", 20) + "data: 1\n\n", true},
		{"long comments", ": " + strings.Repeat("c", 100) + "\n" + strings.Repeat(": ping\n", 100) + "data: 4567890\n\n", true},
		{"comment without end", strings.Repeat(": c", 100), true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for cut := range len(tc.in) {
				_, err := collect(13, tc.in[:cut], tc.in[cut:])
				if errors.Is(err, ErrEventTooLarge) == tc.fits {
					t.Fatalf("cut at %d: %v", cut, err)
				}
			}
			_, err := collect(13, strings.Split(tc.in, "")...)
			if errors.Is(err, ErrEventTooLarge) == tc.fits {
				t.Fatalf("by the byte: %v", err)
			}
		})
	}
}

func TestMemoryIsBounded(t *testing.T) {
	const limit = 1000
	d := NewDecoder(limit, func(Event) error { return nil })
	for i := range 10_000 {
		in := fmt.Sprintf(": %s\nevent: t%d\ndata: %s\ndata: x\n\n", strings.Repeat("c", 5000), i, strings.Repeat("d", 900))
		for _, piece := range []string{in[:2500], in[2500:5500], in[5500:]} {
			if _, err := d.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if cap(d.line) > 2*limit || cap(d.data) > 2*limit || len(d.types) > maxTypes {
		t.Errorf("holds %d, %d bytes and %d types", cap(d.line), cap(d.data), len(d.types))
	}
}
