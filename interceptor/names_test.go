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
