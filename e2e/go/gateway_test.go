// Package e2e runs the official Go SDK against bin/caddy with the local
// sandbox and a scripted model behind it.
package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/codeinterp/caddy-code-interpreter/examples/scriptedmodel/model"
)

const (
	// toolName is what the model sees. No client may ever see it.
	toolName = "zz_internal_python_7391"

	// No log line may hold one of these.
	apiKey   = "sk-e2e-first-5f0c1d92"
	otherKey = "sk-e2e-other-83ab7710"
)

// gateway is bin/caddy before a scripted model.
type gateway struct {
	model *model.Model
	url   string
	pid   int
	log   *buffer
	leaks *buffer // answers that held the internal name
}

// start runs a gateway until the test ends, and then checks what must hold
// for every test: no client saw the internal name, no log a credential.
func start(t *testing.T) *gateway {
	t.Helper()
	g := &gateway{model: model.New(0), log: new(buffer), leaks: new(buffer)}
	upstream := httptest.NewServer(g.model)
	t.Cleanup(upstream.Close)

	port := freePort(t)
	g.runCaddy(t, port, upstream.URL)
	tee := httptest.NewServer(g.tee(port))
	g.url = tee.URL
	t.Cleanup(tee.Close)
	return g
}

func (g *gateway) runCaddy(t *testing.T, port int, upstream string) {
	t.Helper()
	binary := os.Getenv("E2E_CADDY")
	if binary == "" {
		binary = "../../bin/caddy"
		if _, err := os.Stat(binary); err != nil {
			t.Fatal("there is no bin/caddy; run make test, which builds it")
		}
	}
	python := os.Getenv("CODE_PYTHON")
	if python == "" {
		python = "python3"
	}
	folder := t.TempDir()
	config := filepath.Join(folder, "Caddyfile")
	text := fmt.Sprintf(`{
	admin off
	auto_https off
	log {
		level DEBUG
	}
}

http://:%d {
	bind 127.0.0.1
	log

	code_interpreter {
		tool_name %s
		sandbox local {
			python %s
		}
	}
	reverse_proxy %s
}
`, port, toolName, python, upstream)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}

	command := exec.Command(binary, "run", "--config", config, "--adapter", "caddyfile")
	command.Env = append(os.Environ(), "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	command.Stdout, command.Stderr = g.log, g.log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	g.pid = command.Process.Pid
	ended := make(chan struct{})
	go func() {
		_ = command.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Error("Caddy did not stop")
			_ = command.Process.Kill()
			<-ended
		}
		g.checkWhatWasSeen(t)
		if t.Failed() {
			log := g.log.String()
			t.Logf("the end of Caddy's log:\n%s", log[max(0, len(log)-8<<10):])
		}
	})

	address := fmt.Sprintf("127.0.0.1:%d", port)
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			return
		}
		select {
		case <-ended:
			t.Fatalf("Caddy did not start:\n%s", g.log)
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("Caddy does not listen:\n%s", g.log)
		}
	}
}

func (g *gateway) checkWhatWasSeen(t *testing.T) {
	if leaks := g.leaks.String(); leaks != "" {
		t.Errorf("a client saw the internal tool name: %s", leaks)
	}
	for _, secret := range []string{apiKey, otherKey} {
		if strings.Contains(g.log.String(), secret) {
			t.Errorf("the log holds a credential: %s", around(g.log.String(), secret))
		}
	}
}

// tee forwards to Caddy and searches what comes back.
func (g *gateway) tee(port int) http.Handler {
	target := &url.URL{Scheme: "http", Host: fmt.Sprintf("127.0.0.1:%d", port)}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Set("Accept-Encoding", "identity")
			// With the client's own body, the transport may still look for its
			// end when the server closes it because the answer has begun, and
			// then aborts that answer.
			body, _ := io.ReadAll(r.In.Body)
			r.Out.Body = io.NopCloser(bytes.NewReader(body))
		},
		FlushInterval: -1,
		ModifyResponse: func(r *http.Response) error {
			answer := new(buffer)
			_ = r.Header.Write(answer)
			r.Body = &searched{r.Body, answer, g.leaks}
			return nil
		},
	}
}

// searched looks for the internal name in a whole answer once it has ended.
type searched struct {
	io.ReadCloser
	answer, leaks *buffer
}

func (s *searched) Read(p []byte) (int, error) {
	n, err := s.ReadCloser.Read(p)
	_, _ = s.answer.Write(p[:n])
	return n, err
}

func (s *searched) Close() error {
	if answer := s.answer.String(); strings.Contains(answer, toolName) {
		_, _ = io.WriteString(s.leaks, around(answer, toolName)+"\n")
	}
	return s.ReadCloser.Close()
}

// client returns an SDK client of the gateway.
func (g *gateway) client(key string) openai.Client {
	return openai.NewClient(option.WithBaseURL(g.url+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

func around(text, word string) string {
	at := strings.Index(text, word)
	return text[max(0, at-300):min(len(text), at+300)]
}
