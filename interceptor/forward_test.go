package interceptor

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// forward serves a path beside the loop.
func (b *testbed) forward(kind Kind, body string) *httptest.ResponseRecorder {
	b.t.Helper()
	w := httptest.NewRecorder()
	if err := b.i.Serve(b.t.Context(), w, b, Request{Kind: kind, Body: []byte(body), Owner: someone}); err != nil {
		b.t.Fatalf("serving: %v", err)
	}
	if strings.Contains(w.Body.String(), internalName) {
		b.t.Errorf("the internal name shows:\n%s", w.Body)
	}
	return w
}

// The tokens that are counted are those of what would be sent.
func TestInputTokensAreCountedOfTheRewrittenRequest(t *testing.T) {
	answer := `{"object":"response.input_tokens","input_tokens":11}`
	b := newTestbed(t, script(answer))
	w := b.forward(KindInputTokens, ask("hi", `,"tool_choice":{"type":"code_interpreter"}`))
	if w.Code != 200 || w.Body.String() != answer {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if sent := string(b.sent[0]); strings.Contains(sent, "code_interpreter") || !strings.Contains(sent, internalName) {
		t.Errorf("upstream gets %s", sent)
	}
	if b.fake.Created() != 0 {
		t.Error("a container was made")
	}
}

func TestCompactShowsCallsOfOurs(t *testing.T) {
	b := newTestbed(t, script(`{"object":"response.compaction","id":"r","output":[`+msg("msg_1", "hi")+`,`+code("1", "a")+`,{"type":"function_call_output","call_id":"call_1","output":"out"},`+weather+`,{"type":"compaction","encrypted_content":"x"}],"usage":null}`))
	history := `{"model":"m","input":[{"type":"code_interpreter_call","id":"ci_1","code":"a","container_id":null,"outputs":[{"type":"logs","logs":"out"}]}],"tools":[` + auto + `]}`
	r := decode(t, b.forward(KindCompact, history).Body.Bytes())
	if got := types(r); got != "message code_interpreter_call function_call compaction" {
		t.Fatalf("output is %q", got)
	}
	call := itemOf(t, r, "code_interpreter_call")
	if call["id"] != "ci_1" || call["code"] != "a" || plain(call["outputs"]) != `[{"logs":"out","type":"logs"}]` {
		t.Errorf("the call is %v", call)
	}
	if plain(itemOf(t, r, "function_call")) != plain(decode(t, []byte(weather))) {
		t.Error("the client's call changed")
	}
}

func TestRefusalsBesideTheLoopArePassedOn(t *testing.T) {
	b := newTestbed(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such path for "+internalName, http.StatusNotFound)
	}))
	if w := b.forward(KindInputTokens, ask("hi", "")); w.Code != 404 || w.Body.String() != "no such path for code_interpreter\n" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := b.forward(KindCompact, `{"tools":[`+auto+`],"tools":[]}`); w.Code != 400 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestKindOf(t *testing.T) {
	for path, want := range map[string]Kind{
		"/v1/responses": KindResponses, "/openai/v1/responses": KindResponses, "/v1/responses/input_tokens": KindInputTokens,
		"/v1/responses/compact": KindCompact, "/v1/chat/completions": KindNone, "/v1/embeddings": KindNone, "/v1/responses/resp_1": KindNone,
	} {
		if got := KindOf(path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
}

// What a request without the tool says of it goes through (decision 4).
func TestGateLetsOthersThrough(t *testing.T) {
	b := newTestbed(t, nil)
	for body, may := range map[string]bool{
		`{"input":"hello","tools":[{"type":"web_search"}]}`:                 false,
		`{"input":"what is code_interpreter?"}`:                             true,
		`{"input":"caf\u00e9 \u0001"}`:                                      false,
		`{"previous_response_id":"resp_1"}`:                                 false,
		`{"tools":[{"type":"code_interpreter","container":{"type":"auto"}}`: true,
		`code_interpreter`:                                                  true,
	} {
		if got := MayConcern([]byte(body), false); got != may {
			t.Errorf("%s: %v", body, got)
		}
		if b.i.Inspect([]byte(body), someone) && !strings.Contains(body, "tools") {
			t.Errorf("%s concerns us", body)
		}
	}
}
