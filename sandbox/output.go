package sandbox

import (
	"bytes"
	"fmt"
	"sync"
	"unicode/utf8"
)

const (
	// floodBytes is how much an execution may put out, seen or not, before it
	// is ended; more when Limits.MaxOutput is large, and images not counted
	// that are kept.
	floodBytes  = 64 << 20
	floodFactor = 64
	// maxPieces bounds the outputs kept of the beginning and of the end each.
	maxPieces = 512
	// maxMIME bounds the length of an image's MIME type.
	maxMIME = 100
	// maxChunk bounds how much text is taken up before the rest is dropped.
	maxChunk = 32 << 10

	imageTooMany  = "[image not shown: too many images]\n"
	imageTooLarge = "[image not shown: too large]\n"
)

// collector gathers the outputs of one execution in bounded memory, whatever
// it is given. Text is kept from the beginning until one half of the limit is
// used, and then from the end; all text is made valid UTF-8 on its way.
type collector struct {
	mu       sync.Mutex
	finished bool
	limits   Limits
	flooded  func()
	seen     int64 // bytes, of all that counts as a flood
	flood    int64

	partial []byte // the beginning of a rune that the next Text ends
	images  int
	pixels  int // bytes of the kept images

	head     []piece
	headSize int
	full     bool // the head takes no more text
	middle   []piece
	tail     []piece
	tailSize int
	omitted  int64
}

// piece is an output, or a part of one.
type piece struct {
	Output
	text      []byte
	continues bool // continues the last piece of the head
}

// newCollector returns a collector that calls flooded, once, when there was
// too much output. flooded must not wait for emit.
func newCollector(limits Limits, flooded func()) *collector {
	return &collector{
		limits:  limits,
		flooded: flooded,
		flood:   max(floodBytes, floodFactor*int64(limits.MaxOutput)),
	}
}

// emit takes one output. What comes after finish is ignored.
func (c *collector) emit(o Output) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished {
		return
	}
	switch o.Kind {
	case Image:
		c.image(o)
	case Text:
		c.count(len(o.Text))
		c.decode(o.Text)
	default:
		c.count(len(o.Text))
		c.whole(o.Kind, o.Text)
	}
}

// count notes what was put out, and ends the execution when it is too much.
func (c *collector) count(n int) {
	before := c.seen
	c.seen += int64(n)
	if before <= c.flood && c.seen > c.flood {
		c.flooded()
	}
}

// image keeps a picture, or says that it does not.
func (c *collector) image(o Output) {
	switch {
	case c.images >= c.limits.MaxImages:
		c.count(len(o.Data))
		c.write(Text, []byte(imageTooMany))
	case len(o.Data) > c.limits.MaxImageBytes-c.pixels || len(o.MIME) > maxMIME:
		c.count(len(o.Data))
		c.write(Text, []byte(imageTooLarge))
	default:
		c.images++
		c.pixels += len(o.Data)
		p := piece{Output: Output{Kind: Image, Data: bytes.Clone(o.Data), MIME: string([]byte(o.MIME))}}
		if c.full {
			c.tail = append(c.tail, p)
		} else {
			c.head = append(c.head, p)
		}
	}
}

// decode writes a chunk of the text stream. A rune that the chunk breaks off
// waits for the next one.
func (c *collector) decode(s string) {
	for s != "" {
		n := min(len(s), maxChunk)
		chunk := append(c.partial, s[:n]...)
		s = s[n:]
		valid, rest := decodeUTF8(chunk)
		c.partial = bytes.Clone(rest)
		c.write(Text, valid)
	}
}

// whole writes an output that is complete in itself.
func (c *collector) whole(kind OutputKind, s string) {
	first := true
	for s != "" {
		n := min(len(s), maxChunk)
		for n < len(s) && n > maxChunk-utf8.UTFMax && !utf8.RuneStart(s[n]) {
			n--
		}
		valid, rest := decodeUTF8([]byte(s[:n]))
		for range rest {
			valid = utf8.AppendRune(valid, utf8.RuneError)
		}
		s = s[n:]
		c.add(kind, valid, !first)
		first = false
	}
}

