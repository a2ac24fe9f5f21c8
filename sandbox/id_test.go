package sandbox

import (
	"regexp"
	"strings"
	"testing"
)

func TestMintedIDIsKnownAgain(t *testing.T) {
	m := newMinter()
	shape := regexp.MustCompile(`^cntr_[0-9a-f]{48}$`)
	seen := make(map[string]bool)
	for range 100 {
		id := m.mint()
		if !shape.MatchString(id) || len(id) > 64 {
			t.Fatalf("id %q has not the shape of one", id)
		}
		if !m.minted(id) {
			t.Fatalf("%q is not known again", id)
		}
		if seen[id] {
			t.Fatalf("%q was minted twice", id)
		}
		seen[id] = true
	}
}

func TestForeignIDIsNotMinted(t *testing.T) {
	m, other := newMinter(), newMinter()
	id := m.mint()
	flip := func(at int) string {
		b := []byte(id)
		b[at] ^= 1 // stays a hexadecimal digit, or becomes none
		return string(b)
	}
	for name, foreign := range map[string]string{
		"empty":            "",
		"prefix only":      "cntr_",
		"no prefix":        id[5:] + "00000",
		"other pool's":     other.mint(),
		"random changed":   flip(5),
		"mac changed":      flip(len(id) - 1),
		"too short":        id[:len(id)-1],
		"too long":         id + "0",
		"upper case":       "cntr_" + strings.ToUpper(id[5:]),
		"upper prefix":     "CNTR_" + id[5:],
		"not hexadecimal":  "cntr_" + strings.Repeat("g", 48),
		"an upstream's id": "cntr_682e0e7318108198aa783fd921ff305e08e78805b9fdbb04",
		"NULs":             "cntr_" + strings.Repeat("\x00", 48),
	} {
		t.Run(name, func(t *testing.T) {
			if foreign != id && m.minted(foreign) {
				t.Errorf("%q counts as minted", foreign)
			}
		})
	}
}
