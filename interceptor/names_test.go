package interceptor

import (
	"strings"
	"testing"
)

// decision 6: models call the function by names from their training.
func TestNamesThatModelsCallTheFunctionBy(t *testing.T) {
	for _, name := range []string{"python", "code_interpreter", "functions." + internalName, internalName + "<|channel|>commentary"} {
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
