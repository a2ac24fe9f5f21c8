package sse

import (
	"fmt"
	"testing"
)

func TestAppendEvent(t *testing.T) {
	for _, tc := range []struct{ typ, data, want, back string }{
		{"response.created", `{"a":1}`, "event: response.created\ndata: {\"a\":1}\n\n", `{"a":1}`},
		{"", "[DONE]", "data: [DONE]\n\n", "[DONE]"},
		{"", "", "data: \n\n", ""},
		{"", "a\nb\r\nc\rd", "data: a\ndata: b\ndata: c\ndata: d\n\n", "a\nb\nc\nd"},
		{"", "\n", "data: \ndata: \n\n", "\n"},
		{"", " a\n\n", "data:  a\ndata: \ndata: \n\n", " a\n\n"},
		{"", "a\r\n", "data: a\ndata: \n\n", "a\n"},
		{"a\ndata: forged", "1", "event: a\ndata: 1\n\n", "1"},
	} {
		got := AppendEvent(nil, tc.typ, []byte(tc.data))
		if string(got) != tc.want {
			t.Errorf("%q, %q: %q, want %q", tc.typ, tc.data, got, tc.want)
		}
		events, err := collect(1000, string(got))
		if want := render(Event{Type: firstLine(tc.typ), Data: []byte(tc.back)}); err != nil || fmt.Sprint(events) != fmt.Sprint([]string{want}) {
			t.Errorf("%q decodes to %v, %v", got, events, err)
		}
	}
}

func TestAppendComment(t *testing.T) {
	for text, want := range map[string]string{
		"ping": ": ping\n\n", "": ": \n\n", "a\ndata: forged\r\r\n": ": a\n: data: forged\n: \n: \n\n",
	} {
		got := AppendComment([]byte("data: 1\n\n"), text)
		if string(got) != "data: 1\n\n"+want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
		if events, err := collect(1000, string(got)); err != nil || len(events) != 1 {
			t.Errorf("%q decodes to %v, %v", got, events, err)
		}
	}
}
