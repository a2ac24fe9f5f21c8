// Package integration tests the handler inside a running Caddy: its Caddyfile
// and JSON, what one upstream turn is, what passes through untouched, who owns
// which container, and what a reload leaves alone.
package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"

	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/encode"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/encode/gzip"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/headers"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/intercept"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/requestbody"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/reverseproxy"
	_ "github.com/caddyserver/caddy/v2/modules/caddyhttp/rewrite"

	_ "github.com/codeinterp/caddy-code-interpreter"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

const (
	// internalName is distinctive, so that it can be searched for in
	// everything that a client gets.
	internalName = "zz_internal_python_7391"
	// hidden stands in every test's code, and with it in prompts and outputs:
	// it must never be logged; neither must the credential.
	hidden     = "hidden_4711"
	credential = "Bearer sk-credential-2290"

	patience = time.Minute // for what must happen at some time
)

// behindProxy is the usual configuration.
const behindProxy = `
code_interpreter {
	STANDARD
}
reverse_proxy UPSTREAM
`

// bed is a Caddy with an upstream and a sandbox.
type bed struct {
	t        *testing.T
	fake     *sandboxtest.Fake
	name     string // of the fake
	sandbox  string // the sandbox option
	upstream *httptest.Server
	port     int
	client   *http.Client
}

// newBed prepares everything but starts nothing: the fake's functions can be
// set before start.
func newBed(t *testing.T, upstream http.Handler) *bed {
	t.Helper()
	b := &bed{t: t, upstream: httptest.NewServer(upstream), port: freePort(t)}
	b.name, b.fake = newFake()
	b.sandbox = "sandbox fake " + b.name
	b.client = &http.Client{Transport: &http.Transport{DisableCompression: true}}
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		if err := caddy.Stop(); err != nil {
			t.Errorf("stopping Caddy: %v", err)
		}
		b.upstream.CloseClientConnections()
		b.upstream.Close()
		eventually(t, "all containers are gone", func() bool { return b.fake.Live() == 0 })
		for _, secret := range []string{hidden, credential, strings.TrimPrefix(credential, "Bearer ")} {
			if line := logs.line(secret); line != "" {
				t.Errorf("logged %q: %s", secret, line)
			}
		}
		logs.reset()
	})
	return b
}

// start runs a site with the directives, in which STANDARD stands for the
// sandbox and the tool's name, and UPSTREAM for the upstream's address.
func (b *bed) start(site string) *bed {
	b.t.Helper()
	if err := caddy.Load(b.config(site), true); err != nil {
		b.t.Fatalf("loading: %v", err)
	}
	// What was kept alive leads to the configuration before.
	b.client.CloseIdleConnections()
	return b
}

func (b *bed) config(site string) []byte {
	b.t.Helper()
	site = strings.ReplaceAll(site, "STANDARD", b.sandbox+"\n\ttool_name "+internalName)
	site = strings.ReplaceAll(site, "UPSTREAM", strings.TrimPrefix(b.upstream.URL, "http://"))
	return adapt(b.t, fmt.Sprintf(`{
	admin off
	persist_config off
	auto_https off
	log {
		output memory
		level DEBUG
	}
	servers {
		protocols h1 h2c
	}
}
http://:%d {
	bind 127.0.0.1
%s
}
`, b.port, site))
}

func adapt(t *testing.T, text string) []byte {
	t.Helper()
	config, _, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(text), nil)
	if err != nil {
		t.Fatalf("adapting: %v\n%s", err, text)
	}
	return config
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// request makes a POST of JSON to /v1/responses by the usual client.
func (b *bed) request(body io.Reader) *http.Request {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	b.t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url("/v1/responses"), body)
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", credential)
	return r
}

func (b *bed) url(path string) string {
	return fmt.Sprintf("http://127.0.0.1:%d%s", b.port, path)
}

// post sends a body and reads the whole answer.
func (b *bed) post(body string) *answer {
	b.t.Helper()
	return b.do(b.request(strings.NewReader(body)))
}

func (b *bed) do(r *http.Request) *answer {
	b.t.Helper()
	a, err := b.try(r)
	if err != nil {
		b.t.Fatalf("requesting: %v", err)
	}
	return a
}

// try is do for other goroutines than the test's.
func (b *bed) try(r *http.Request) (*answer, error) {
	resp, err := b.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return b.answer(resp, body), nil
}

// answer asserts what holds of every answer.
func (b *bed) answer(resp *http.Response, body []byte) *answer {
	var head bytes.Buffer
	_ = resp.Header.Write(&head)
	if bytes.Contains(body, []byte(internalName)) || strings.Contains(head.String(), internalName) {
		b.t.Errorf("the internal name shows:\n%s\n%s", head.String(), body)
	}
	return &answer{t: b.t, status: resp.StatusCode, header: resp.Header, body: body}
}

// eventually waits for what must become true at some time.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("never: %s", what)
			return
		}
	}
}

// inTime receives what must come at some time.
func inTime[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("never: %s", what)
		panic("unreachable")
	}
}
