package integration

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// question is a request whose answer calls the tool once for each block of
// code; more are further members.
func question(more string, code ...string) string {
	text := ""
	for _, c := range code {
		text += "```python\n" + c + "\n```\n"
	}
	b, _ := json.Marshal(text)
	return `{"model":"m","input":` + string(b) + `,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]` + more + `}`
}

// simple is the code of tests that do not care what is run.
const simple = "print('" + hidden + "')"

// bothModes runs a test for JSON answers and for streamed ones.
func bothModes(t *testing.T, test func(t *testing.T, more string)) {
	t.Helper()
	t.Run("json", func(t *testing.T) { test(t, "") })
	t.Run("stream", func(t *testing.T) { test(t, `,"stream":true`) })
}

// answer is what the client got.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

func (a *answer) streamed() bool {
	return strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream")
}

// events decodes a stream and checks that it is numbered without a gap.
func (a *answer) events() []map[string]any {
	a.t.Helper()
	var events []map[string]any
	for frame := range strings.SplitSeq(string(a.body), "\n\n") {
		for line := range strings.Lines(frame) {
			data, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			e := object(a.t, []byte(data))
			if n, ok := e["sequence_number"].(float64); !ok || int(n) != len(events) {
				a.t.Errorf("event %d has the number %v", len(events), e["sequence_number"])
			}
			events = append(events, e)
		}
	}
	return events
}

// types are the types of a stream's events.
func (a *answer) types() []string {
	a.t.Helper()
	var types []string
	for _, e := range a.events() {
		types = append(types, text(e["type"]))
	}
	return types
}

// response is the response, of a stream the one of its last event.
func (a *answer) response() map[string]any {
	a.t.Helper()
	if a.status != http.StatusOK {
		a.t.Fatalf("status %d: %s", a.status, a.body)
	}
	if !a.streamed() {
		return object(a.t, a.body)
	}
	events := a.events()
	if len(events) == 0 {
		a.t.Fatalf("no events: %s", a.body)
	}
	response, ok := events[len(events)-1]["response"].(map[string]any)
	if !ok {
		a.t.Fatalf("the last event holds no response: %s", a.body)
	}
	return response
}

// completed asserts that code was run and the model answered, and returns the
// model's text.
func (a *answer) completed() string {
	a.t.Helper()
	r := a.response()
	if r["status"] != "completed" {
		a.t.Fatalf("not completed: %s", a.body)
	}
	called, said := false, ""
	items, _ := r["output"].([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		switch m["type"] {
		case "code_interpreter_call":
			called = true
			if m["status"] != "completed" {
				a.t.Errorf("the call is %v", m)
			}
		case "message":
			for _, part := range m["content"].([]any) {
				said += text(part.(map[string]any)["text"])
			}
		}
	}
	if !called {
		a.t.Fatalf("no code was run: %s", a.body)
	}
	return said
}

// container is the id of the container in which code ran.
func (a *answer) container() string {
	a.t.Helper()
	items, _ := a.response()["output"].([]any)
	for _, item := range items {
		if id := text(item.(map[string]any)["container_id"]); id != "" {
			return id
		}
	}
	a.t.Fatalf("no container in %s", a.body)
	return ""
}

// failed asserts that the response failed after code had run, so that clients
// are told not to run it again.
func (a *answer) failed() {
	a.t.Helper()
	r := a.response()
	e, _ := r["error"].(map[string]any)
	if r["status"] != "failed" || text(e["message"]) == "" {
		a.t.Errorf("status %v, error %v", r["status"], r["error"])
	}
	items, _ := r["output"].([]any)
	if len(items) != 1 || items[0].(map[string]any)["type"] != "code_interpreter_call" {
		a.t.Errorf("the output so far is %v", r["output"])
	}
	if !a.streamed() {
		if got := a.header.Get("X-Should-Retry"); got != "false" {
			a.t.Errorf("X-Should-Retry is %q", got)
		}
		return
	}
	types := a.types()
	if got := strings.Join(types[len(types)-2:], " "); got != "error response.failed" {
		a.t.Errorf("the stream ends with %s", got)
	}
}

// refused asserts an error in OpenAI's shape and returns it.
func (a *answer) refused(status int) map[string]any {
	a.t.Helper()
	if a.status != status || a.header.Get("Content-Type") != "application/json" {
		a.t.Fatalf("status %d, type %s: %s", a.status, a.header.Get("Content-Type"), a.body)
	}
	e, _ := object(a.t, a.body)["error"].(map[string]any)
	if text(e["message"]) == "" || text(e["type"]) == "" {
		a.t.Fatalf("the error is %s", a.body)
	}
	for _, name := range []string{"param", "code"} {
		if _, ok := e[name]; !ok {
			a.t.Errorf("the error has no %s", name)
		}
	}
	return e
}

func object(t *testing.T, data []byte) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatalf("decoding %q: %v", data, err)
	}
	return m
}

func text(v any) string {
	s, _ := v.(string)
	return s
}
