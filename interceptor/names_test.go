package interceptor

import (
	"strings"
	"testing"
)

// decision 6: models call the function by names from their training.
func TestNamesThatModelsCallTheFunctionBy(t *testing.T) {
	for _, name := range []string{"python", "code_interpreter", "functions." + internalName, internalName + "<|channel|>commentary",
		"functions." + internalName + ":0", "default_api." + internalName, " " + internalName + " "} {
		o := everyWay(t, ask("hi", withOutputs), nil,
			completed("resp_1", fn("fc_1", "call_1", name, `{"code":"a"}`)), completed("resp_2", msg("msg_1", "ok")))
		if got := itemOf(t, o.response, "code_interpreter_call"); got["status"] != "completed" || got["code"] != "a" {
			t.Errorf("%s: %v", name, got)
		}
		if got := o.sentInput(t, 2)[1].(map[string]any); got["name"] != internalName {
			t.Errorf("%s goes back as %v", name, got["name"])
		}
	}
}

// A name that the model made of ours shows no more of it, and one that changes
// while the call arrives stays as it was first.
func TestNamesThatAreNotOursButShowIt(t *testing.T) {
	odd := fn("fc_1", "call_1", "my_"+internalName+"_x", `{"code":"a"}`)
	for name, stream := range map[string]string{
		"made up": completed("resp_1", odd).stream(),
		"changed": frames(
			`{"type":"response.created","response":{"id":"resp_1","object":"response","status":"in_progress","output":[]}}`,
			`{"type":"response.output_item.added","output_index":0,"item":{"id":"fc_1","type":"function_call","status":"in_progress","call_id":"call_1","name":"other","arguments":""}}`,
			`{"type":"response.function_call_arguments.done","output_index":0,"item_id":"fc_1","name":"`+internalName+`","arguments":"{}"}`,
			`{"type":"response.output_item.done","output_index":0,"item":`+fn("fc_1", "call_1", internalName, `{}`)+`}`,
			`{"type":"response.completed","response":`+completed("resp_1").json()+`}`),
	} {
		for _, more := range []string{"", `,"stream":true`} {
			b := newTestbed(t, script(stream))
			w := b.post(ask("hi", more))
			if !strings.Contains(w.Body.String(), `"function_call"`) || b.fake.Created() != 0 {
				t.Errorf("%s%s: %s", name, more, w.Body)
			}
		}
	}
}

// A server may take our function for a custom tool, whose input is the code.
func TestCustomToolCallUnderOurName(t *testing.T) {
	o := everyWay(t, ask("hi", withOutputs), nil,
		completed("resp_1", `{"id":"ctc_1","type":"custom_tool_call","status":"completed","call_id":"call_1","name":"`+internalName+`","input":"a = \"1\""}`),
		completed("resp_2", msg("msg_1", "ok")))
	if got := itemOf(t, o.response, "code_interpreter_call"); got["status"] != "completed" || got["code"] != `a = "1"` {
		t.Errorf("shown as %v", got)
	}
	if got := brief(o.sentInput(t, 2)); got != "user call:1 output:1" {
		t.Errorf("upstream gets %q", got)
	}
}

// A function that the client declares is the client's, whatever its name.
func TestClientsFunctionIsNeverRun(t *testing.T) {
	for _, name := range []string{"python", "code_interpreter", internalName, internalName + "_2", "weather"} {
		body := strings.Replace(ask("hi", ""), `"tools":[`, `"tools":[{"type":"function","name":"`+name+`"},`, 1)
		call := fn("fc_1", "call_1", name, `{"code":"a"}`)
		b := newTestbed(t, script(completed("resp_1", call).json()))
		w := newWatchedWriter()
		b.stream(t.Context(), w, body)
		r := decode(t, []byte(w.String()))
		if b.fake.Created() != 0 || plain(itemOf(t, r, "function_call")) != plain(decode(t, []byte(call))) {
			t.Errorf("%s: %s", name, w)
		}
	}
}

// decision 8: some servers count their call ids anew in every turn, or send
// none; an output must belong to one call (cases/litellm.md A16).
func TestCallIDsAreUnique(t *testing.T) {
	o := everyWay(t, ask("hi", ""), nil,
		completed("resp_1", fn("fc_1", "call_0", internalName, `{"code":"a"}`), fn("fc_2", "call_0", internalName, `{"code":"b"}`)),
		completed("resp_2", fn("fc_3", "call_0", internalName, `{"code":"c"}`), fn("fc_4", "", internalName, `{"code":"d"}`)),
		completed("resp_3", msg("msg_1", "ok")))
	calls, outputs := map[any]string{}, map[any]string{}
	for _, v := range o.sentInput(t, 3) {
		switch m := v.(map[string]any); m["type"] {
		case "function_call":
			calls[m["call_id"]], _ = readArguments(m["arguments"].(string))
		case "function_call_output":
			outputs[m["call_id"]] = m["output"].(string)
		}
	}
	if len(calls) != 4 || len(outputs) != 4 {
		t.Fatalf("upstream gets %v and %v", calls, outputs)
	}
	for id, code := range calls {
		if outputs[id] != "ran "+code+"\n" {
			t.Errorf("call %v of %q gets %q", id, code, outputs[id])
		}
	}
}
