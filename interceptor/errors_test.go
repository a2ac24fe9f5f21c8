package interceptor

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
)

const errorEvent = "event: error\ndata: {\"type\":\"error\",\"sequence_number\":9,\"error\":{\"type\":\"server_error\",\"code\":\"overloaded\",\"message\":\"" + internalName + " is overloaded\",\"param\":null}}\n\n"

func failedEvent(id string) string {
	return answer{id, "failed", `,"error":{"code":"overloaded","message":"` + internalName + ` is overloaded"}`, nil}.events()[2]
}

// isFailure demands a failed response, with the upstream's reason.
func isFailure(t *testing.T, r map[string]any, code string) {
	t.Helper()
	e, _ := r["error"].(map[string]any)
	if r["status"] != "failed" || e["code"] != code || e["message"] == "" {
		t.Errorf("the response is %v: %v", r["status"], r["error"])
	}
}

// wire/openai.md 3; decision 17: an error before anything was shown is an
// error answer in both forms.
func TestErrorBeforeTheResponseBegins(t *testing.T) {
	for _, frames := range []string{errorEvent, "data: {\"error\":\"" + internalName + " is overloaded\"}\n\n"} {
		for _, more := range []string{"", `,"stream":true`} {
			b := newTestbed(t, script(frames))
			w := b.post(ask("hi", more))
			e, _ := decode(t, w.Body.Bytes())["error"].(map[string]any)
			if w.Code != http.StatusBadGateway || e["message"] != "code_interpreter is overloaded" {
				t.Errorf("%s: %d %s", more, w.Code, w.Body)
			}
			if w.Header().Get("X-Should-Retry") != "" {
				t.Error("no code has run; the client may try again")
			}
		}
	}
}

// The upstream fails in the middle of a turn, the first or a later one.
func TestErrorWithinAStream(t *testing.T) {
	begun := completed("resp_1", msg("msg_1", "Let me see."), code("1", "print(1)")).events()
	for name, end := range map[string]string{
		"error":             errorEvent,
		"failed":            failedEvent("resp_1"),
		"error then failed": errorEvent + failedEvent("resp_1"),
		"an error member":   "data: {\"error\":{\"message\":\"x\",\"code\":\"overloaded\"}}\n\n",
	} {
		for cut := 2; cut < len(begun); cut++ {
			turn := strings.Join(begun[:cut], "") + end
			b := newTestbed(t, script(turn))
			events := clientEvents(t, b.post(ask("hi", `,"stream":true`)).Body.String())
			isFailure(t, terminal(t, events), "overloaded")
			if n := strings.Count(eventTypes(events), "error"); n != 1 {
				t.Errorf("%s after %d: %d error events", name, cut, n)
			}
			streamedOutput := plain(terminal(t, events)["output"])
			b.up = script(turn)
			r := b.response(ask("hi", ""))
			isFailure(t, r, "overloaded")
			if got := plain(r["output"]); got != streamedOutput {
				t.Errorf("%s after %d: JSON has %s, the stream %s", name, cut, got, streamedOutput)
			}
			if b.fake.Created() != 0 {
				t.Errorf("%s after %d: code ran", name, cut)
			}
		}
	}
}

// decision 17: after code has run the client must not try again blindly.
func TestFailureOfALaterTurn(t *testing.T) {
	first := completed("resp_1", code("1", "a"))
	for name, second := range map[string]string{
		"error event":  errorEvent,
		"in mid-turn":  strings.Join(completed("resp_2", msg("msg_1", "I see")).events()[:6], "") + errorEvent,
		"HTTP error":   `500!{"error":{"message":"` + internalName + ` is overloaded","code":"overloaded"}}`,
		"EOF":          strings.Join(completed("resp_2", msg("msg_1", "I see")).events()[:6], ""),
		"EOF at once":  "event: x\n\n",
		"no response":  `{"hello":"world"}`,
		"not JSON":     `<html>busy</html>`,
		"cut JSON":     completed("resp_2", msg("msg_1", "I see")).json()[:80],
		"too large":    `{"output":[],"x":"` + strings.Repeat("x", 1<<20) + `"}`,
		"large event":  "data: {\"x\":\"" + strings.Repeat("x", 1<<20) + "\"}\n\n",
		"endless line": "data: " + strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestbed(t, script(first.json(), second))
			w := b.post(ask("hi", ""))
			r := decode(t, w.Body.Bytes())
			if w.Code != 200 || r["status"] != "failed" || r["error"] == nil || w.Header().Get("X-Should-Retry") != "false" {
				t.Errorf("JSON: %d %v %s", w.Code, w.Header(), w.Body)
			}
			if r["id"] != "resp_1" || types(r)[:21] != "code_interpreter_call" {
				t.Errorf("what there was is lost: %s", w.Body)
			}
			b.up = script(first.stream(), second)
			events := clientEvents(t, b.post(ask("hi", `,"stream":true`)).Body.String())
			s := terminal(t, events)
			if plain(s) != plain(r) {
				t.Errorf("the stream ends with\n     %s\nwant %s", plain(s), plain(r))
			}
			if !strings.HasSuffix(eventTypes(events), "error failed") {
				t.Errorf("events are %s", eventTypes(events))
			}
		})
	}
}

