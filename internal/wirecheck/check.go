package wirecheck

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Check returns every broken invariant, joined.
func Check(events []Event) error {
	c := checker{ids: map[string]bool{}}
	for i, e := range events {
		c.where = fmt.Sprintf("event %d (%s)", i, e.Type)
		c.event(i, e)
	}
	c.where = "stream"
	if c.stage != ended {
		c.failf("has no terminal event")
	}
	return errors.Join(c.errs...)
}

type checker struct {
	errs  []error
	where string

	stage   stage
	created object          // the response in response.created
	ids     map[string]bool // of the response, items and function calls

	open      *item    // the item that was added last, until it is done
	output    []object // done items
	container string   // of the first call
	outputs   string   // whether calls have outputs: "" until the first one
}

type stage int

const (
	before     stage = iota
	begun            // after response.created
	queued           // after response.queued
	inProgress       // after response.in_progress
	broken           // after error
	ended            // after the terminal event
)

func (c *checker) failf(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: %s", c.where, fmt.Sprintf(format, args...)))
}

func (c *checker) event(i int, e Event) {
	m, err := decode(e.Data)
	if err != nil {
		c.failf("data is not a strict JSON object: %v", err)
		return
	}
	if m.str("type") != e.Type {
		c.failf("type %q is not the name of the SSE event", m.str("type"))
	}
	if !m.is("sequence_number", i) {
		c.failf("sequence_number is %v, not %d", m["sequence_number"], i)
	}
	if m.has("error") && e.Type != "error" {
		c.failf("has a top-level error key")
	}
	c.obfuscation(e.Type, m)

	switch {
	case c.stage == before && e.Type != "response.created":
		c.failf("the first event is not response.created")
	case c.stage == broken && e.Type != "response.failed":
		c.failf("the error event is not directly before response.failed")
	case c.stage == ended:
		c.failf("comes after the terminal event")
	}
	if !c.lifecycle(e.Type, m) {
		if c.stage < inProgress {
			c.failf("comes before response.in_progress")
		}
		c.itemEvent(e.Type, m)
	}
}

const obfuscationBlock = 16

func (c *checker) obfuscation(typ string, m object) {
	if !m.has("obfuscation") {
		return
	}
	if !strings.HasSuffix(typ, ".delta") {
		c.failf("obfuscation on an event that is no delta")
		return
	}
	padding, ok := m["obfuscation"].(string)
	length := utf8.RuneCountInString(m.str("delta")) + len(padding)
	if !ok || len(padding) >= obfuscationBlock || length%obfuscationBlock != 0 {
		c.failf("obfuscation %q does not pad the delta %q to a multiple of %d characters", padding, m.str("delta"), obfuscationBlock)
	}
	if strings.Trim(padding, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") != "" {
		c.failf("obfuscation %q is not of letters and digits", padding)
	}
}

// unique notes an id.
func (c *checker) unique(what, id string) {
	if id == "" {
		c.failf("%s is empty", what)
	} else if c.ids[id] {
		c.failf("%s %q is repeated", what, id)
	}
	c.ids[id] = true
}
