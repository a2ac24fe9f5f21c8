package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// maxFrame bounds a frame, whatever its header says.
const maxFrame = 16 << 20

// Kinds of frames that the runner sends; readFrame knows no others.
const (
	frameReady     = 'R'
	frameValue     = 'V'
	frameTraceback = 'T'
	frameImage     = 'I'
	frameDone      = 'D'
)

var errFrame = errors.New("the interpreter sent what is no frame")

// frame is what came over the channel. All of it is untrusted: the code can
// write to the channel as well as the runner. At worst it lies about itself.
type frame struct {
	kind    byte
	cell    uint32
	payload []byte
}

// readFrame reads the next frame. It allocates no more than has arrived.
func readFrame(r io.Reader) (frame, error) {
	var header [9]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return frame{}, fmt.Errorf("reading a frame: %w", err)
	}
	f := frame{kind: header[0], cell: binary.BigEndian.Uint32(header[1:])}
	size := binary.BigEndian.Uint32(header[5:])
	if size > maxFrame || !strings.ContainsRune("RVTID", rune(f.kind)) {
		return frame{}, errFrame
	}
	var payload bytes.Buffer
	if _, err := io.CopyN(&payload, r, int64(size)); err != nil {
		return frame{}, fmt.Errorf("reading a frame: %w", err)
	}
	f.payload = payload.Bytes()
	return f, nil
}

// output is what a frame shows, if it shows something.
func (f frame) output() (sandbox.Output, bool) {
	switch f.kind {
	case frameValue:
		return sandbox.Output{Kind: sandbox.Value, Text: string(f.payload)}, true
	case frameTraceback:
		return sandbox.Output{Kind: sandbox.Traceback, Text: string(f.payload)}, true
	case frameImage:
		return sandbox.Output{Kind: sandbox.Image, Data: f.payload, MIME: "image/png"}, true
	}
	return sandbox.Output{}, false
}

// result is what a frame of the kind frameDone says.
func (f frame) result() sandbox.Result {
	if len(f.payload) > 0 && f.payload[0] == '0' {
		return sandbox.Result{Outcome: sandbox.Completed}
	}
	const maxDetail = 1000
	detail := f.payload[min(1, len(f.payload)):]
	return sandbox.Result{Outcome: sandbox.Raised, Detail: string(detail[:min(maxDetail, len(detail))])}
}

// cellHeader starts the message that has the runner execute code.
func cellHeader(cell uint32, code string) []byte {
	header := binary.BigEndian.AppendUint32(nil, uint32(len(code)))
	return binary.BigEndian.AppendUint32(header, cell)
}
