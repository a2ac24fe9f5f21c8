package codeinterp

// The built-in sandbox providers. A third party's registers itself in the
// namespace http.handlers.code_interpreter.sandboxes just like these.
import (
	_ "github.com/codeinterp/caddy-code-interpreter/sandbox/local"
)
