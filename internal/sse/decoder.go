// Package sse decodes and writes server-sent events, as the WHATWG HTML
// standard defines them (section 9.2, "Server-sent events").
package sse

import (
	"bytes"
	"errors"
)

var (
	// ErrEventTooLarge is returned for an event with more bytes than the
	// decoder was told to hold.
	ErrEventTooLarge = errors.New("sse: event too large")

	// ErrUnterminated is returned by Close when the stream ended within an
	// event that had data: the blank line after it never came.
	ErrUnterminated = errors.New("sse: stream ended within an event")

	errClosed = errors.New("sse: write after Close")
)

// byteOrderMark may open a stream, and is no part of it.
const byteOrderMark = "\uFEFF"

// Event is one dispatched event. The fields are those of the event's own
// lines: ID is not inherited from earlier events.
type Event struct {
	Type string // "" without an event line
	// Data has the data lines joined by \n. It is valid only during the
	// callback and must not be modified.
	Data  []byte
	ID    string
	HasID bool   // there was an id line, maybe an empty one
	Retry string // the digits of a retry line
}

// Decoder takes a stream in pieces of any size and calls handle for each
// event, within the Write that completes it. Comments, unknown fields and
// events without data are skipped. Bytes are not checked to be UTF-8.
//
// An event that lies within one Write is not copied.
type Decoder struct {
	handle   func(Event) error
	maxEvent int
	err      error

	bom    int    // bytes of the byte order mark that were seen, or all of it
	sawCR  bool   // the last line ended with a CR: a LF right after it is part of that
	line   []byte // start of a line whose end has not come yet
	event  Event  // without Data
	size   int    // bytes that the event holds so far
	types  types
	lines  int    // data lines
	single []byte // the only data line, still in the caller's bytes or in line
	data   []byte // data lines that had to be copied
}

// NewDecoder returns a decoder for one stream. An event may have maxEvent
// bytes, line ends and comments not counted: that is what a decoder may come
// to hold in memory, a few times over.
func NewDecoder(maxEvent int, handle func(Event) error) *Decoder {
	return &Decoder{maxEvent: maxEvent, handle: handle}
}

// Write decodes p. However a stream is split, it gives the same events. An
// error of handle, or ErrEventTooLarge, is returned from here on.
func (d *Decoder) Write(p []byte) (int, error) {
	if d.err != nil {
		return 0, d.err
	}
	pos := d.skipMark(p)
	scan := scanner{p: p, lf: -1, cr: -1}
	for d.err == nil && pos < len(p) {
		if d.sawCR {
			d.sawCR = false
			if p[pos] == '\n' {
				pos++
				continue
			}
		}
		end := scan.lineEnd(pos)
		if end == len(p) {
			d.keepLine(p[pos:])
			pos = end
			break
		}
		d.endLine(p[pos:end])
		d.sawCR = p[end] == '\r'
		pos = end + 1
	}
	if d.err != nil {
		return pos, d.err
	}
	d.keepData()
	return len(p), nil
}

// Close ends the stream. An event whose blank line has not come is dropped, as
// the standard says; ErrUnterminated tells that it had data. An earlier error
// of Write is returned again.
func (d *Decoder) Close() error {
	if d.err != nil {
		return d.err
	}
	d.err = errClosed
	if name, _ := field(d.line); d.lines > 0 || string(name) == "data" {
		return ErrUnterminated
	}
	return nil
}

// skipMark returns where p goes on after a byte order mark. What looked like
// one and is not starts the first line.
func (d *Decoder) skipMark(p []byte) int {
	pos := 0
	for d.bom < len(byteOrderMark) && pos < len(p) {
		if p[pos] != byteOrderMark[d.bom] {
			d.line = append(d.line, byteOrderMark[:d.bom]...)
			d.bom = len(byteOrderMark)
			break
		}
		d.bom++
		pos++
	}
	return pos
}

// keepLine holds the start of a line for the next Write.
func (d *Decoder) keepLine(part []byte) {
	if len(d.line) == 0 {
		d.keepData() // single may lie in line
	}
	switch {
	case isComment(d.line):
	case len(d.line) == 0 && isComment(part):
		d.line = append(d.line, ':')
	case d.fits(len(d.line) + len(part)):
		d.line = append(d.line, part...)
	}
}

// endLine takes the rest of a line.
func (d *Decoder) endLine(rest []byte) {
	line := rest
	if len(d.line) > 0 {
		if isComment(d.line) || !d.fits(len(d.line)+len(rest)) {
			d.line = d.line[:0]
			return
		}
		line = append(d.line, rest...)
		d.line = line[:0]
	}
	switch {
	case len(line) == 0:
		d.dispatch()
	case isComment(line):
	case d.fits(len(line)):
		d.takeField(field(line))
	}
}

func isComment(line []byte) bool {
	return len(line) > 0 && line[0] == ':'
}

// fits tells whether the event may hold n more bytes, else ends the stream.
func (d *Decoder) fits(n int) bool {
	if d.size+n > d.maxEvent {
		d.err = ErrEventTooLarge
	}
	return d.err == nil
}

// field splits a line at its colon.
func field(line []byte) (name, value []byte) {
	name, value, _ = bytes.Cut(line, []byte{':'})
	if len(value) > 0 && value[0] == ' ' {
		value = value[1:]
	}
	return name, value
}

func (d *Decoder) takeField(name, value []byte) {
	switch string(name) {
	case "event":
		d.size += len(value) - len(d.event.Type)
		d.event.Type = d.types.intern(value)
	case "data":
		d.takeData(value)
	case "id":
		if bytes.IndexByte(value, 0) < 0 {
			d.size += len(value) - len(d.event.ID)
			d.event.ID, d.event.HasID = string(value), true
		}
	case "retry":
		if isDigits(value) {
			d.size += len(value) - len(d.event.Retry)
			d.event.Retry = string(value)
		}
	}
}

func isDigits(b []byte) bool {
	for _, c := range b {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(b) > 0
}

func (d *Decoder) takeData(value []byte) {
	d.lines++
	if d.lines == 1 {
		d.single = value
		d.size += len(value)
		return
	}
	d.keepData()
	d.data = append(append(d.data, '\n'), value...)
	d.size += 1 + len(value)
}

// keepData copies the data that would not outlive this Write.
func (d *Decoder) keepData() {
	if d.single != nil {
		d.data = append(d.data[:0], d.single...)
		d.single = nil
	}
}

// dispatch ends an event.
func (d *Decoder) dispatch() {
	event, lines := d.event, d.lines
	event.Data = d.single
	if event.Data == nil {
		event.Data = d.data
	}
	d.event, d.size, d.lines, d.single, d.data = Event{}, 0, 0, nil, d.data[:0]
	if lines > 0 {
		d.err = d.handle(event)
	}
}
