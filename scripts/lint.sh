#!/usr/bin/env bash
# Checks what can be checked without running it.
set -euo pipefail
cd "$(dirname "$0")/.."

# Newest version that works with the Go of go.mod.
staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2

step() { echo "lint: $*" >&2; }

step gofmt
unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l)
if [ -n "$unformatted" ]; then
	echo "lint: not formatted with gofmt:" $unformatted >&2
	exit 1
fi

for target in linux/amd64 darwin/arm64 windows/amd64; do
	step "go vet for $target"
	GOOS=${target%/*} GOARCH=${target#*/} CGO_ENABLED=0 go vet ./...
done

step staticcheck
CGO_ENABLED=0 go run "$staticcheck" ./...

step Caddyfile.example
CODE_PYTHON=$(scripts/python.sh --install)
export CODE_PYTHON
bin/caddy fmt Caddyfile.example >/dev/null || { bin/caddy fmt --diff Caddyfile.example; exit 1; }
bin/caddy validate --config Caddyfile.example --adapter caddyfile

step build.mod
scripts/build-mod.sh --check
