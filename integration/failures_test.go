package integration

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// failTurn serves a question while the upstream misbehaves on one turn.
func failTurn(t *testing.T, turn int, site, more string, fault func(up *turns) http.HandlerFunc) *answer {
	t.Helper()
	up := newTurns()
	up.on[turn] = fault(up)
	a := newBed(t, up).start(site).post(question(more, simple))
	if got := len(up.requests()); got != turn {
		t.Errorf("%d turns, not %d", got, turn)
	}
	return a
}

func TestUpstreamDiesInMidBody(t *testing.T) {
	fault := func(up *turns) http.HandlerFunc { return up.cutShort }
	t.Run("turn 1 json", func(t *testing.T) {
		failTurn(t, 1, behindProxy, "", fault).refused(http.StatusBadGateway)
	})
	t.Run("turn 1 stream", func(t *testing.T) {
		a := failTurn(t, 1, behindProxy, `,"stream":true`, fault)
		types := a.types()
		if got := strings.Join(types[len(types)-2:], " "); got != "error response.failed" {
			t.Errorf("the stream ends with %s", got)
		}
		if a.response()["status"] != "failed" {
			t.Errorf("got %v", a.response())
		}
	})
	t.Run("turn 2", func(t *testing.T) {
		bothModes(t, func(t *testing.T, more string) {
			if more == "" {
				failTurn(t, 2, behindProxy, more, fault).failed()
				return
			}
			// Something of the second turn was shown before it broke off.
			a := failTurn(t, 2, behindProxy, more, fault)
			types := a.types()
			if got := strings.Join(types[len(types)-2:], " "); got != "error response.failed" {
				t.Errorf("the stream ends with %s", got)
			}
		})
	})
}

// handle_errors is the operator's word on an upstream that cannot be reached,
// as long as nothing was sent.
const withErrorPage = behindProxy + `
handle_errors {
	respond "custom {err.status_code}" 503
}`

func TestUpstreamThatCannotBeReached(t *testing.T) {
	fault := func(*turns) http.HandlerFunc { return hangUp }
	bothModes(t, func(t *testing.T, more string) {
		t.Run("turn 1", func(t *testing.T) {
			a := failTurn(t, 1, withErrorPage, more, fault)
			if a.status != http.StatusServiceUnavailable || string(a.body) != "custom 502" {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		})
		t.Run("turn 1 without a page", func(t *testing.T) {
			if a := failTurn(t, 1, behindProxy, more, fault); a.status != http.StatusBadGateway {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		})
		t.Run("turn 2", func(t *testing.T) {
			failTurn(t, 2, withErrorPage, more, fault).failed()
		})
	})
}

func TestNothingBehindIsABadGatewayWithARemedy(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		b := newBed(t, newTurns()).start("code_interpreter {\n\tSTANDARD\n}")
		e := b.post(question(more, simple)).refused(http.StatusBadGateway)
		if !strings.Contains(text(e["message"]), "reverse_proxy") {
			t.Errorf("no remedy: %v", e)
		}
	})
}

func TestClientClosedRequestBehindEndsQuietly(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		b := newBed(t, newTurns()).start("code_interpreter {\n\tSTANDARD\n}\nrespond 499")
		if a := b.post(question(more, simple)); a.status != 499 || len(a.body) > 0 {
			t.Errorf("status %d: %s", a.status, a.body)
		}
	})
}

func TestRefusalOfTheUpstream(t *testing.T) {
	const said = `{"error": {"message":"Tool '` + internalName + `' is  odd", "type":"x", "zz": [1.0, "` + "\\u00e4" + `"]}}`
	public := strings.ReplaceAll(said, internalName, "code_interpreter")
	for _, status := range []int{400, 401, 404, 409, 429, 500, 503, 529} {
		bothModes(t, func(t *testing.T, more string) {
			fault := func(*turns) http.HandlerFunc { return reply(status, "application/problem+json", said) }
			a := failTurn(t, 1, behindProxy, more, fault)
			if a.status != status || string(a.body) != public || a.header.Get("X-Upstream") != "told so" ||
				a.header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("status %d, headers %v: %s", a.status, a.header, a.body)
			}
			a = failTurn(t, 2, behindProxy, more, fault)
			a.failed()
			e, _ := a.response()["error"].(map[string]any)
			if text(e["message"]) != "Tool 'code_interpreter' is  odd" {
				t.Errorf("the error is %v", e)
			}
		})
	}
}

