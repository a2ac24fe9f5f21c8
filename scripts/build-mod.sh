#!/usr/bin/env bash
# Makes build.mod and build.sum: go.mod with the Caddy of xcaddy.json instead
# of the oldest that the module works with. With --check, fails when they are
# not what it would make.
set -euo pipefail
cd "$(dirname "$0")/.."

caddy=$(sed -n 's/.*"caddy_version": *"\(v[^"]*\)".*/\1/p' xcaddy.json)
[ -n "$caddy" ] || { echo "build-mod: xcaddy.json names no caddy_version" >&2; exit 1; }

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
cp go.mod "$made/build.mod"
cp go.sum "$made/build.sum"
GOFLAGS= go get -modfile="$made/build.mod" \
	"github.com/caddyserver/caddy/v2@$caddy" "github.com/caddyserver/caddy/v2/modules/standard@$caddy"

if [ "${1:-}" = --check ]; then
	for name in build.mod build.sum; do
		if ! diff -u "$name" "$made/$name"; then
			echo "build-mod: $name is not what go.mod and xcaddy.json make of it; run make build.mod" >&2
			exit 1
		fi
	done
else
	cp "$made/build.mod" "$made/build.sum" .
fi
