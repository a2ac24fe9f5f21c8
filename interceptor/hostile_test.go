package interceptor

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/examples/scriptedmodel/model"
)

// Design decision 6: the internal name never shows in anything structural,
// wherever an upstream puts it. post searches every answer for it.
func TestInternalNameShowsNowhereAnUpstreamPutsIt(t *testing.T) {
	call := `{"id":"functions.` + internalName + `:0","type":"function_call","status":"completed","call_id":"call_1","name":"` + internalName + `","arguments":"{\"code\":\"1\"}"}`
	answer := func(members string) string {
		return `{"id":"resp_1","object":"response","created_at":1,"model":"m",` + members + `}`
	}
	done := answer(`"status":"completed","output":[]`)
	for name, first := range map[string]string{
		"item id":                       answer(`"status":"completed","output":[` + call + `]`),
		"error code":                    answer(`"status":"failed","output":[],"error":{"code":"bad_` + internalName + `","message":"` + internalName + ` failed"}`),
		"error of a completed response": answer(`"status":"completed","output":[],"error":{"code":"x","message":"` + internalName + ` failed"}`),
		"call under the id of a message": "event: response.created\ndata: {\"type\":\"response.created\",\"response\":" + answer(`"status":"in_progress","output":[]`) + "}\n\n" +
			"event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"x\",\"type\":\"message\",\"content\":[]}}\n\n" +
			"event: response.completed\ndata: {\"type\":\"response.completed\",\"response\":" +
			answer(`"status":"completed","output":[{"id":"x","type":"function_call","status":"completed","call_id":"c","name":"`+internalName+`","arguments":"{\"code\":\"1\"}"}]`) + "}\n\n",
	} {
		for _, more := range []string{"", `,"stream":true`} {
			b := newTestbed(t, script(first, done))
			if w := b.post(ask("hi", more)); w.Body.Len() == 0 {
				t.Errorf("%s%s: no answer", name, more)
			}
		}
	}
}

func TestCompletedResponseWithAnErrorIsFailed(t *testing.T) {
	b := newTestbed(t, script(`{"id":"resp_1","object":"response","status":"completed","output":[],"error":{"code":"x","message":"no"}}`))
	if r := b.response(ask("hi", "")); r["status"] != "failed" {
		t.Errorf("status is %v", r["status"])
	}
}

// recordWatcher looks for the record in the very write that brings the answer.
type recordWatcher struct {
	*httptest.ResponseRecorder
	b     *testbed
	known bool
}

func (w *recordWatcher) Write(p []byte) (int, error) {
	w.known = !w.b.i.Records.Empty()
	return w.ResponseRecorder.Write(p)
}

// A client may follow up as soon as it has the answer's last byte.
func TestResponseIsRememberedBeforeTheClientHasIt(t *testing.T) {
	for _, more := range []string{"", `,"stream":true`} {
		b := newTestbed(t, model.New(0))
		w := &recordWatcher{ResponseRecorder: httptest.NewRecorder(), b: b}
		r := Request{Kind: KindResponses, Body: []byte(ask(fence, more)), Owner: someone}
		if err := b.i.Serve(t.Context(), w, b, r); err != nil || w.Code != http.StatusOK {
			t.Fatalf("%d, %v", w.Code, err)
		}
		if !w.known {
			t.Errorf("%q: the record came after the answer", more)
		}
	}
}
