# make build, make run: what a user needs. The rest is for development.

SHELL := /usr/bin/env bash

# As xcaddy builds: without the databases that only Caddy's optional ACME
# server would use. All targets agree, so that they share the build cache.
export GOFLAGS := -tags=nobadger,nomysql,nopgx

.PHONY: build run test lint fuzz bench soak xcaddy build.mod clean bin/caddy bin/scriptedmodel

build: bin/caddy

# go.mod requires the oldest Caddy that the module works with, since nobody
# who builds with xcaddy could go below that; tests run with it. What is built
# here has the newest one, which build.mod requires. Go knows itself whether
# there is anything to do.
bin/caddy:
	CGO_ENABLED=0 go build -modfile=build.mod -trimpath -ldflags "-s -w" -o $@ ./cmd/caddy

bin/scriptedmodel:
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o $@ ./examples/scriptedmodel

# Caddy on 127.0.0.1:8080 before $UPSTREAM, or before a scripted model.
run: bin/caddy bin/scriptedmodel
	scripts/run.sh

# Unit, integration, sandbox and end-to-end tests.
test: bin/caddy bin/scriptedmodel
	scripts/test.sh

lint: bin/caddy
	scripts/lint.sh

# Every fuzz target for FUZZTIME (20s).
fuzz:
	scripts/fuzz.sh

bench: bin/caddy
	go run ./bench

# The long suites: everything again and again, fuzzing for minutes, load for SOAK (10m).
soak: bin/caddy bin/scriptedmodel
	scripts/soak.sh

# Builds from xcaddy.json through xcaddy and checks the modules in it.
xcaddy:
	go run ./scripts/xcaddy -output bin/caddy-xcaddy

build.mod:
	scripts/build-mod.sh

clean:
	rm -rf bin e2e/node_modules bench/results
