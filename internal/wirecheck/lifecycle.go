package wirecheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// responseKeys are in every response object of 2025 and later.
var responseKeys = strings.Fields(`
	id object created_at status background error incomplete_details instructions max_output_tokens max_tool_calls model
	output parallel_tool_calls previous_response_id reasoning service_tier store temperature text tool_choice tools
	top_logprobs top_p truncation usage user metadata`)

// lifecycle takes an event that has the whole response, and the error event.
func (c *checker) lifecycle(typ string, m object) bool {
	var next stage
	switch typ {
	case "response.created":
		if c.stage != before {
			c.failf("response.created is not the first event")
		}
		next = begun
	case "response.queued":
		if c.stage != begun {
			c.failf("response.queued is not directly after response.created")
		}
		next = queued
	case "response.in_progress":
		if c.stage != begun && c.stage != queued {
			c.failf("response.in_progress is not at the start")
		}
		next = inProgress
	case "error":
		c.errorEvent(m)
		c.stage = max(c.stage, broken)
		return true
	case "response.completed", "response.incomplete", "response.failed":
		if c.stage < inProgress {
			c.failf("comes before response.in_progress")
		}
		next = ended
	default:
		return false
	}

	c.response(m.obj("response"))
	if next == ended {
		c.terminal(strings.TrimPrefix(typ, "response."), m.obj("response"))
	} else {
		c.start(m.obj("response"))
	}
	c.stage = max(c.stage, next)
	return true
}

// response checks what holds in all lifecycle events.
func (c *checker) response(r object) {
	for _, key := range responseKeys {
		if !r.has(key) {
			c.failf("response has no key %s", key)
		}
	}
	if r.str("object") != "response" {
		c.failf("response.object is %v", r["object"])
	}
	if n, ok := r["created_at"].(json.Number); !ok || strings.ContainsAny(n.String(), ".eE") {
		c.failf("response.created_at is %v, not a whole number", r["created_at"])
	}
	if c.created == nil {
		c.created = r
		c.unique("response.id", r.str("id"))
	}
	for _, key := range []string{"id", "created_at", "model"} {
		if !reflect.DeepEqual(r[key], c.created[key]) {
			c.failf("response.%s is %v, in response.created it was %v", key, r[key], c.created[key])
		}
	}
}

// start checks a response that has only begun.
func (c *checker) start(r object) {
	if s := r.str("status"); s != "in_progress" && s != "queued" {
		c.failf("response.status is %v at the start", r["status"])
	}
	if !r.isEmptyList("output") {
		c.failf("response.output is not [] at the start")
	}
	for _, key := range []string{"usage", "error", "incomplete_details"} {
		if r[key] != nil {
			c.failf("response.%s is not null at the start", key)
		}
	}
}

func (c *checker) terminal(status string, r object) {
	if r.str("status") != status {
		c.failf("response.status is %v in the terminal event", r["status"])
	}
	if failure := r.obj("error"); (status == "failed") != (failure.str("code") != "" && failure.isStr("message")) {
		c.failf("response.error is %v in a response that is %s", r["error"], status)
	}
	if (status == "incomplete") != (r.obj("incomplete_details").str("reason") != "") {
		c.failf("response.incomplete_details is %v in a response that is %s", r["incomplete_details"], status)
	}
	if r["usage"] != nil && len(r.obj("usage")) == 0 {
		c.failf("response.usage is not an object")
	}
	if first := c.created.keys(); !slices.Equal(first, r.keys()) {
		c.failf("keys of the response are %v, in response.created they were %v", r.keys(), first)
	}
	if c.open != nil {
		c.failf("item %q is not done", c.open.id)
		c.open = nil
	}
	c.finalOutput(r)
}

func (c *checker) finalOutput(r object) {
	output, ok := r.list("output")
	if !ok || len(output) != len(c.output) {
		c.failf("response.output has %d items, %d were done", len(output), len(c.output))
		return
	}
	for i, done := range c.output {
		m, _ := output[i].(map[string]any)
		// Each event has an encryption of its own.
		key := difference(object(m).without("encrypted_content"), done.without("encrypted_content"))
		if key != "" {
			c.failf("response.output[%d] differs from the done item in %s", i, key)
		}
	}
}

func (c *checker) errorEvent(m object) {
	e := m.obj("error")
	if e.str("message") == "" || !e.has("type") || !e.has("code") || !e.has("param") {
		c.failf("error is %v, not an object with type, code, message and param", m["error"])
	}
}

// Final returns the response object of the terminal event, with numbers as
// float64.
func Final(events []Event) (map[string]any, error) {
	if len(events) == 0 {
		return nil, errors.New("no events")
	}
	last := events[len(events)-1]
	switch last.Type {
	case "response.completed", "response.incomplete", "response.failed":
	default:
		return nil, fmt.Errorf("the last event is %s", last.Type)
	}
	var m struct {
		Response map[string]any `json:"response"`
	}
	if err := json.Unmarshal(last.Data, &m); err != nil {
		return nil, fmt.Errorf("decoding the terminal event: %w", err)
	}
	if m.Response == nil {
		return nil, errors.New("the terminal event has no response")
	}
	return m.Response, nil
}
