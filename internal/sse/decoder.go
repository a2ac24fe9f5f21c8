// Package sse reads and writes server-sent events. The decoder is fed bytes as
// they arrive, in any split, since it sits in a ResponseWriter's Write.
package sse

import (
	"bytes"
	"errors"
)

var (
	// ErrEventTooLarge is returned when an event passes the decoder's limit.
	ErrEventTooLarge = errors.New("event is larger than the limit")
	// ErrUnterminated is returned by Close when the stream ended inside an
	// event, which is dropped as the specification says.
	ErrUnterminated = errors.New("stream ended inside an event")
)

// Event is one event. Data lives only until the handler returns.
type Event struct {
	Type  string
	Data  []byte // the data lines, joined by line feeds
	ID    string
	Retry string
}

// Decoder turns bytes into events, as the specification has it: lines end
// with LF, CR or CRLF, a byte order mark is skipped, comments are dropped.
type Decoder struct {
	most   int
	handle func(Event) error

	line    []byte // an unfinished line
	data    []byte
	hasData bool
	event   Event
	size    int  // of the event so far
	begun   bool // the place for a byte order mark is passed
	afterCR bool // a line feed that comes next belongs to the line before
	err     error
}

// NewDecoder returns a decoder that calls handle for every event with data,
// and bounds what it holds of one by most bytes.
func NewDecoder(most int, handle func(Event) error) *Decoder {
	return &Decoder{most: most, handle: handle}
}

// Write takes the next bytes. An error, the handler's own included, is final.
func (d *Decoder) Write(p []byte) (int, error) {
	rest := p
	for d.err == nil && len(rest) > 0 {
		if d.afterCR {
			d.afterCR = false
			if rest[0] == '\n' {
				rest = rest[1:]
				continue
			}
		}
		end := bytes.IndexAny(rest, "\r\n")
		if end < 0 {
			d.keep(rest)
			break
		}
		d.afterCR = rest[end] == '\r'
		line := rest[:end]
		rest = rest[end+1:]
		if len(d.line) > 0 {
			d.keep(line)
			line = d.line
		}
		d.grow(len(line))
		if d.err == nil {
			d.take(line)
		}
		d.line = d.line[:0]
	}
	if d.err != nil {
		return 0, d.err
	}
	return len(p), nil
}

// Close ends the stream.
func (d *Decoder) Close() error {
	if d.err != nil {
		return d.err
	}
	if d.hasData || len(d.line) > 0 {
		return ErrUnterminated
	}
	return nil
}

func (d *Decoder) keep(part []byte) {
	if d.size+len(d.line)+len(part) > d.most {
		d.err = ErrEventTooLarge
		return
	}
	d.line = append(d.line, part...)
}

func (d *Decoder) grow(n int) {
	if d.size += n; d.size > d.most && d.err == nil {
		d.err = ErrEventTooLarge
	}
}

// take reads one whole line.
func (d *Decoder) take(line []byte) {
	if !d.begun {
		d.begun = true
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	if len(line) == 0 {
		d.dispatch()
		return
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "":
		d.size -= len(line) // comments are no part of an event
	case "data":
		if d.hasData {
			d.data = append(d.data, '\n')
		}
		d.hasData = true
		d.data = append(d.data, value...)
	case "event":
		d.event.Type = string(value)
	case "id":
		d.event.ID = string(value)
	case "retry":
		d.event.Retry = string(value)
	}
}

func (d *Decoder) dispatch() {
	e := d.event
	e.Data = d.data
	has := d.hasData
	d.event, d.hasData, d.size = Event{}, false, 0
	d.data = d.data[:0]
	if has {
		d.err = d.handle(e)
	}
}
