package local

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

func wire(kind byte, cell, size uint32, payload string) []byte {
	b := binary.BigEndian.AppendUint32([]byte{kind}, cell)
	return append(binary.BigEndian.AppendUint32(b, size), payload...)
}

func TestReadFrame(t *testing.T) {
	f, err := readFrame(bytes.NewReader(wire(frameValue, 7, 2, "42rest")))
	if err != nil || f.kind != frameValue || f.cell != 7 || string(f.payload) != "42" {
		t.Errorf("got %+v, %v", f, err)
	}
}

func TestReadFrameRefusesWhatIsNone(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"nothing", nil},
		{"half a header", []byte{frameDone, 0, 0}},
		{"less payload than announced", wire(frameValue, 1, 5, "abc")},
		{"a kind that there is not", wire('x', 1, 0, "")},
		{"more than is allowed", wire(frameImage, 1, maxFrame+1, "")},
		{"more than there is memory", wire(frameImage, 1, 1<<32-1, "")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f, err := readFrame(bytes.NewReader(tt.data)); err == nil {
				t.Errorf("got %+v", f)
			}
		})
	}
	if _, err := readFrame(bytes.NewReader(wire(frameImage, 1, maxFrame+1, ""))); !errors.Is(err, errFrame) {
		t.Errorf("got %v", err)
	}
}

func TestDoneFrames(t *testing.T) {
	for payload, want := range map[string]sandbox.Result{
		"0":             {Outcome: sandbox.Completed},
		"1NameError: x": {Outcome: sandbox.Raised, Detail: "NameError: x"},
		"":              {Outcome: sandbox.Raised},
		"2":             {Outcome: sandbox.Raised},
	} {
		if got := (frame{kind: frameDone, payload: []byte(payload)}).result(); got != want {
			t.Errorf("%q: got %+v, want %+v", payload, got, want)
		}
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(wire(frameDone, 1, 1, "0"))
	f.Add(wire(frameImage, 1, 1<<32-1, "x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := readFrame(bytes.NewReader(data))
		if err == nil {
			got.output()
			if result := got.result(); len(result.Detail) > 1000 {
				t.Errorf("got a detail of %d bytes", len(result.Detail))
			}
		}
	})
}
