// Command caddy is Caddy with its standard modules and the code interpreter:
// what xcaddy builds, from inside this repository.
//
//	go run ./cmd/caddy run --config Caddyfile.example
package main

import (
	caddycmd "github.com/caddyserver/caddy/v2/cmd"

	_ "github.com/caddyserver/caddy/v2/modules/standard"

	_ "github.com/codeinterp/caddy-code-interpreter"
)

func main() {
	caddycmd.Main()
}
