// Package codeinterp is a Caddy module that gives OpenAI's code_interpreter
// tool to every OpenAI-compatible upstream behind reverse_proxy, by running
// the model's Python in a sandbox that the operator controls.
//
// The way of a request through the packages:
//
//   - this package: Caddy's edge. The handler (module.go, options.go,
//     caddyfile.go) reads the body once (body.go) and lets through untouched
//     whatever does not concern it. One upstream turn is next.ServeHTTP
//     (upstream.go) with a ResponseWriter of its own (capture.go).
//   - interceptor: the protocol. It rewrites the request, drives the turns,
//     and answers in OpenAI's native shape.
//   - sandbox: containers, who owns them, and when they end; its subpackages
//     are the providers that make them, listed in imports.go.
package codeinterp
