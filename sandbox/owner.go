package sandbox

import "crypto/sha256"

// Owner is who a container belongs to. Nobody but its owner ever gets a
// container, or learns that it exists.
//
// It is comparable and used as a map key as it is. Its fields are never joined
// into a string, where one owner could be spelled like another.
type Owner struct {
	// Scope separates handlers whose identities mean different things.
	Scope string
	// Kind says what Value is: "key", "placeholder".
	Kind string
	// Value identifies the owner within Scope and Kind. Empty means nobody.
	Value string
}

// Anonymous reports whether o is nobody in particular. Containers of nobody
// are never kept, since all such callers would share them.
func (o Owner) Anonymous() bool {
	return o.Value == ""
}

// sessionKey names a session. The client's id is hashed, so that its length
// and its bytes do not matter and it is not held in memory.
type sessionKey struct {
	owner   Owner
	session [sha256.Size]byte
}

// newSessionKey returns the key of an owner's session, and false when there
// is none to be kept.
func newSessionKey(owner Owner, session string) (sessionKey, bool) {
	if owner.Anonymous() || session == "" {
		return sessionKey{}, false
	}
	return sessionKey{owner, sha256.Sum256([]byte(session))}, true
}
