package integration

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

// The harness looks for the credential and the code in the logs of every test;
// here are the ways in which things go wrong, each of which is logged.
func TestLogsHoldNoSecrets(t *testing.T) {
	const session, key = "secret-session-8812", "x-api-key-5523"
	fault := func(run func(emit func(sandbox.Output)) (sandbox.Result, error)) func(context.Context, *sandboxtest.FakeContainer, string, func(sandbox.Output)) (sandbox.Result, error) {
		return func(_ context.Context, _ *sandboxtest.FakeContainer, _ string, emit func(sandbox.Output)) (sandbox.Result, error) {
			return run(emit)
		}
	}
	traceback := sandbox.Output{Kind: sandbox.Traceback, Text: "Traceback: " + hidden + "\n"}
	for name, prepare := range map[string]func(up *turns, f *sandboxtest.Fake){
		"well": func(*turns, *sandboxtest.Fake) {},
		"raised": func(_ *turns, f *sandboxtest.Fake) {
			f.OnRun = fault(func(emit func(sandbox.Output)) (sandbox.Result, error) {
				emit(traceback)
				return sandbox.Result{Outcome: sandbox.Raised, Detail: "ValueError: " + hidden}, nil
			})
		},
		"died": func(_ *turns, f *sandboxtest.Fake) {
			f.OnRun = fault(func(emit func(sandbox.Output)) (sandbox.Result, error) {
				emit(traceback)
				return sandbox.Result{Outcome: sandbox.Died, Detail: hidden, Lost: true}, nil
			})
		},
		"sandbox failed": func(_ *turns, f *sandboxtest.Fake) {
			f.OnRun = fault(func(func(sandbox.Output)) (sandbox.Result, error) { return sandbox.Result{}, errors.New("pipe broke") })
		},
		"no container": func(_ *turns, f *sandboxtest.Fake) {
			f.OnCreate = func(context.Context, sandbox.Spec) error { return errors.New("no room") }
		},
		"upstream refuses": func(up *turns, _ *sandboxtest.Fake) {
			up.on[2] = reply(500, "application/json", `{"error":{"message":"cannot take `+hidden+`"}}`)
		},
		"upstream dies":     func(up *turns, _ *sandboxtest.Fake) { up.on[2] = up.cutShort },
		"upstream hangs up": func(up *turns, _ *sandboxtest.Fake) { up.on[2] = hangUp },
		"first turn dies":   func(up *turns, _ *sandboxtest.Fake) { up.on[1] = up.cutShort },
	} {
		t.Run(name, func(t *testing.T) {
			bothModes(t, func(t *testing.T, more string) {
				up := newTurns()
				b := newBed(t, up)
				prepare(up, b.fake)
				b.start(behindProxy)
				r := b.request(strings.NewReader(question(more+`,"metadata":{"session_id":"`+session+`"}`, simple)))
				r.Header.Set("X-Api-Key", key)
				b.do(r)
				for _, line := range logs.lines() {
					if !strings.Contains(line, `"http.handlers.code_interpreter`) {
						continue // what Caddy itself logs of headers is the operator's choice
					}
					for _, secret := range []string{session, key} {
						if strings.Contains(line, secret) {
							t.Errorf("logged %q: %s", secret, line)
						}
					}
				}
				if name == "well" && logs.line("http.handlers.code_interpreter") == "" {
					t.Error("nothing of ours was logged")
				}
			})
		})
	}
}
