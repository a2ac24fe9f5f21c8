package interceptor

import (
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/zap"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

// FuzzRewrite: whatever a client sends, what goes upstream is JSON, holds no
// native tool or item, and has the client's other members as they were.
func FuzzRewrite(f *testing.F) {
	for _, body := range []string{
		ask("hi", ""), ask("hi", `,"tool_choice":{"type":"allowed_tools","tools":[{"type":"code_interpreter"}]},"include":["code_interpreter_call.outputs"]`),
		`{"\u0074ools":[` + auto + `,{"type":"function","name":"x"}],"a":1e400,"input":[{"type":"code_interpreter_call","id":"ci_1","outputs":[{"type":"logs","logs":"x"}]}]}`,
		`{"tools":[{"type":"code_interpreter","container":"cntr_1"}],"stream":true,"store":false,"conversation":{"id":"c"}}`,
		`{"tools":[1,null,[],{}],"input":[1,null],"tool_choice":[],"include":5,"x":"\ud800"}`, `[]`, `{`, `{"a":1,"a":2}`,
	} {
		f.Add([]byte(body))
	}
	pool := sandbox.NewPool(&sandboxtest.Fake{}, zap.NewNop())
	f.Cleanup(func() { _ = pool.Close(f.Context()) })
	i := &Interceptor{Config: Config{ToolName: internalName, MaxExecutions: 1, MaxTurns: 2}, Pool: pool, Records: NewRecords(), Log: zap.NewNop()}
	f.Fuzz(func(t *testing.T, body []byte) {
		concerned := i.Inspect(body, someone)
		if concerned && !MayConcern(body, false) {
			t.Fatalf("%q does not get to Inspect", body)
		}
		req, err := i.parseRequest(Request{Kind: KindResponses, Body: body, Owner: someone})
		if err != nil {
			return
		}
		ex := i.newExchange(req, nil, nil)
		for ex.turns = 1; ex.turns <= 2; ex.turns++ {
			sent := ex.body(ex.turns == 2)
			if !json.Valid(sent) {
				t.Fatalf("%s goes upstream", sent)
			}
			if req.hasTool && nativeIn(t, sent) {
				t.Fatalf("%s goes upstream for %s", sent, body)
			}
			o, err := rawjson.Parse(sent)
			if err != nil {
				t.Fatalf("%s: %v", sent, err)
			}
			for _, name := range req.client.Names() {
				switch name {
				case "tools", "tool_choice", "include", "input", "max_tool_calls", "max_output_tokens", "litellm_metadata", "previous_response_id":
					continue
				}
				if string(o.Get(name)) != string(req.client.Get(name)) {
					t.Fatalf("%s becomes %s", req.client.Get(name), o.Get(name))
				}
			}
		}
	})
}

// nativeIn reports whether a body has a native tool, or an item of one.
func nativeIn(t *testing.T, body []byte) bool {
	var o struct {
		Tools []json.RawMessage
		Input json.RawMessage
	}
	if err := json.Unmarshal(body, &o); err != nil {
		return false // not an array; upstream's to refuse
	}
	var input []json.RawMessage
	_ = json.Unmarshal(o.Input, &input) // a text has no items
	return holds(o.Tools, "code_interpreter") || holds(input, "code_interpreter_call")
}

func holds(items []json.RawMessage, typ string) bool {
	for _, item := range items {
		if o, err := rawjson.ParseLenient(rawjson.Value(item)); err == nil && o.Str("type") == typ {
			return true
		}
	}
	return false
}

// FuzzTurn: whatever an upstream sends, the client gets an answer.
func FuzzTurn(f *testing.F) {
	f.Add([]byte(completed("resp_1", thought("rs_1", ""), msg("msg_1", "x"), code("1", "a"), weather).stream()))
	f.Add([]byte(completed("resp_1", code("1", "a")).json()))
	f.Add([]byte(errorEvent))
	f.Add([]byte("data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"message\"}}\n\n" + failedEvent("resp_1")))
	f.Fuzz(func(t *testing.T, turn []byte) {
		b := newTestbed(t, nil)
		for _, more := range []string{"", `,"stream":true`} {
			b.up = script(string(turn), completed("resp_2", msg("msg_9", "ok")).json())
			w := newWatchedWriter()
			b.stream(t.Context(), w, ask("hi", more))
			frames := strings.Split(strings.TrimSuffix(w.String(), "\n\n"), "\n\n")
			if strings.HasPrefix(frames[0], "event: response.created\n") && !isTerminal(frames[len(frames)-1]) {
				t.Fatalf("the stream ends with %s", frames[len(frames)-1])
			}
		}
	})
}

func isTerminal(frame string) bool {
	for _, status := range []string{"completed", "incomplete", "failed"} {
		if strings.HasPrefix(frame, "event: response."+status+"\ndata: {") {
			return true
		}
	}
	return false
}
