package interceptor

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// MayConcern is the first half of the gate (decision 4): a scan that lets
// nearly every other request through without a parse. chained says that there
// are records which a previous_response_id or the id of a call could name.
func MayConcern(body []byte, chained bool) bool {
	if chained {
		return chainedWords.in(body) || namesCall(body) || escapesLetters(body)
	}
	return toolWords.in(body)
}

// Scanner is MayConcern for a body that is still being read: what was just
// read is in the processor's cache, which a scan of the whole would not be.
type Scanner struct {
	Chained bool
	Found   bool
	tail    []byte // of what was scanned, for words that are cut
}

// overlap is as long as the longest thing that is looked for.
const overlap = longest

// Write scans the next piece; it never fails.
func (s *Scanner) Write(p []byte) (int, error) {
	if s.Found {
		return len(p), nil
	}
	seam := append(s.tail, p[:min(len(p), overlap)]...)
	s.Found = MayConcern(seam, s.Chained) || MayConcern(p, s.Chained)
	if len(p) >= overlap {
		seam = append(seam[:0], p[len(p)-overlap:]...)
	}
	s.tail = append(s.tail[:0], seam[max(0, len(seam)-overlap):]...)
	return len(p), nil
}

// What a body of ours has one of; JSON may spell their letters as escapes.
const (
	wordSize  = 16
	toolWord  = "code_interpreter"
	chainWord = "ious_response_id" // of previous_response_id
	callWord  = `"ci_`             // a call's id begins so
)

var (
	toolWords    = newWordSet(toolWord)
	chainedWords = newWordSet(toolWord, chainWord)
)

// wordSet finds words of wordSize bytes, or what may be one with escapes. A
// word covers one of the places that lie step apart, gram and all, so it is
// enough to look there for any gram of one: a twelfth of the work of comparing
// at every byte, and no byte that is frequent in a text makes it slow, as it
// would bytes.Index (BenchmarkMayConcern).
type wordSet struct {
	words []string
	grams [1 << (gramBits - 6)]uint64 // a bit for each hash, set for those of the words
}

const (
	gramSize = 5
	gramBits = 18
	step     = wordSize - gramSize + 1
	longest  = wordSize * len(`\u005f`) // with all letters escaped
)

func newWordSet(words ...string) *wordSet {
	s := &wordSet{words: words}
	for _, word := range words {
		for at := range word {
			s.addSpellings(nil, word[at:min(len(word), at+gramSize)])
		}
	}
	return s
}

// addSpellings adds the grams of all spellings of the text after a prefix that
// begin in the prefix's first letter, which may take six bytes.
func (s *wordSet) addSpellings(prefix []byte, text string) {
	if text == "" || len(prefix) >= 5+gramSize {
		for ; len(prefix) >= gramSize; prefix = prefix[1:] {
			hash := gramHash(append(prefix[:gramSize:gramSize], 0, 0, 0))
			s.grams[hash/64] |= 1 << (hash % 64)
		}
		return
	}
	prefix = slices.Clip(prefix)
	s.addSpellings(append(prefix, text[0]), text[1:])
	s.addSpellings(fmt.Appendf(prefix, `\u%04x`, text[0]), text[1:])
	s.addSpellings(fmt.Appendf(prefix, `\u%04X`, text[0]), text[1:])
}

func gramHash(b []byte) uint64 {
	const upper, golden = 64 - 8*gramSize, 0x9E3779B97F4A7C15 // Fibonacci hashing
	return binary.LittleEndian.Uint64(b) << upper * golden >> (64 - gramBits)
}

func (s *wordSet) in(body []byte) bool {
	const places = 4 // looked at together, for one branch
	const stride, span = places * step, (places-1)*step + 8
	at := 0
	for ; at+span <= len(body); at += stride {
		p := body[at : at+span]
		if (s.gram(p)|s.gram(p[step:])|s.gram(p[2*step:])|s.gram(p[3*step:]))&1 == 0 {
			continue
		}
		if s.spelledIn(body[max(0, at-longest):min(len(body), at+span+longest)]) {
			return true
		}
	}
	return s.spelledIn(body[max(0, at-longest):])
}

// gram's last bit is set when b may begin with a gram of the words.
func (s *wordSet) gram(b []byte) uint64 {
	hash := gramHash(b)
	return s.grams[hash/64] >> (hash % 64)
}

func (s *wordSet) spelledIn(b []byte) bool {
	for _, word := range s.words {
		if bytes.Contains(b, []byte(word)) {
			return true
		}
	}
	return escapesLetters(b)
}

// namesCall looks for the id of a call.
func namesCall(body []byte) bool {
	return literalIn(body, callWord, func([]byte) bool { return true })
}

// escapesLetters looks for letters spelled as \u00XX, as JSON may spell those
// of a word; ASCII letters and '_' all lie in 0x40 to 0x7f.
func escapesLetters(body []byte) bool {
	return literalIn(body, `\u00`, func(rest []byte) bool {
		return len(rest) > 0 && '4' <= rest[0] && rest[0] <= '7'
	})
}

const (
	piece  = 64 << 10
	sample = 1 << 10 // how much of a piece is asked for its rarest byte
)

// literalIn reports whether the short literal is in the body, before something
// that is accepted. It looks for the byte of it that is rarest thereabouts:
// text in JSON has a backslash at every line end, numbers have zeros, and a
// search for a frequent byte costs fifty times that for a rare one.
func literalIn(body []byte, literal string, accept func(rest []byte) bool) bool {
	for from := 0; from < len(body); from += piece {
		at := rarest(body[from:min(len(body), from+sample)], literal)
		to := min(len(body), from+piece+at) // of literals that begin in the piece
		for i := from + at; i < to; i++ {
			next := bytes.IndexByte(body[i:to], literal[at])
			if next < 0 {
				break
			}
			i += next
			if !bytes.HasPrefix(body[i-at:], []byte(literal)) {
				continue
			}
			if accept(body[i-at+len(literal):]) {
				return true
			}
		}
	}
	return false
}

// rarest returns the index of the literal's byte that b has least of.
func rarest(b []byte, literal string) int {
	best, least := 0, len(b)+1
	for at := range len(literal) {
		if n := bytes.Count(b, []byte{literal[at]}); n < least {
			best, least = at, n
		}
	}
	return best
}
