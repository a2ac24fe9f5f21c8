#!/usr/bin/env bash
# Runs every fuzz target of the repository for FUZZTIME each (20s).
set -euo pipefail
cd "$(dirname "$0")/.."

targets=$(git grep --untracked -hoE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' | wc -l)
if [ "$targets" -eq 0 ]; then
	echo "fuzz: there is no fuzz target" >&2
	exit 1
fi

git grep --untracked -oE '^func Fuzz[A-Za-z0-9_]+' -- '*_test.go' |
	while IFS=: read -r file function; do
		name=${function#func }
		echo "fuzz: $name in $(dirname "$file")"
		# Shrinking what is merely interesting may take a minute a time, in
		# which nothing new is tried.
		CGO_ENABLED=0 go test -run '^$' -fuzz "^$name\$" -fuzztime "${FUZZTIME:-20s}" -fuzzminimizetime 10x \
			"./$(dirname "$file")" </dev/null
	done
