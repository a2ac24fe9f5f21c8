#!/usr/bin/env bash
# Sets up what the tests need and runs all of them.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v gcc >/dev/null; then
	if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends gcc libc6-dev >&2
	else
		echo "test: the race detector needs gcc; install it." >&2
		exit 1
	fi
fi
command -v npm >/dev/null || { echo "test: the end-to-end tests need Node 20 or newer with npm; install it." >&2; exit 1; }

CODE_PYTHON=$(scripts/python.sh --install)
export CODE_PYTHON
# The end-to-end tests fail, instead of being skipped, when this is missing.
export E2E_CADDY=$PWD/bin/caddy E2E_MODEL=$PWD/bin/scriptedmodel

if ! [ e2e/node_modules/.package-lock.json -nt e2e/package-lock.json ]; then
	(cd e2e && npm ci --no-audit --no-fund --loglevel=error)
fi

CGO_ENABLED=1 go test -race -timeout 15m ./...
(cd e2e && npm test --silent)
