package sse

import "bytes"

// scanner finds line ends in p from left to right. It looks at each byte once
// for each kind of line end, whichever kind a stream has.
type scanner struct {
	p      []byte
	lf, cr int // the next one, or the end of p; out of date when passed
}

// lineEnd returns the index of the first line end at or after pos, or len(p).
func (s *scanner) lineEnd(pos int) int {
	s.lf = next(s.p, s.lf, pos, '\n')
	s.cr = next(s.p, s.cr, pos, '\r')
	return min(s.lf, s.cr)
}

func next(p []byte, known, pos int, c byte) int {
	if known >= pos {
		return known
	}
	if i := bytes.IndexByte(p[pos:], c); i >= 0 {
		return pos + i
	}
	return len(p)
}

const (
	maxTypes   = 64
	maxTypeLen = 64
)

// types holds the event types of a stream, which are few and come again, so
// that an event does not cost an allocation.
type types map[string]string

func (t *types) intern(b []byte) string {
	if s, ok := (*t)[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(*t) < maxTypes && len(s) <= maxTypeLen {
		if *t == nil {
			*t = types{}
		}
		(*t)[s] = s
	}
	return s
}
