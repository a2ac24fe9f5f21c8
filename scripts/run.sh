#!/usr/bin/env bash
# Runs Caddy with Caddyfile.example, and a scripted model as its upstream when
# UPSTREAM is not set. Both end together.
set -euo pipefail
cd "$(dirname "$0")/.."

CODE_PYTHON=$(scripts/python.sh --install)
export CODE_PYTHON

pids=()
stop() {
	kill "${pids[@]}" 2>/dev/null || :
	wait
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ -z "${UPSTREAM:-}" ]; then
	bin/scriptedmodel -listen 127.0.0.1:8081 &
	pids+=($!)
	echo "run: UPSTREAM is not set, so a scripted stand-in for a model answers; it runs the fenced Python blocks that you send it"
fi
bin/caddy run --config Caddyfile.example --adapter caddyfile &
pids+=($!)

# Whichever ends first takes the other with it.
wait -n "${pids[@]}"
