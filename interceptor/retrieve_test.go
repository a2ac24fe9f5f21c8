package interceptor

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/examples/scriptedmodel/model"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// Design decision 11: the upstream knows the turns only, so that GET and
// DELETE of a response that ran code are ours.
func TestAResponseThatRanCodeIsRetrievedAndDeletedWhole(t *testing.T) {
	b := newTestbed(t, model.New(0))
	created := b.post(ask(fence, "")).Body.String()
	id := decode(t, []byte(created))["id"].(string)

	get := func(owner sandbox.Owner, query string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		b.i.Retrieve(w, httptest.NewRequest(http.MethodGet, "/v1/responses/"+id+query, nil), owner, id)
		return w
	}
	if got := get(someone, ""); got.Code != http.StatusOK || got.Body.String() != created {
		t.Errorf("retrieved %d %s, created %s", got.Code, got.Body, created)
	}
	if got := get(sandbox.Owner{Scope: "s", Kind: "key", Value: "other"}, ""); got.Code != http.StatusNotFound {
		t.Errorf("another owner got %d %s", got.Code, got.Body)
	}
	if got := get(someone, "?stream=true"); got.Code != http.StatusBadRequest {
		t.Errorf("a streamed retrieval got %d", got.Code)
	}

	var deleted []string
	w := httptest.NewRecorder()
	b.i.Delete(context.Background(), w, someone, id, func(_ context.Context, upstreamID string, _ Answer) error {
		deleted = append(deleted, upstreamID)
		return nil
	})
	if !strings.Contains(w.Body.String(), `"deleted":true`) || len(deleted) != 2 || deleted[0] != id {
		t.Errorf("the answer was %s; deleted upstream: %q", w.Body, deleted)
	}
	if got := get(someone, ""); got.Code != http.StatusNotFound {
		t.Errorf("after the deletion: %d", got.Code)
	}
}

func TestWhatIsNotStoredIsNotRetrieved(t *testing.T) {
	b := newTestbed(t, model.New(0))
	id := b.response(ask(fence, `,"store":false`))["id"].(string)
	w := httptest.NewRecorder()
	b.i.Retrieve(w, httptest.NewRequest(http.MethodGet, "/v1/responses/"+id, nil), someone, id)
	if w.Code != http.StatusNotFound {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestResponsePaths(t *testing.T) {
	for path, want := range map[string]string{
		"/v1/responses/resp_1":             "/v1/responses/ resp_1 false true",
		"/v1/responses/resp_1/input_items": "/v1/responses/ resp_1 true true",
		"/v1/responses/":                   "/v1/responses/  false false",
		"/v1/responses/resp_1/cancel":      "/v1/responses/ resp_1/cancel false false",
		"/v1/models":                       "  false false",
	} {
		prefix, id, items, ok := ResponsePath(path)
		got := strings.Join([]string{prefix, id, boolText(items), boolText(ok)}, " ")
		if got != want {
			t.Errorf("%s: got %q, want %q", path, got, want)
		}
	}
}

func boolText(b bool) string {
	if b {
		return "true"
	}
	return "false"
}
