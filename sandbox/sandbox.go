// Package sandbox says what a sandbox provider and a container are, and keeps
// the containers of all requests: who owns which, who uses it now, how many
// there may be, and when one ends.
//
// A provider (package local, and later others) only makes containers and runs
// code in them. Leases, single-flight creation, caps, expiry and deletion are
// the Pool's, so that every provider gets them alike.
package sandbox

import (
	"context"
	"errors"
)

// Provider makes containers. It is called by many requests at once.
//
// A provider outlives the configuration that made it: the pool goes on using
// the first of several equal providers after a reload, also when Caddy has
// called its Cleanup. It therefore holds nothing that Cleanup takes away.
type Provider interface {
	// Create starts a container that is ready to run code. When it returns
	// an error, or ctx ends first, nothing of the container is left behind.
	Create(ctx context.Context, spec Spec) (Container, error)
}

// Spec is what a provider is told of a container that it shall make.
type Spec struct {
	// ID is the container's public id ("cntr_…"), for labels and logs.
	ID string
}

// Container runs Python code and keeps the interpreter's state and the files
// under /mnt/data from one execution to the next.
//
// The pool never calls Run twice at a time; it may call Delete while Run is
// under way, which then returns soon.
type Container interface {
	// Run executes code and hands each output to emit, in the order in which
	// the code made them, before it returns. emit is called by one goroutine
	// at a time and must not be called after Run has returned.
	//
	// When ctx ends, the code is interrupted as by Ctrl-C, and when that does
	// not end it within a grace of two seconds it is killed; Run then returns
	// a Result with the Interrupted outcome. The caller knows from
	// context.Cause why it ended ctx.
	//
	// What the code itself did wrong (raised, crashed, used up its memory) is
	// a Result. An error means that the sandbox failed: ErrGone when the
	// container was found dead before the code was started, so that the
	// caller may try again in another one, and any other error when the code
	// may have run.
	Run(ctx context.Context, code string, emit func(Output)) (Result, error)

	// Delete ends the container with all its processes and files. Deleting
	// one that is gone already succeeds, so that it can be retried.
	Delete(ctx context.Context) error
}

// ErrGone is returned by Container.Run when the container no longer exists
// (expired at the provider, crashed while idle) and the code was not started.
var ErrGone = errors.New("container is gone")

// OutputKind tells what an Output is.
type OutputKind int

const (
	// Text is what was written to the standard output or error, as one
	// ordered stream. Text may end anywhere, also within a rune.
	Text OutputKind = iota
	// Value is the printed form of the last expression's value.
	Value
	// Traceback is the text of an uncaught exception, without the frames of
	// the runner.
	Traceback
	// Image is a picture that the code showed, in Data, as MIME says.
	Image
)

// Output is one piece of what an execution put out.
type Output struct {
	Kind OutputKind
	Text string // Text, Value, Traceback; untrusted, maybe invalid UTF-8
	Data []byte // Image
	MIME string // Image: "image/png"
}

// Outcome is how an execution ended.
type Outcome int

const (
	// Completed means that the code ran to its end.
	Completed Outcome = iota
	// Raised means that the code ended with an uncaught exception, which
	// includes SystemExit and SyntaxError.
	Raised
	// Interrupted means that ctx ended first.
	Interrupted
	// Died means that the interpreter ended: os._exit, a signal, exec.
	Died
	// OutOfMemory means that the interpreter was killed for its memory.
	OutOfMemory
)

// Result is what the provider says of an execution that was started.
type Result struct {
	Outcome Outcome
	// Detail says more in a few words: "interpreter died (SIGSEGV)",
	// "ZeroDivisionError: division by zero". It is shown to the model.
	Detail string
	// Lost says that the interpreter's state is gone and that the container
	// cannot be used again; its caller deletes it.
	Lost bool
}
