package sandbox

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecodeUTF8KeepsUnfinishedRuneBack(t *testing.T) {
	for _, c := range []struct{ in, valid, rest string }{
		{"", "", ""},
		{"abc", "abc", ""},
		{"a\x00b", "a\x00b", ""},
		{"a€", "a€", ""},
		{"a\xe2", "a", "\xe2"},
		{"a\xe2\x82", "a", "\xe2\x82"},
		{"\xf0\x9f\x98", "", "\xf0\x9f\x98"},
		{"a\xff", "a\uFFFD", ""},
		{"\xff\xe2\x82", "\uFFFD", "\xe2\x82"},
		{"\x80\x80\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD", ""},
		{"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD", ""}, // a surrogate
		{"\xe2\x82x", "\uFFFD\uFFFDx", ""},
	} {
		valid, rest := decodeUTF8([]byte(c.in))
		if string(valid) != c.valid || string(rest) != c.rest {
			t.Errorf("%q: %q and %q, want %q and %q", c.in, valid, rest, c.valid, c.rest)
		}
	}
}

func TestClipIsValidAndBounded(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"1234567890", "1234567890"},
		{"12345678901", "1234567…"},
		{"€€€€", "€€…"},
		{"a\xff", "a\uFFFD"},
		{"a\xe2\x82", "a\uFFFD\uFFFD"},
		{"\xff\xff\xff\xff", "\uFFFD\uFFFD…"},
		{strings.Repeat("\xe2", 1000), "\uFFFD\uFFFD…"},
	} {
		got := clip(c.in, 10)
		if got != c.want || len(got) > 10 || !utf8.ValidString(got) {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
}