func TestAnswerThatIsNoResponse(t *testing.T) {
	for name, c := range map[string]struct {
		status            int
		contentType, body string
	}{
		"page":     {200, "text/html", "<html>login</html>"},
		"nothing":  {204, "", ""},
		"empty":    {200, "application/json", ""},
		"redirect": {302, "text/plain", "elsewhere"},
		"array":    {200, "application/json", "[1]"},
		"other":    {200, "application/json", `{"object":"list"}`},
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, more string) {
				fault := func(*turns) http.HandlerFunc { return reply(c.status, c.contentType, c.body) }
				up := newTurns()
				up.on[1] = fault(up)
				b := newBed(t, up).start(behindProxy)
				b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
				a := b.post(question(more, simple))
				if a.status != c.status || string(a.body) != c.body || a.header.Get("Content-Type") != c.contentType {
					t.Errorf("status %d, type %q: %q", a.status, a.header.Get("Content-Type"), a.body)
				}
				failTurn(t, 2, behindProxy, more, fault).failed()
			})
		})
	}
}

func TestStreamWithoutAnEvent(t *testing.T) {
	fault := func(*turns) http.HandlerFunc { return reply(200, "text/event-stream", "") }
	t.Run("turn 1", func(t *testing.T) {
		failTurn(t, 1, behindProxy, `,"stream":true`, fault).refused(http.StatusBadGateway)
	})
	t.Run("turn 2", func(t *testing.T) {
		failTurn(t, 2, behindProxy, `,"stream":true`, fault).failed()
	})
}

// Something between us and the upstream may answer in its place.
func TestHandlersBehindMayAnswerInstead(t *testing.T) {
	for name, site := range map[string]string{
		"handle_response": `
code_interpreter {
	STANDARD
}
reverse_proxy UPSTREAM {
	@bad status 5xx
	handle_response @bad {
		respond "teapot" 418
	}
}`,
		"intercept": `
route {
	code_interpreter {
		STANDARD
	}
	intercept {
		@bad status 5xx
		handle_response @bad {
			respond "teapot" 418
		}
	}
	reverse_proxy UPSTREAM
}`,
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, more string) {
				fault := func(*turns) http.HandlerFunc { return reply(500, "text/plain", "down") }
				if a := failTurn(t, 1, site, more, fault); a.status != http.StatusTeapot || string(a.body) != "teapot" {
					t.Errorf("status %d: %s", a.status, a.body)
				}
				failTurn(t, 2, site, more, fault).failed()
			})
		})
	}
}

// intercept outside sees the final answer only, and may replace it.
func TestInterceptOutsideSeesTheFinalAnswer(t *testing.T) {
	site := `
intercept {
	@refused status 4xx
	handle_response @refused {
		header -Content-Length
		respond "replaced" 410
	}
}` + behindProxy
	up := newTurns()
	b := newBed(t, up).start(site)
	b.post(question("", simple)).completed()
	up = newTurns()
	up.on[1] = reply(400, "text/plain", "no")
	b = newBed(t, up).start(site)
	if a := b.post(question("", simple)); a.status != http.StatusGone || string(a.body) != "replaced" {
		t.Errorf("status %d: %s", a.status, a.body)
	}
}

func TestUpstreamThatAnswersBeforeItHasReadTheBody(t *testing.T) {
	long := `,"metadata":{"pad":"` + strings.Repeat("x", 1<<20) + `"}`
	bothModes(t, func(t *testing.T, more string) {
		early := func(*turns) http.HandlerFunc {
			return func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/plain")
				w.WriteHeader(http.StatusTooManyRequests)
				_, _ = io.WriteString(w, "later")
			}
		}
		a := failTurn(t, 1, behindProxy, more+long, early)
		if a.status != http.StatusTooManyRequests && a.status != http.StatusBadGateway {
			t.Errorf("status %d: %s", a.status, a.body)
		}
		failTurn(t, 2, behindProxy, more+long, early).failed()
	})
}
