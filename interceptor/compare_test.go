package interceptor

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// event is one event that a client got.
type event struct {
	typ  string
	data map[string]any
	raw  string
}

// clientEvents reads the stream that a client got, and checks it strictly.
func clientEvents(t *testing.T, body string) []event {
	t.Helper()
	checkStream(t, body)
	var out []event
	for _, frame := range strings.Split(body, "\n\n") {
		if frame == "" || strings.HasPrefix(frame, ":") {
			continue
		}
		head, data, ok := strings.Cut(frame, "\ndata: ")
		if !ok {
			t.Fatalf("a frame is %q", frame)
		}
		e := event{typ: strings.TrimPrefix(head, "event: "), raw: data}
		if err := json.Unmarshal([]byte(data), &e.data); err != nil {
			t.Fatalf("event %s: %v", data, err)
		}
		out = append(out, e)
	}
	return out
}

// terminal is the response of the last event.
func terminal(t *testing.T, events []event) map[string]any {
	t.Helper()
	last := events[len(events)-1]
	r, ok := last.data["response"].(map[string]any)
	if !ok {
		t.Fatalf("the last event is %s", last.raw)
	}
	return r
}

func eventTypes(events []event) string {
	var out []string
	for _, e := range events {
		typ := strings.TrimPrefix(e.typ, "response.")
		if len(out) == 0 || out[len(out)-1] != typ {
			out = append(out, typ)
		}
	}
	return strings.Join(out, " ")
}

var mintedID = regexp.MustCompile(`"(cntr|ci|msg|rs|fc|resp|call)_[0-9a-f]{24,48}"`)

// plain is a value as JSON, with the minted ids out of the way.
func plain(v any) string {
	b, _ := json.Marshal(v)
	return mintedID.ReplaceAllString(string(b), `"${1}_minted"`)
}

// outcome is what a request came to, in each form.
type outcome struct {
	response map[string]any // of the JSON form
	events   []event
	beds     [4]*testbed // JSON and streamed upstream for a JSON client, then for a streaming one
}

// everyWay serves a request with the given turns in the four combinations of
// JSON and stream, to upstream and client, and demands the same response of
// all (cases/litellm.md B1, B2, C1 to C3). prepare may be nil.
func everyWay(t *testing.T, body string, prepare func(*testbed), turns ...answer) outcome {
	t.Helper()
	var out outcome
	var want string
	for n := range out.beds {
		answers := make([]string, len(turns))
		for k, a := range turns {
			answers[k] = a.json()
			if n%2 == 1 {
				answers[k] = a.stream()
			}
		}
		b := newTestbed(t, script(answers...))
		if prepare != nil {
			prepare(b)
		}
		out.beds[n] = b
		var r map[string]any
		if n < 2 {
			r = b.response(body)
			if n == 0 {
				out.response, want = r, plain(r)
			}
		} else {
			w := b.post(strings.TrimSuffix(body, "}") + `,"stream":true}`)
			out.events = clientEvents(t, w.Body.String())
			r = terminal(t, out.events)
		}
		if got := plain(r); got != want {
			t.Fatalf("way %d differs:\n got %s\nwant %s", n, clip(got, 1500), clip(want, 1500))
		}
		if len(b.sent) != len(turns) {
			t.Errorf("way %d: %d turns, want %d", n, len(b.sent), len(turns))
		}
		for k := range b.sent {
			if k >= len(out.beds[0].sent) {
				break
			}
			sent := strings.ReplaceAll(string(b.sent[k]), `,"stream":true`, "")
			if first := string(out.beds[0].sent[k]); plain(decode(t, []byte(sent))) != plain(decode(t, []byte(first))) {
				t.Fatalf("way %d sends turn %d as\n     %s\nwant %s", n, k+1, clip(sent, 1500), clip(first, 1500))
			}
		}
	}
	return out
}

// sentInput is the input of a turn that went upstream.
func (o outcome) sentInput(t *testing.T, turn int) []any {
	t.Helper()
	input, _ := decode(t, o.beds[0].sent[turn-1])["input"].([]any)
	return input
}

func (o outcome) sent(t *testing.T, turn int) map[string]any {
	t.Helper()
	return decode(t, o.beds[0].sent[turn-1])
}
