// Command scriptedmodel is a scripted stand-in for a model behind an
// OpenAI-compatible API, for demos and tests. There is no model in it: it
// reads the fenced Python blocks of the last user message, calls the tool that
// takes code with them, and answers with what the tool put out. Package model
// says what it understands.
//
//	go run ./examples/scriptedmodel -listen 127.0.0.1:8081
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/examples/scriptedmodel/model"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8081", "the `address` to listen on; port 0 takes a free one")
	delay := flag.Duration("delay", 0, "a pause between the deltas of a stream, as a real model makes")
	flag.Parse()

	if err := run(*listen, *delay); err != nil {
		fmt.Fprintln(os.Stderr, "scriptedmodel:", err)
		os.Exit(1)
	}
}

func run(listen string, delay time.Duration) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	// Tests read the address from this line.
	fmt.Printf("scriptedmodel: listening on http://%s\n", listener.Addr())

	server := &http.Server{Handler: model.New(delay), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