func TestFirstTurnThatBreaksOff(t *testing.T) {
	frames := completed("resp_1", msg("msg_1", "Let me see.")).events()
	for cut := range len(frames) - 1 {
		b := newTestbed(t, script("event: x\n\n"+strings.Join(frames[:cut], "")))
		if w := b.post(ask("hi", "")); w.Code != http.StatusBadGateway {
			t.Errorf("JSON after %d: %d %s", cut, w.Code, w.Body)
		}
		b.up = script("event: x\n\n" + strings.Join(frames[:cut], ""))
		w := b.post(ask("hi", `,"stream":true`))
		if cut == 0 && w.Code != http.StatusBadGateway {
			t.Errorf("a stream of nothing: %d %s", w.Code, w.Body)
		}
		if cut > 0 {
			isFailure(t, terminal(t, clientEvents(t, w.Body.String())), "upstream_failed")
		}
	}
}

// cases/litellm.md C5: an answer that is no response is the client's as it is.
func TestRefusalOfTheFirstTurnIsPassedOn(t *testing.T) {
	body := `{"error": {"message":"no", "type":"invalid_request_error"} }`
	for _, more := range []string{"", `,"stream":true`} {
		b := newTestbed(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(body))
		}))
		w := b.post(ask("hi", more))
		if w.Code != 429 || w.Body.String() != body || w.Header().Get("Retry-After") != "7" || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
	}
}

// failingUpstream answers the first turn and fails at the second, or at once.
type failingUpstream struct {
	*testbed
	err  error
	good int
}

func (u *failingUpstream) Turn(ctx context.Context, body []byte, answer Answer) error {
	if u.good > 0 {
		u.good--
		return u.testbed.Turn(ctx, body, answer)
	}
	return u.err
}

// decision 20: only an error of the first turn is the handler's behind.
func TestErrorsOfTheHandlerBehind(t *testing.T) {
	behind := errors.New("dial tcp: secret address")
	for _, more := range []string{"", `,"stream":true`} {
		for err, want := range map[error]error{behind: behind, ErrNoAnswer: nil, ErrAborted: nil} {
			b := newTestbed(t, script(completed("resp_1", code("1", "a")).stream()))
			w := newWatchedWriter()
			got := b.i.Serve(t.Context(), w, &failingUpstream{b, err, 0}, Request{Kind: KindResponses, Body: []byte(ask("hi", more)), Owner: someone})
			if got != want || (got != nil) != (w.String() == "") {
				t.Errorf("%v becomes %v and %q", err, got, w)
			}
			w = newWatchedWriter()
			got = b.i.Serve(t.Context(), w, &failingUpstream{b, err, 1}, Request{Kind: KindResponses, Body: []byte(ask("hi", more)), Owner: someone})
			if got != nil || !strings.Contains(w.String(), `"status":"failed"`) || strings.Contains(w.String(), "secret") {
				t.Errorf("later %v becomes %v and %s", err, got, w)
			}
		}
	}
}

// Whatever was open when the turn broke off is ended, in both forms alike.
func TestItemsAreEndedWhenATurnBreaksOff(t *testing.T) {
	refusal := `{"id":"msg_2","type":"message","status":"completed","role":"assistant","content":[]}`
	reasoning := `{"id":"rs_1","type":"reasoning","summary":[]}`
	frames := completed("resp_1", reasoning, refusal, fn("fc_w", "call_w", "weather", `{"city":"Oslo"}`)).events()
	extra := func(typ, rest string) string { return "data: {\"type\":\"" + typ + "\"," + rest + "}\n\n" }
	inReasoning := []string{
		extra("response.reasoning_summary_part.added", `"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""}`),
		extra("response.reasoning_summary_text.delta", `"item_id":"rs_1","output_index":0,"summary_index":0,"delta":"Hm"`),
		extra("response.reasoning_summary_text.done", `"item_id":"rs_1","output_index":0,"summary_index":0,"text":"Hm"`),
		extra("response.reasoning_summary_part.done", `"item_id":"rs_1","output_index":0,"summary_index":0,"part":{"type":"summary_text","text":"Hm"}`),
	}
	inMessage := []string{
		extra("response.content_part.added", `"item_id":"msg_2","output_index":1,"content_index":0,"part":{"type":"refusal","refusal":""}`),
		extra("response.refusal.delta", `"item_id":"msg_2","output_index":1,"content_index":0,"delta":"No"`),
		extra("response.refusal.done", `"item_id":"msg_2","output_index":1,"content_index":0,"refusal":"No"`),
		extra("response.content_part.done", `"item_id":"msg_2","output_index":1,"content_index":0,"part":{"type":"refusal","refusal":"No"}`),
	}
	var all []string
	for _, f := range frames[:len(frames)-1] {
		if strings.Contains(f, "output_item.done") {
			f = strings.NewReplacer(`"summary":[]`, `"summary":[{"type":"summary_text","text":"Hm"}]`, `"content":[]`, `"content":[{"type":"refusal","refusal":"No"}]`).Replace(f)
		}
		all = append(all, f)
		switch {
		case strings.Contains(f, `output_item.added`) && strings.Contains(f, `"rs_1"`):
			all = append(all, inReasoning...)
		case strings.Contains(f, `output_item.added`) && strings.Contains(f, `"msg_2"`):
			all = append(all, inMessage...)
		}
	}
	b := newTestbed(t, nil)
	for cut := 2; cut <= len(all); cut++ {
		turn := strings.Join(all[:cut], "") + failedEvent("resp_1")
		b.up = script(turn)
		body := askMixed(`"hi"`, "")
		r := b.response(body)
		b.up = script(turn)
		s := terminal(t, clientEvents(t, b.post(strings.TrimSuffix(body, "}")+`,"stream":true}`).Body.String()))
		if plain(r) != plain(s) {
			t.Errorf("after %d:\nJSON   %s\nstream %s", cut, plain(r["output"]), plain(s["output"]))
		}
	}
}
