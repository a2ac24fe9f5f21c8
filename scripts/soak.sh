#!/usr/bin/env bash
# The long suites: all Go tests several times under the race detector, each
# fuzz target for minutes, and the clients' load for SOAK.
set -euo pipefail
cd "$(dirname "$0")/.."

CODE_PYTHON=$(scripts/python.sh --install)
export CODE_PYTHON
export E2E_CADDY=$PWD/bin/caddy E2E_MODEL=$PWD/bin/scriptedmodel

CGO_ENABLED=1 go test -race -count="${COUNT:-5}" -timeout 60m ./...
FUZZTIME=${FUZZTIME:-3m} scripts/fuzz.sh
SOAK=${SOAK:-10m} go test -count=1 -timeout 60m -run '^TestSoak$' -v ./e2e/go
