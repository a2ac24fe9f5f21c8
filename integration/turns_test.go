package integration

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// twoTurns starts the site, asks for a call and an answer, and returns what
// the upstream got.
func twoTurns(t *testing.T, up *turns, site, path, more string) []*http.Request {
	t.Helper()
	b := newBed(t, up).start(site)
	r := b.request(strings.NewReader(question(more, simple)))
	r.URL.Path = path
	if said := b.do(r).completed(); !strings.Contains(said, "ran in 1: "+simple) {
		t.Errorf("the model was told %q", said)
	}
	seen := up.requests()
	if len(seen) != 2 {
		t.Fatalf("%d turns", len(seen))
	}
	return seen
}

// Caddy lets every route group have one turn in a request; without a fresh
// note of them the second upstream turn would be a silent no-op.
func TestRouteGroupsAreEnteredOnEveryTurn(t *testing.T) {
	for name, site := range map[string]string{
		"behind": `
code_interpreter {
	STANDARD
}
handle_path /api/* {
	reverse_proxy UPSTREAM
}`,
		"around": `
handle_path /api/* {
	code_interpreter {
		STANDARD
	}
	reverse_proxy UPSTREAM
}`,
		"nested": `
handle /api/* {
	code_interpreter {
		STANDARD
	}
	handle_path /other/* {
		respond 404
	}
	handle_path /api/* {
		handle /v1/* {
			reverse_proxy UPSTREAM
		}
	}
}`,
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, more string) {
				for _, r := range twoTurns(t, newTurns(), site, "/api/v1/responses", more) {
					if r.RequestURI != "/v1/responses" {
						t.Errorf("the upstream was asked for %s", r.RequestURI)
					}
				}
			})
		})
	}
}

func TestRewritesInTheChainAreAppliedOncePerTurn(t *testing.T) {
	site := `
route {
	code_interpreter {
		STANDARD
	}
	uri strip_prefix /api
	uri replace /v1 /v1/v1
	uri strip_prefix /v1
	request_header +X-Added once
	request_header -X-Gone
	reverse_proxy UPSTREAM {
		header_up X-Seen {uri}
		header_up X-Original {http.request.orig_uri}
	}
}`
	bothModes(t, func(t *testing.T, more string) {
		for n, r := range twoTurns(t, newTurns(), site, "/api/v1/responses", more) {
			for name, want := range map[string]string{
				"X-Added": "once", "X-Seen": "/v1/responses", "X-Original": "/api/v1/responses", "Via": "1.1 Caddy",
			} {
				if got := strings.Join(r.Header[name], ", "); got != want {
					t.Errorf("turn %d: %s is %q", n+1, name, got)
				}
			}
			if r.RequestURI != "/v1/responses" {
				t.Errorf("turn %d: asked for %s", n+1, r.RequestURI)
			}
		}
	})
}

// Each turn has variables of its own: a dial of the turn before may still read
// that turn's (caddy #6683, #7595). Placeholders see the turn's all the same.
func TestVariablesInTheChainAreTheTurns(t *testing.T) {
	site := `
vars outside 1
route {
	code_interpreter {
		STANDARD
	}
	request_header X-Before "{vars.outside}{vars.inside}"
	vars inside 2
	reverse_proxy UPSTREAM {
		header_up X-Behind "{vars.outside}{vars.inside}"
	}
}`
	bothModes(t, func(t *testing.T, more string) {
		for n, r := range twoTurns(t, newTurns(), site, "/v1/responses", more) {
			if before, behind := r.Header.Get("X-Before"), r.Header.Get("X-Behind"); before != "1" || behind != "12" {
				t.Errorf("turn %d: %q before, %q behind", n+1, before, behind)
			}
		}
	})
}

// A turn may leave a dial behind that another connection made needless. Many
// requests at once, each with its turns, let the race detector see it.
func TestDialsOfEarlierTurnsAreHarmless(t *testing.T) {
	b := newBed(t, newTurns()).start(behindProxy)
	var all sync.WaitGroup
	for range 16 {
		r := b.request(strings.NewReader(question("", simple, simple, simple)))
		all.Go(func() {
			if a, err := b.try(r); err != nil || a.status != http.StatusOK {
				t.Errorf("%v, %v", a, err)
			}
		})
	}
	all.Wait()
}

func TestAnswerIsEncodedOnceForTheClient(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		up := newTurns()
		b := newBed(t, up).start("encode gzip\n" + behindProxy)
		r := b.request(strings.NewReader(question(more, simple)))
		r.Header.Set("Accept-Encoding", "gzip, br;q=0.5")
		a := b.do(r)
		if a.header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("not encoded: %v", a.header)
		}
		z, err := gzip.NewReader(bytes.NewReader(a.body))
		if err != nil {
			t.Fatal(err)
		}
		if a.body, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
		a.completed()
		for _, r := range up.requests() {
			// The transport's own wish, not the client's.
			if got := r.Header.Get("Accept-Encoding"); got != "gzip" {
				t.Errorf("the upstream may encode with %q", got)
			}
		}
	})
}

func TestUpstreamThatCompressesForTheTransport(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		up := newTurns()
		up.on[1], up.on[2] = up.compress, up.compress
		twoTurns(t, up, behindProxy, "/v1/responses", more)
	})
}