func (c *collector) write(kind OutputKind, text []byte) {
	c.add(kind, text, kind == Text)
}

// add appends valid text, to the last piece when that is of the same kind and
// more is wanted of it.
func (c *collector) add(kind OutputKind, text []byte, more bool) {
	if len(text) == 0 {
		return
	}
	if !c.full {
		n := c.addHead(kind, text, more)
		if text = text[n:]; len(text) == 0 {
			return
		}
		c.full = true
		// The rest belongs to the same output as what the head has of it.
		continues := len(c.head) > 0 && c.head[len(c.head)-1].Kind == kind && (more || n > 0)
		c.tail = append(c.tail, piece{Output: Output{Kind: kind}, continues: continues})
		more = true
	}
	if last := len(c.tail) - 1; last < 0 || c.tail[last].Kind != kind || !more {
		c.tail = append(c.tail, piece{Output: Output{Kind: kind}})
	}
	last := &c.tail[len(c.tail)-1]
	last.text = append(last.text, text...)
	c.tailSize += len(text)
	c.trim()
}

// addHead puts as many runes into the head as fit and returns their size.
func (c *collector) addHead(kind OutputKind, text []byte, more bool) int {
	n := min(len(text), c.limits.MaxOutput/2-c.headSize)
	for n > 0 && n < len(text) && !utf8.RuneStart(text[n]) {
		n--
	}
	last := len(c.head) - 1
	fresh := last < 0 || c.head[last].Kind != kind || !more
	if n == 0 || fresh && len(c.head) >= maxPieces {
		return 0
	}
	if fresh {
		c.head = append(c.head, piece{Output: Output{Kind: kind}})
		last++
	}
	c.head[last].text = append(c.head[last].text, text[:n]...)
	c.headSize += n
	return n
}

// trim drops text from the beginning of the tail until it fits. Images there
// are kept, before the tail.
func (c *collector) trim() {
	limit := c.limits.MaxOutput - c.limits.MaxOutput/2
	for len(c.tail) > 0 && (c.tailSize > limit || len(c.tail) > maxPieces) {
		first := &c.tail[0]
		if first.Kind == Image {
			c.middle = append(c.middle, *first)
			c.dropFirst()
			continue
		}
		n := min(c.tailSize-limit, len(first.text))
		if len(c.tail) > maxPieces {
			n = len(first.text)
		}
		for n < len(first.text) && !utf8.RuneStart(first.text[n]) {
			n++
		}
		first.text = first.text[n:]
		c.tailSize -= n
		c.omitted += int64(n)
		if len(first.text) == 0 {
			c.dropFirst()
		}
	}
}

// dropFirst removes the first piece of the tail, also from memory.
func (c *collector) dropFirst() {
	c.tail[0] = piece{}
	c.tail = c.tail[1:]
}

// finish ends the collection. It returns the outputs in order, and how many
// bytes of text were left out of them.
func (c *collector) finish() ([]Output, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for range c.partial {
		c.write(Text, utf8.AppendRune(nil, utf8.RuneError))
	}
	c.partial = nil
	c.finished = true

	var outs []Output
	for _, p := range c.head {
		outs = join(outs, p, false)
	}
	tail := c.tail
	if c.omitted > 0 {
		note := piece{Output: Output{Kind: Text}, text: fmt.Appendf(nil, "\n… %d bytes omitted …\n", c.omitted)}
		within := len(tail) > 0 && tail[0].continues && len(c.middle) == 0
		if within {
			note.Kind = tail[0].Kind
		}
		outs = join(outs, note, within)
		for _, p := range c.middle {
			outs = join(outs, p, false)
		}
		if len(tail) > 0 && !within {
			tail[0].continues = false
		}
	}
	for _, p := range tail {
		outs = join(outs, p, p.continues)
	}
	return outs, c.omitted
}

// join appends a piece, to the last output when it is a part of it or both
// are Text.
func join(outs []Output, p piece, part bool) []Output {
	p.Text = string(p.text)
	if last := len(outs) - 1; last >= 0 && (part || p.Kind == Text && outs[last].Kind == Text) {
		outs[last].Text += p.Text
		return outs
	}
	return append(outs, p.Output)
}
