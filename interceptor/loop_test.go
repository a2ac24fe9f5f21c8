package interceptor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/examples/scriptedmodel/model"
)

func ask(text, more string) string {
	b, _ := json.Marshal(text)
	return `{"model":"m","input":` + string(b) + `,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]` + more + `}`
}

const fence = "```python\nprint(6*7)\n```"

func TestOneCallThenAnAnswer(t *testing.T) {
	b := newTestbed(t, model.New(0))
	r := b.response(ask(fence, `,"include":["code_interpreter_call.outputs"]`))
	if got := types(r); got != "code_interpreter_call message" {
		t.Fatalf("output is %q", got)
	}
	call := itemOf(t, r, "code_interpreter_call")
	if call["code"] != "print(6*7)\n" || call["status"] != "completed" || !strings.HasPrefix(call["container_id"].(string), "cntr_") {
		t.Errorf("the call is %v", call)
	}
	out, _ := json.Marshal(call["outputs"])
	if string(out) != `[{"logs":"ran print(6*7)\n\n","type":"logs"}]` {
		t.Errorf("outputs are %s", out)
	}
	if tools, _ := json.Marshal(r["tools"]); string(tools) != `[{"container":{"type":"auto"},"type":"code_interpreter"}]` {
		t.Errorf("tools are %s", tools)
	}
}

func TestStreamOfOneCall(t *testing.T) {
	b := newTestbed(t, model.New(0))
	w := b.post(ask(fence, `,"stream":true`))
	if !strings.Contains(w.Body.String(), "response.completed") {
		t.Fatal("no terminal event")
	}
}
