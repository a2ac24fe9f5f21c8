package wirecheck

import (
	"slices"
	"strings"
)

// step is how far a code_interpreter_call is.
type step int

const (
	callAdded step = iota
	callInProgress
	callCode
	callCodeDone
	callInterpreting
	callCompleted
)

var callKeys = []string{"code", "container_id", "id", "outputs", "status", "type"}

func (c *checker) callAdded(added object) {
	c.begins(added, "status", "in_progress")
	c.begins(added, "code", "")
	if id := added.str("container_id"); !strings.HasPrefix(id, "cntr_") {
		c.failf("container_id %q does not begin with cntr_", id)
	} else if c.container != "" && id != c.container {
		c.failf("container_id is %q, the call before had %q", id, c.container)
	}
	c.container = added.str("container_id")
	c.callItem(added)
	if outputs, _ := added.list("outputs"); len(outputs) > 0 {
		c.failf("outputs of an added call are not empty")
	}
}

// callItem checks what holds when a call is added and when it is done.
func (c *checker) callItem(m object) {
	if !slices.Equal(m.keys(), callKeys) {
		c.failf("code_interpreter_call has the keys %v", m.keys())
	}
	mode := "null"
	if m["outputs"] != nil {
		mode = "a list"
	}
	if _, ok := m.list("outputs"); !ok && mode != "null" {
		c.failf("outputs are neither null nor a list")
	}
	if c.outputs != "" && mode != c.outputs {
		c.failf("outputs are %s, before they were %s: include decides for the whole response", mode, c.outputs)
	}
	c.outputs = mode
}

func (c *checker) steps(to step, from ...step) {
	if !slices.Contains(from, c.open.step) {
		c.failf("is out of order within the call")
	}
	c.open.step = max(c.open.step, to)
}

func (c *checker) callInProgress(object)   { c.steps(callInProgress, callAdded) }
func (c *checker) callInterpreting(object) { c.steps(callInterpreting, callCodeDone) }
func (c *checker) callCompleted(object)    { c.steps(callCompleted, callInterpreting) }

func (c *checker) codeDelta(m object) {
	c.steps(callCode, callInProgress, callCode)
	c.delta(&c.open.code, m)
}

func (c *checker) codeDone(m object) {
	c.steps(callCodeDone, callInProgress, callCode)
	c.sum(&c.open.code, m, "code")
}

func (c *checker) callDone(done object) {
	c.doneStatus(done)
	want := callCompleted
	if done.str("status") != "completed" {
		want = callCodeDone
	}
	if c.open.step < want {
		c.failf("events of the call are missing")
	}
	if !done.isStr("code") || done.str("code") != c.open.code.sum.String() {
		c.failf("code of the done item is not the sum of the deltas")
	}
	c.callItem(done)
	outputs, _ := done.list("outputs")
	for i, output := range outputs {
		m, _ := output.(map[string]any)
		o := object(m)
		isLogs := o.str("type") == "logs" && o.isStr("logs")
		isImage := o.str("type") == "image" && o.str("url") != ""
		if !isLogs && !isImage || len(o) != 2 {
			c.failf("outputs[%d] is neither logs nor an image", i)
		}
	}
}

func (c *checker) functionAdded(added object) {
	if c.open.kind == "function_call" {
		c.begins(added, "status", "in_progress")
		c.begins(added, "arguments", "")
	}
	c.unique("call_id", added.str("call_id"))
	if added.str("name") == "" {
		c.failf("name of a %s is empty", c.open.kind)
	}
}

func (c *checker) inputDelta(m object)      { c.delta(&c.open.input, m) }
func (c *checker) argumentsDone(m object)   { c.sum(&c.open.input, m, "arguments") }
func (c *checker) customInputDone(m object) { c.sum(&c.open.input, m, "input") }

// inputItemDone checks the item of a call. One that was cut short may lack the
// done event of its input: there is no recording to tell.
func (c *checker) inputItemDone(done object, key string) {
	if c.open.kind == "function_call" {
		c.doneStatus(done)
	}
	if !c.open.input.done && done.str("status") != "incomplete" {
		c.failf("the %s event is missing", key+".done")
	}
	if done.str(key) != c.open.input.sum.String() {
		c.failf("%s of the done item is not the sum of the deltas", key)
	}
}
