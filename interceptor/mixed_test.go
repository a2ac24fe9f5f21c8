package interceptor

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

const clientTool = `{"type":"function","name":"weather","parameters":{"type":"object"}}`

func askMixed(input, more string) string {
	return `{"model":"m","input":` + input + `,"tools":[{"type":"code_interpreter","container":{"type":"auto"}},` + clientTool + `]` + more + `}`
}

var weather = fn("fc_w", "call_w", "weather", `{ "city" : "Oslo" }`)

const weatherOutput = `{"type":"function_call_output","call_id":"call_w","output":"rain"}`

// brief lists the items of an input by type and call id.
func brief(input []any) string {
	var out []string
	for _, v := range input {
		m := v.(map[string]any)
		typ, _ := m["type"].(string)
		typ = strings.NewReplacer("function_call_output", "output", "function_call", "call").Replace(typ)
		if typ == "" {
			typ = m["role"].(string)
		}
		if id, ok := m["call_id"].(string); ok {
			typ += ":" + strings.TrimPrefix(id, "call_")
		}
		out = append(out, typ)
	}
	return strings.Join(out, " ")
}

// cases/litellm.md A3: both are shown, the client's untouched, and the next
// request goes on from there, however the client sends it.
func TestMixedTurn(t *testing.T) {
	for name, c := range map[string]struct {
		items          []string
		types, history string
	}{
		"ours first":   {[]string{code("1", "a"), weather}, "code_interpreter_call function_call", "user call:1 output:1 call:w output:w"},
		"theirs first": {[]string{weather, code("1", "a")}, "function_call code_interpreter_call", "user call:w call:1 output:1 output:w"},
	} {
		t.Run(name, func(t *testing.T) {
			o := everyWay(t, askMixed(`[{"role":"user","content":"hi"}]`, ""), nil, completed("resp_1", c.items...))
			if o.response["status"] != "completed" || types(o.response) != c.types {
				t.Fatalf("the response is %v", o.response)
			}
			if got := itemOf(t, o.response, "function_call"); plain(got) != plain(decode(t, []byte(weather))) {
				t.Errorf("the client's call is %v", got)
			}
			for n, b := range o.beds {
				b.up, b.sent = script(completed("resp_2", msg("msg_1", "ok")).json()), nil
				b.response(askMixed(`[`+weatherOutput+`]`, `,"previous_response_id":"resp_1"`))
				first := decode(t, b.sent[0])
				if got := brief(first["input"].([]any)); got != "output:1 output:w" || first["previous_response_id"] != "resp_1" {
					t.Errorf("way %d: by id upstream gets %q", n, got)
				}
			}
			b := o.beds[0]
			b.up, b.sent = script(completed("resp_3", msg("msg_1", "ok")).json()), nil
			output, _ := json.Marshal(o.response["output"])
			replay := `[{"role":"user","content":"hi"},` + strings.Trim(string(output), "[]") + `,` + weatherOutput + `]`
			b.response(askMixed(replay, ""))
			if strings.Contains(string(b.sent[0]), "code_interpreter") {
				t.Errorf("upstream gets %s", b.sent[0])
			}
			input := decode(t, b.sent[0])["input"].([]any)
			if got := brief(input); got != c.history {
				t.Errorf("by history upstream gets %q", got)
			}
			if !strings.Contains(string(b.sent[0]), `"output":"ran a\n"`) {
				t.Errorf("the output is lost: %s", b.sent[0])
			}
		})
	}
}

// decision 11: the chain goes on from the last upstream response, and only for
// its owner.
func TestChainOverRounds(t *testing.T) {
	o := everyWay(t, ask("hi", ""), nil, completed("resp_1", code("1", "a")), completed("resp_2", msg("msg_1", "ok")))
	b := o.beds[0]
	body := ask("more", `,"previous_response_id":"resp_1"`)
	other := someone
	other.Value = "another"
	for _, c := range []struct {
		owner sandbox.Owner
		want  string
	}{{someone, "resp_2"}, {other, "resp_1"}, {sandbox.Owner{}, "resp_1"}} {
		b.up, b.sent = script(completed("resp_9", msg("msg_1", "ok")).json()), nil
		w := b.postAs(c.owner, body)
		first := decode(t, b.sent[0])
		if first["previous_response_id"] != c.want || brief(first["input"].([]any)) != "user" {
			t.Errorf("%v: upstream gets %s", c.owner, b.sent[0])
		}
		if got := decode(t, w.Body.Bytes())["previous_response_id"]; got != "resp_1" {
			t.Errorf("the echo is %v", got)
		}
	}
}

// A response that a limit ended leaves calls behind that no output answers,
// which upstreams refuse in the next request.
func TestChainAfterALimit(t *testing.T) {
	for _, turns := range [][]answer{
		{incomplete("resp_1", code("1", "a"))},
		{completed("resp_1", code("0", "a")), completed("resp_2", code("1", "b"))},
	} {
		o := everyWay(t, ask("hi", ""), func(b *testbed) { b.i.Config.MaxTurns = 2 }, turns...)
		for _, b := range o.beds {
			b.up, b.sent = script(completed("resp_9", msg("msg_1", "ok")).json()), nil
			b.response(ask("go on", `,"previous_response_id":"resp_1"`))
			if got := brief(decode(t, b.sent[0])["input"].([]any)); got != "output:1 user" {
				t.Errorf("upstream gets %q", got)
			}
		}
	}
}

