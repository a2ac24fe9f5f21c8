package interceptor

import (
	"encoding/json"
	"strings"
	"testing"
)

const withOutputs = `,"include":["code_interpreter_call.outputs"]`

// cases/litellm.md 22, 33, A1, A2, B1, B2, B14.
func TestRoundsAreReplayedWholeAndInOrder(t *testing.T) {
	o := everyWay(t, ask("hi", withOutputs), nil,
		completed("resp_1", thought("rs_1", ""), msg("msg_1", "Let me see."), code("1", "a=1"), code("2", "print(a)")),
		completed("resp_2", thought("rs_2", ""), code("3", "print(a+1)")),
		completed("resp_3", msg("msg_2", "Two.")),
	)
	if got := types(o.response); got != "reasoning message code_interpreter_call code_interpreter_call reasoning code_interpreter_call message" {
		t.Errorf("output is %q", got)
	}
	for n, b := range o.beds {
		c := b.fake.Containers()
		if len(c) != 1 || strings.Join(c[0].Codes(), ";") != "a=1;print(a);print(a+1)" {
			t.Errorf("way %d: %d containers, %q", n, len(c), c[0].Codes())
		}
	}
	want := []string{
		`{"content":"hi","role":"user"}`,
		thought("rs_1", ""), msg("msg_1", "Let me see."), code("1", "a=1"), code("2", "print(a)"),
		`{"type":"function_call_output","call_id":"call_1","output":"ran a=1\n"}`,
		`{"type":"function_call_output","call_id":"call_2","output":"ran print(a)\n"}`,
		thought("rs_2", ""), code("3", "print(a+1)"),
		`{"type":"function_call_output","call_id":"call_3","output":"ran print(a+1)\n"}`,
	}
	input := o.sentInput(t, 3)
	if len(input) != len(want) {
		t.Fatalf("turn 3 has %d items: %v", len(input), input)
	}
	for n := range want {
		got, _ := json.Marshal(input[n])
		if wanted, _ := json.Marshal(decode(t, []byte(want[n]))); string(got) != string(wanted) {
			t.Errorf("item %d is\n     %s\nwant %s", n, got, wanted)
		}
	}
}

// cases/litellm.md 26, 27, B7, B9; wire/openai.md 0.
func TestResponseOfRounds(t *testing.T) {
	o := everyWay(t, ask("hi", `,"tool_choice":"required","max_tool_calls":7`+withOutputs), nil,
		completed("resp_1", code("1", "a")), completed("resp_2", msg("msg_1", "Done.")))
	r := o.response
	if r["id"] != "resp_1" || r["model"] != "m-2026" || r["status"] != "completed" {
		t.Errorf("the response is %v", r)
	}
	if got := plain(r["usage"]); got != `{"input_tokens":20,"input_tokens_details":{"cached_tokens":2},"output_tokens":10,"output_tokens_details":{"reasoning_tokens":4},"total_tokens":30}` {
		t.Errorf("usage is %s", got)
	}
	if r["tool_choice"] != "required" || r["max_tool_calls"] != 7.0 || r["previous_response_id"] != nil {
		t.Errorf("the echo is %v", r)
	}
	call := itemOf(t, r, "code_interpreter_call")
	if got := plain(call); got != `{"code":"a","container_id":"cntr_minted","id":"ci_1","outputs":[{"logs":"ran a\n","type":"logs"}],"status":"completed","type":"code_interpreter_call"}` {
		t.Errorf("the call is %s", got)
	}
	created := o.events[0].data["response"].(map[string]any)
	for name := range r {
		if _, ok := created[name]; !ok {
			t.Errorf("response.created has no %q", name)
		}
	}
	for name := range created {
		if _, ok := r[name]; !ok {
			t.Errorf("the last event has no %q", name)
		}
	}
	for _, name := range []string{"tools", "tool_choice", "id", "created_at", "model", "max_tool_calls"} {
		if plain(created[name]) != plain(r[name]) {
			t.Errorf("created says %s of %s, the end %s", plain(created[name]), name, plain(r[name]))
		}
	}
	if got := eventTypes(o.events); got != "created in_progress output_item.added code_interpreter_call.in_progress code_interpreter_call_code.delta code_interpreter_call_code.done code_interpreter_call.interpreting code_interpreter_call.completed output_item.done output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done completed" {
		t.Errorf("events are %s", got)
	}
}

// wire/openai.md 0.1: without include, outputs is null everywhere.
func TestOutputsAreNullUnlessIncluded(t *testing.T) {
	turns := []answer{completed("resp_1", code("1", "a")), completed("resp_2", msg("msg_1", "Done."))}
	o := everyWay(t, ask("hi", ""), nil, turns...)
	if out, ok := itemOf(t, o.response, "code_interpreter_call")["outputs"]; !ok || out != nil {
		t.Errorf("outputs are %v", out)
	}
	for _, b := range o.beds {
		if sent := string(b.sent[0]); strings.Contains(sent, "code_interpreter") {
			t.Errorf("upstream got %s", sent)
		}
	}
	always := everyWay(t, ask("hi", ""), func(b *testbed) { b.i.Config.AlwaysOutputs = true }, turns...)
	if out := itemOf(t, always.response, "code_interpreter_call")["outputs"]; out == nil {
		t.Error("always_outputs shows none")
	}
}

// decision 8: an id that is empty or was used is minted anew.
func TestIDsAreUnique(t *testing.T) {
	o := everyWay(t, ask("hi", ""), nil,
		completed("resp_1", msg("msg_1", "a"), code("1", "a")),
		completed("resp_2", msg("msg_1", "b"), fn("fc_1", "call_2", internalName, `{"code":"b"}`)),
		completed("resp_3", msg("", "c")))
	seen := map[any]bool{}
	for _, item := range o.response["output"].([]any) {
		id := item.(map[string]any)["id"]
		if id == "" || seen[id] {
			t.Errorf("id %v is empty or repeated", id)
		}
		seen[id] = true
	}
}
