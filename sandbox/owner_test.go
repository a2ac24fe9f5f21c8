package sandbox

import (
	"strings"
	"testing"
)

func TestSessionKeysDoNotCollide(t *testing.T) {
	type pair struct {
		owner   Owner
		session string
	}
	pairs := []pair{
		{Owner{"s", "key", "a"}, "b"},
		{Owner{"s", "key", "a:b"}, "b"},
		{Owner{"s", "key", "a"}, "b:b"},
		{Owner{"s", "placeholder", "a"}, "b"},
		{Owner{"t", "key", "a"}, "b"},
		{Owner{"", "skey", "a"}, "b"},
		{Owner{"s", "key", "a"}, "b\x00"},
		{Owner{"s", "key", "a"}, strings.Repeat("b", 1<<20)},
		{Owner{"s", "key", "a"}, "\xff\xfe\n"},
	}
	seen := make(map[sessionKey]pair)
	for _, p := range pairs {
		key, kept := newSessionKey(p.owner, p.session)
		if !kept {
			t.Errorf("session of %v is not kept", p.owner)
		}
		if other, found := seen[key]; found {
			t.Errorf("%v and %v have one key", p.owner, other.owner)
		}
		seen[key] = p
	}
}

func TestNobodyAndNoSessionAreNotKept(t *testing.T) {
	if _, kept := newSessionKey(Owner{"s", "key", ""}, "b"); kept {
		t.Error("session of nobody is kept")
	}
	if _, kept := newSessionKey(Owner{"s", "key", "a"}, ""); kept {
		t.Error("no session is kept")
	}
}
