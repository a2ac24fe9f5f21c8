package interceptor

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/examples/scriptedmodel/model"
	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
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
		"a vendor's member":             answer(`"status":"completed","output":[],"x_debug":{"tools":["` + internalName + `"]}`),
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

// SDKs take ids and models for strings.
func TestMembersOfAnotherKindAreReplaced(t *testing.T) {
	b := newTestbed(t, script(`{"id":7,"object":"response","created_at":"now","model":{},"status":"completed","output":[]}`))
	r := b.response(ask("hi", ""))
	if id, ok := r["id"].(string); !ok || !strings.HasPrefix(id, "resp_") || r["model"] != "m" {
		t.Errorf("id %v, model %v", r["id"], r["model"])
	}
	if _, ok := r["created_at"].(json.Number); !ok {
		if _, ok := r["created_at"].(float64); !ok {
			t.Errorf("created_at %v", r["created_at"])
		}
	}
}

func TestUsageNestedWithoutEndIsNotFollowed(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"x":`, n) + "1" + strings.Repeat("}", n) }
	if got := string(addUsage(rawjson.Value(deep(2)), rawjson.Value(deep(2)))); got != `{"x":{"x":2}}` {
		t.Errorf("sum %s", got)
	}
	if got := string(addUsage(rawjson.Value(deep(5000)), rawjson.Value(deep(5000)))); got != deep(5000) {
		t.Errorf("it is followed to the end")
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