// cases/litellm.md A5: a conversation holds the items itself.
func TestConversationGetsOnlyWhatIsNew(t *testing.T) {
	o := everyWay(t, ask("hi", `,"conversation":"conv_1"`), nil,
		completed("resp_1", thought("rs_1", ""), code("1", "a")), completed("resp_2", code("2", "b")), completed("resp_3", msg("msg_1", "ok")))
	for turn, want := range map[int]string{1: "user", 2: "output:1", 3: "output:2"} {
		if got := brief(o.sentInput(t, turn)); got != want {
			t.Errorf("turn %d gets %q", turn, got)
		}
		if o.sent(t, turn)["conversation"] != "conv_1" {
			t.Errorf("turn %d is out of the conversation", turn)
		}
	}
}

// decision 12: without a store, reasoning goes back encrypted or not at all.
func TestStatelessReasoning(t *testing.T) {
	o := everyWay(t, ask("hi", `,"store":false`), nil,
		completed("resp_1", thought("rs_1", "SECRET"), code("1", "a")), completed("resp_2", msg("msg_1", "ok")))
	if got := o.sentInput(t, 2)[1].(map[string]any); got["encrypted_content"] != "SECRET" {
		t.Errorf("the reasoning goes back as %v", got)
	}
	if strings.Contains(plain(o.response), "SECRET") {
		t.Error("the client sees what it did not ask for")
	}
	for _, e := range o.events {
		if strings.Contains(e.raw, "SECRET") {
			t.Errorf("the client sees what it did not ask for: %s", e.raw)
		}
	}
	o = everyWay(t, ask("hi", `,"store":false,"include":["reasoning.encrypted_content"]`), nil,
		completed("resp_1", thought("rs_1", "SECRET"), code("1", "a")), completed("resp_2", msg("msg_1", "ok")))
	if itemOf(t, o.response, "reasoning")["encrypted_content"] != "SECRET" {
		t.Error("the client does not see what it asked for")
	}
	o = everyWay(t, ask("hi", `,"store":false`), nil,
		completed("resp_1", thought("rs_1", ""), code("1", "a")), completed("resp_2", msg("msg_1", "ok")))
	input := o.sentInput(t, 2)
	if got := brief(input); got != "user call:1 output:1" {
		t.Errorf("upstream gets %q", got)
	}
	if _, ok := input[1].(map[string]any)["id"]; ok {
		t.Error("the call keeps an id that leans on the reasoning")
	}
}

// decision 12 holds for what the client sends back too; what the reasoning
// stood before loses its id, up to where the client speaks again.
func TestStatelessReasoningOfTheHistory(t *testing.T) {
	const input = `[{"role":"user","content":"hi"},` +
		`{"type":"reasoning","id":"rs_1","summary":[]},{"type":"code_interpreter_call","id":"ci_1","code":"a","container_id":null,"outputs":[]},` +
		`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"ok","annotations":[]}]},` +
		`{"role":"user","content":"again"},{"type":"message","id":"msg_2","role":"assistant","content":"ok"},` +
		`{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"SECRET"},{"type":"function_call","id":"fc_2","call_id":"call_2","name":"weather","arguments":"{}"},` +
		`{"type":"function_call_output","call_id":"call_2","output":"rain"},` +
		`{"type":"reasoning","id":"rs_3","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},{"type":"message","id":"msg_3","role":"assistant","content":"ok"}]`
	ids := func(more string) string {
		b := newTestbed(t, script(completed("resp_1", msg("msg_9", "ok")).json()))
		b.post(`{"model":"m","tools":[` + auto + `],"input":` + input + more + `}`)
		var got []string
		for _, item := range decode(t, b.sent[0])["input"].([]any) {
			if id, ok := item.(map[string]any)["id"]; ok {
				got = append(got, id.(string))
			}
		}
		return strings.Join(got, " ")
	}
	if got, want := ids(`,"store":false`), "msg_2 rs_2 fc_2 rs_3 msg_3"; got != want {
		t.Errorf("unstored: the ids %s go upstream, want %s", got, want)
	}
	if got, want := ids(``), "rs_1 fc_1 msg_1 msg_2 rs_2 fc_2 rs_3 msg_3"; got != want {
		t.Errorf("stored: the ids %s go upstream, want %s", got, want)
	}
}

// A conversation that a mixed turn left with a call of ours open gets its
// output with the next request, once.
func TestConversationAfterAMixedTurn(t *testing.T) {
	for _, conversation := range []string{`"conv_1"`, `{"id":"conv_1"}`} {
		more := `,"conversation":` + conversation
		b := newTestbed(t, script(
			completed("resp_1", code("1", "a"), weather).json(),
			completed("resp_2", msg("msg_1", "ok")).json(),
			completed("resp_3", msg("msg_2", "ok")).json()))
		b.response(askMixed(`"hi"`, more))
		b.response(askMixed(`[`+weatherOutput+`]`, more))
		b.response(askMixed(`"more"`, more))
		for n, want := range []string{"user", "output:1 output:w", "user"} {
			if got := brief(decode(t, b.sent[n])["input"].([]any)); got != want {
				t.Errorf("turn %d gets %q, want %q", n+1, got, want)
			}
		}
	}
}

// The chain goes on from the last upstream response that is whole.
func TestChainAfterAFailedTurn(t *testing.T) {
	b := newTestbed(t, script(
		completed("resp_1", code("1", "a")).json(),
		answer{"resp_2", "failed", `,"error":{"code":"x","message":"y"}`, nil}.json(),
		completed("resp_3", msg("msg_1", "ok")).json()))
	b.response(ask("hi", ""))
	b.response(ask("again", `,"previous_response_id":"resp_1"`))
	last := decode(t, b.sent[2])
	if got := brief(last["input"].([]any)); got != "output:1 user" || last["previous_response_id"] != "resp_1" {
		t.Errorf("upstream gets %s", b.sent[2])
	}
}
