package sandbox

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
)

const (
	idPrefix   = "cntr_"
	idRandom   = 16 // bytes
	idMAC      = 8  // bytes
	idHexChars = 2 * (idRandom + idMAC)
)

// minter makes container ids and knows its own again: an id is "cntr_" and 48
// hexadecimal digits, of which the last 16 are a MAC over the others. So ids
// of ours are told from an upstream's without a list of all that ever were.
type minter struct {
	key [32]byte
}

func newMinter() minter {
	var m minter
	rand.Read(m.key[:]) // never fails
	return m
}

// mint returns a new id.
func (m *minter) mint() string {
	var random [idRandom]byte
	rand.Read(random[:])
	return m.format(random)
}

// minted reports whether id was made by this minter.
func (m *minter) minted(id string) bool {
	if len(id) != len(idPrefix)+idHexChars || id[:len(idPrefix)] != idPrefix {
		return false
	}
	var random [idRandom]byte
	if _, err := hex.Decode(random[:], []byte(id[len(idPrefix):][:2*idRandom])); err != nil {
		return false
	}
	// Comparing the spelling, not the bytes, refuses upper case digits too.
	return subtle.ConstantTimeCompare([]byte(id), []byte(m.format(random))) == 1
}

func (m *minter) format(random [idRandom]byte) string {
	mac := hmac.New(sha256.New, m.key[:])
	mac.Write(random[:])
	return idPrefix + hex.EncodeToString(mac.Sum(random[:])[:idRandom+idMAC])
}
