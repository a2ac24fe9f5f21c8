package interceptor

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// ResponsePath splits a path of the form …/responses/{id} or
// …/responses/{id}/input_items.
func ResponsePath(path string) (prefix, id string, inputItems, ok bool) {
	path, inputItems = strings.CutSuffix(path, "/input_items")
	at := strings.LastIndex(path, "/responses/")
	if at < 0 {
		return "", "", false, false
	}
	prefix, id = path[:at+len("/responses/")], path[at+len("/responses/"):]
	return prefix, id, inputItems, id != "" && !strings.Contains(id, "/")
}

// Retrieve answers GET …/responses/{id} for a response that ran code here: the
// upstream knows its turns only, with calls of a function that the client
// never declared (decision 11).
func (i *Interceptor) Retrieve(w http.ResponseWriter, r *http.Request, owner sandbox.Owner, id string) {
	rec, ok := i.Records.Response(owner, id)
	switch {
	case !ok || rec.final == nil:
		(&APIError{
			Status: http.StatusNotFound, Type: "invalid_request_error", Param: "response_id",
			Message: "Response with id '" + id + "' not found.",
		}).Write(w)
	case r.URL.Query().Get("stream") == "true":
		badRequest("stream", "A response that ran code cannot be streamed again. Retrieve it without 'stream'.").Write(w)
	default:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(rec.final)))
		_, _ = w.Write(rec.final)
	}
}

// Delete forgets a response of ours and has the upstream forget every turn of
// it; forward sends the client's DELETE for one upstream response.
func (i *Interceptor) Delete(ctx context.Context, w http.ResponseWriter, owner sandbox.Owner, id string,
	forward func(ctx context.Context, upstreamID string, answer Answer) error,
) {
	rec, _ := i.Records.Response(owner, id)
	i.Records.forget(owner, id)
	for _, upstreamID := range rec.turns {
		if !pathSafe(upstreamID) {
			continue
		}
		// An upstream that keeps no responses says 404, which is as good.
		_ = forward(ctx, upstreamID, discard{})
	}
	o := rawjson.New()
	o.Set("id", rawjson.String(id))
	o.Set("object", rawjson.String("response.deleted"))
	o.Set("deleted", rawjson.Bool(true))
	body := o.Bytes()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// pathSafe says whether an id of the upstream's is a plain path segment.
func pathSafe(id string) bool {
	return id != "" && strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// InputItems passes the upstream's list of a first turn's input on, with calls
// of ours as the client knows them.
func (i *Interceptor) InputItems(ctx context.Context, w http.ResponseWriter, forward func(ctx context.Context, answer Answer) error) error {
	req := &request{toolName: i.Config.ToolName, maxToolCalls: -1, maxOutputTokens: -1}
	return i.translate(ctx, w, req, "data", forward)
}

// discard is an Answer that nobody reads.
type discard struct{}

func (discard) Start(int, http.Header) error { return nil }
func (discard) Write(p []byte) (int, error)  { return len(p), nil }