func TestUpstreamThatCompressesUnasked(t *testing.T) {
	site := `
code_interpreter {
	STANDARD
}
reverse_proxy UPSTREAM {
	transport http {
		compression off
	}
}`
	t.Run("json", func(t *testing.T) {
		up := newTurns()
		up.on[1], up.on[2] = up.compress, up.compress
		twoTurns(t, up, site, "/v1/responses", "")
	})
	// A stream cannot be decoded as it arrives without knowing where its
	// coding flushes; it is refused rather than passed on as noise.
	t.Run("stream", func(t *testing.T) {
		up := newTurns()
		up.on[1] = up.compress
		newBed(t, up).start(site).post(question(`,"stream":true`, simple)).refused(http.StatusBadGateway)
	})
	t.Run("stream later", func(t *testing.T) {
		up := newTurns()
		up.on[2] = up.compress
		newBed(t, up).start(site).post(question(`,"stream":true`, simple)).failed()
	})
}

func TestChunkedBodyGoesUpstreamWithItsLength(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		for name, trailer := range map[string]http.Header{"plain": nil, "with trailers": {"X-Checksum": nil}} {
			t.Run(name, func(t *testing.T) {
				up := newTurns()
				b := newBed(t, up).start(behindProxy)
				r := b.request(struct{ io.Reader }{strings.NewReader(question(more, simple))})
				r.Trailer = trailer
				if trailer != nil {
					trailer.Set("X-Checksum", "abc")
				}
				b.do(r).completed()
				for n, seen := range up.requests() {
					if seen.ContentLength <= 0 || len(seen.TransferEncoding) > 0 || len(seen.Trailer) > 0 {
						t.Errorf("turn %d: length %d, transfer encoding %v, trailers %v",
							n+1, seen.ContentLength, seen.TransferEncoding, seen.Trailer)
					}
				}
			})
		}
	})
}

func TestEncodedBodyGoesUpstreamPlain(t *testing.T) {
	for coding, encode := range map[string]func(string) []byte{"gzip": zip, "GZip ": zip, "x-gzip": zip, "zstd": zstandard} {
		t.Run(coding, func(t *testing.T) {
			bothModes(t, func(t *testing.T, more string) {
				up := newTurns()
				b := newBed(t, up).start(behindProxy)
				r := b.request(bytes.NewReader(encode(question(more, simple))))
				r.Header.Set("Content-Encoding", coding)
				b.do(r).completed()
				for _, seen := range up.requests() {
					if got := seen.Header.Get("Content-Encoding"); got != "" {
						t.Errorf("the upstream is told of the encoding %q", got)
					}
				}
			})
		})
	}
}

func zstandard(text string) []byte {
	z, _ := zstd.NewWriter(nil)
	defer z.Close()
	return z.EncodeAll([]byte(text), nil)
}

func zip(text string) []byte {
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
	return buf.Bytes()
}

// An upstream that honours the key would answer the second turn with the
// first one's answer, or refuse it for its other body.
func TestIdempotencyKeyIsTheFirstTurnsOnly(t *testing.T) {
	up := newTurns()
	b := newBed(t, up).start(behindProxy)
	r := b.request(strings.NewReader(question("", simple)))
	r.Header.Set("Idempotency-Key", "client-key-1")
	b.do(r).completed()
	var keys []string
	for _, seen := range up.requests() {
		keys = append(keys, seen.Header.Get("Idempotency-Key"))
	}
	if got := fmt.Sprintf("%q", keys); got != `["client-key-1" ""]` {
		t.Errorf("the keys are %s", got)
	}
}

func TestEarlyHintsOfTheUpstreamAreNoAnswer(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		up := newTurns()
		hint := func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Link", "</style.css>; rel=preload")
			w.WriteHeader(http.StatusEarlyHints)
			up.model.ServeHTTP(w, r)
		}
		up.on[1], up.on[2] = hint, hint
		twoTurns(t, up, behindProxy, "/v1/responses", more)
	})
}

// Headers of a stream are the first turn's, those of a JSON answer the last
// one's; they are never both (caddyhttp.ResponseRecorder would add them up).
func TestHeadersAreOfOneTurn(t *testing.T) {
	for more, want := range map[string]string{"": "second", `,"stream":true`: "first"} {
		up := newTurns()
		for n, id := range []string{"first", "second"} {
			up.on[n+1] = func(w http.ResponseWriter, r *http.Request) {
				whole := up.play(r)
				w.Header().Set("Content-Type", whole.Header().Get("Content-Type"))
				w.Header().Set("X-Turn", id)
				w.Header().Set("Etag", `"`+id+`"`)
				_, _ = w.Write(whole.Body.Bytes())
			}
		}
		b := newBed(t, up).start(behindProxy)
		a := b.post(question(more, simple))
		a.completed()
		for name, values := range a.header {
			if len(values) != 1 && name != "Vary" {
				t.Errorf("%s: %q", name, values)
			}
		}
		if a.header.Get("X-Turn") != want || a.header.Get("Etag") != "" {
			t.Errorf("headers are %v", a.header)
		}
	}
}
