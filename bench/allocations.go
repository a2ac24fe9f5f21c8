package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	caddyserver "github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"

	codeinterp "github.com/codeinterp/caddy-code-interpreter"
)

type allocated struct {
	count float64
	bytes int64
}

// passThroughAllocations counts what the handler alone allocates for a request
// of 10 KiB that it only looks at: with it less without it.
func passThroughAllocations(python string) (allocated, error) {
	sandbox, err := json.Marshal(map[string]string{"provider": "local", "python": python})
	if err != nil {
		return allocated{}, err
	}
	handler := &codeinterp.Handler{SandboxRaw: sandbox}
	ctx, cancel := caddyserver.NewContext(caddyserver.Context{Context: context.Background()})
	defer cancel()
	if err := handler.Provision(ctx); err != nil {
		return allocated{}, err
	}
	defer func() { _ = handler.Cleanup() }()

	body := chatBody(10 << 10)
	next := caddyhttp.HandlerFunc(func(w http.ResponseWriter, r *http.Request) error {
		_, err := io.Copy(io.Discard, r.Body)
		return err
	})
	w := httptest.NewRecorder()
	bench := func(serve func(*http.Request) error) testing.BenchmarkResult {
		return testing.Benchmark(func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := httptest.NewRequest("POST", "/v1/responses", bytes.NewReader(body))
				r.Header.Set("Content-Type", "application/json")
				r = caddyhttp.PrepareRequest(r, caddyserver.NewReplacer(), w, nil)
				if err = serve(r); err != nil {
					b.FailNow()
				}
			}
		})
	}
	with := bench(func(r *http.Request) error { return handler.ServeHTTP(w, r, next) })
	without := bench(func(r *http.Request) error { return next.ServeHTTP(w, r) })
	return allocated{float64(with.AllocsPerOp() - without.AllocsPerOp()), with.AllocedBytesPerOp() - without.AllocedBytesPerOp()}, err
}
