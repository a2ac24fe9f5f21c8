package integration

import (
	"net/http"
	"strings"
	"testing"
)

// send is a request without a body.
func (b *bed) send(method, path, authorization string) *answer {
	b.t.Helper()
	r := b.request(http.NoBody)
	r.Method = method
	r.URL.Path = path
	r.Header.Set("Authorization", authorization)
	r.Header.Del("Content-Type")
	return b.do(r)
}

// A response that took several turns is one to the client; the upstream knows
// only its turns. The route groups behind have their turn for each of them.
func TestStoredResponseIsOneToTheClient(t *testing.T) {
	up := newTurns()
	b := newBed(t, up).start(`
code_interpreter {
	STANDARD
}
handle_path /api/* {
	reverse_proxy UPSTREAM
}`)
	r := b.request(strings.NewReader(question("", simple)))
	r.URL.Path = "/api/v1/responses"
	made := b.do(r)
	made.completed()
	path := "/api/v1/responses/" + text(made.response()["id"])

	got := b.send(http.MethodGet, path, credential)
	if got.status != http.StatusOK || string(compact(t, got.body)) != string(compact(t, made.body)) {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if n := len(up.requests()); n != 2 {
		t.Errorf("%d requests went upstream", n)
	}

	deleted := b.send(http.MethodDelete, path, credential)
	if o := object(t, deleted.body); deleted.status != http.StatusOK || o["deleted"] != true || o["id"] != made.response()["id"] {
		t.Errorf("status %d: %s", deleted.status, deleted.body)
	}
	var paths []string
	for _, r := range up.requests()[2:] {
		paths = append(paths, r.Method+" "+strings.Split(r.RequestURI, "resp_")[0])
	}
	if got := strings.Join(paths, ", "); got != "DELETE /v1/responses/, DELETE /v1/responses/" {
		t.Errorf("upstream: %s", got)
	}
	if got := b.send(http.MethodGet, path, credential); got.status != http.StatusNotFound {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

func TestStoredResponseIsItsIdentitysOwn(t *testing.T) {
	up := newTurns()
	b := newBed(t, up).start(behindProxy)
	path := "/v1/responses/" + text(b.post(question("", simple)).response()["id"])
	up.on[3] = reply(http.StatusNotFound, "text/plain", "the upstream's word")
	if got := b.send(http.MethodGet, path, "Bearer other"); got.status != http.StatusNotFound || string(got.body) != "the upstream's word" {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if got := b.send(http.MethodGet, path, credential); got.status != http.StatusOK {
		t.Errorf("status %d: %s", got.status, got.body)
	}
}

// A conversation goes on in the container that it began in, by the response's
// id alone.
func TestPreviousResponseLeadsToItsContainer(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		b := newBed(t, newTurns()).start(behindProxy)
		first := b.post(withSession("s"))
		first.completed()
		next := question(more+`,"previous_response_id":"`+text(first.response()["id"])+`"`, simple)
		if said := b.post(next).completed(); !strings.Contains(said, "ran in 1:") {
			t.Errorf("got %q", said)
		}
	})
}
