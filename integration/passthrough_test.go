package integration

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// The writer of a request that passes through is Caddy's own, so that it can
// be flushed and hijacked.
func TestPassedThroughStreamIsFlushed(t *testing.T) {
	goOn := make(chan struct{})
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: 1\n")
		_ = http.NewResponseController(w).Flush()
		<-goOn
		_, _ = io.WriteString(w, "data: 2\n")
	})
	b := newBed(t, up).start(behindProxy)
	resp, err := b.client.Do(b.request(strings.NewReader(`{"input":"code_interpreter","stream":true}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for n := 1; n <= 2; n++ {
		line, err := lines.ReadString('\n')
		if err != nil || line != fmt.Sprintf("data: %d\n", n) {
			t.Fatalf("line %d is %q, %v", n, line, err)
		}
		if n == 1 {
			close(goOn)
		}
	}
}

func TestWebsocketIsUntouched(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = io.CopyN(conn, rw, 5)
	})
	b := newBed(t, up).start(behindProxy)
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", b.port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "GET /v1/responses HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+
		"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v, %v", resp, err)
	}
	_, _ = io.WriteString(conn, "hello")
	got := make([]byte, 5)
	if _, err := io.ReadFull(in, got); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

// Bodies are read into pooled buffers, and an upstream that answers before it
// has read one leaves the transport with it: nobody may ever see another's.
func TestBodiesOfConcurrentRequestsNeverMix(t *testing.T) {
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Early") != "" {
			w.WriteHeader(http.StatusTeapot)
			_ = http.NewResponseController(w).Flush()
		}
		body, err := io.ReadAll(r.Body)
		want := strings.Repeat(r.Header.Get("X-Letter"), len(body))
		if n := len(`{"input":""}`); err == nil || len(body) > n {
			if got := strings.TrimSuffix(strings.TrimPrefix(string(body), `{"input":"`), `"}`); got != want[:len(got)] {
				t.Errorf("a body has another's bytes: %.100q", got)
			}
		}
		if r.Header.Get("X-Early") == "" {
			_, _ = w.Write(body)
		}
	})
	b := newBed(t, up).start(behindProxy)
	var all sync.WaitGroup
	for n := range 16 {
		letter := string(rune('a' + n))
		all.Go(func() {
			for round := range 20 {
				body := []byte(`{"input":"` + strings.Repeat(letter, 1<<uint(8+(n+round)%11)) + `"}`)
				r := b.request(bytes.NewReader(body))
				r.Header.Set("X-Letter", letter)
				if (n+round)%3 == 0 {
					r.Header.Set("X-Early", "yes")
				}
				a, err := b.try(r)
				if r.Header.Get("X-Early") != "" {
					continue // whatever came of it
				}
				if err != nil || !bytes.Equal(a.body, body) {
					t.Errorf("letter %s: %v", letter, err)
				}
			}
		})
	}
	all.Wait()
}

// A handler that is off, or does not serve the model, is as if it were not
// there: the upstream gets the native tool.
func TestRequestsThatAreNotServedPassThrough(t *testing.T) {
	for name, c := range map[string]struct {
		options, model string
		served         bool
	}{
		"off":                    {"enabled false", "m", false},
		"on":                     {"enabled true", "m", true},
		"model named":            {"models m other", "m", true},
		"model by glob":          {"models gpt-* x/*", "gpt-5", true},
		"model not named":        {"models gpt-*", "m", false},
		"no model":               {"models gpt-*", "", false},
		"provider named":         {"enabled_providers openai", "openai/gpt-5", true},
		"provider not named":     {"enabled_providers openai", "azure/gpt-5", false},
		"without provider":       {"enabled_providers openai", "gpt-5", false},
		"provider by header":     {"enabled_providers openai\n provider {http.request.header.X-Provider}", "gpt-5", true},
		"other by header":        {"enabled_providers azure\n provider {http.request.header.X-Provider}", "azure/gpt-5", false},
		"provider but not model": {"enabled_providers openai\n models openai/x", "openai/gpt-5", false},
		"provider and model":     {"enabled_providers openai\n models openai/*", "openai/gpt-5", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, http.HandlerFunc(echo)).start(strings.Replace(behindProxy, "STANDARD", "STANDARD\n"+c.options, 1))
			body := strings.Replace(question("", simple), `"model":"m"`, `"model":"`+c.model+`"`, 1)
			r := b.request(strings.NewReader(body))
			r.Header.Set("X-Provider", "openai")
			resp, err := b.client.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, _ := io.ReadAll(resp.Body)
			if served := string(got) != body; served != c.served {
				t.Errorf("served: %v: %s", served, got)
			}
		})
	}
}

// The operator's own limit is answered as without us, whoever it hits.
func TestRequestBodyLimitIsTheOperators(t *testing.T) {
	site := "request_body {\n\tmax_size 10KB\n}\n" + withErrorPage
	long := strings.Repeat("x", 20<<10)
	for name, body := range map[string]string{
		"without the tool": `{"input":"` + long + `"}`,
		"with the tool":    question(`,"instructions":"`+long+`"`, simple),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t, newTurns()).start(site)
			if a := b.post(body); a.status != http.StatusServiceUnavailable || string(a.body) != "custom 413" {
				t.Errorf("status %d: %s", a.status, a.body)
			}
		})
	}
}

// Models of Hugging Face have an owner before the name.
func TestGlobsOfModelsSpanSlashes(t *testing.T) {
	for glob, served := range map[string]bool{"*": true, "*Llama*": true, "meta-*/Llama-?": true, "Llama*": false, "meta-llama/*": true} {
		b := newBed(t, newTurns()).start(strings.Replace(behindProxy, "STANDARD", "STANDARD\n\tmodels "+glob, 1))
		body := strings.Replace(question("", simple), `"model":"m"`, `"model":"meta-llama/Llama-4"`, 1)
		if a := b.post(body); (a.status == http.StatusOK) != served {
			t.Errorf("%s: status %d", glob, a.status)
		}
	}
}
