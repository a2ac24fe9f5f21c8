package sandbox

import (
	"cmp"
	"runtime"
	"time"
)

// Limits come with each request, from its handler's configuration, so that a
// reload with other limits needs no new pool. The pool only counts.
//
// Zero means the default, and so does less than zero unless it says otherwise.
type Limits struct {
	// TTL is how long a kept container lives while nobody uses it.
	// Default: 20 minutes.
	TTL time.Duration

	// SessionsPerOwner is how many kept containers an owner may have.
	// Default: 10.
	SessionsPerOwner int

	// MaxContainers is how many containers the pool may have, kept or not.
	// One that is being deleted counts until it is gone. Default: 100.
	MaxContainers int

	// MaxConcurrentExecutions is how many executions may run at once over the
	// whole pool. Default: twice the number of CPUs.
	MaxConcurrentExecutions int

	// ExecTimeout is how long one execution may run, and also how long it may
	// wait for its turn. Default: 60 seconds.
	ExecTimeout time.Duration

	// MaxOutput is how many bytes of text of one execution are kept: one half
	// from its beginning, one half from its end. Default: 64 KiB.
	MaxOutput int

	// MaxImages is how many images of one execution are kept; less than zero
	// means none. Default: 16.
	MaxImages int

	// MaxImageBytes is how many bytes the kept images of one execution may
	// have together. Default: 8 MiB.
	MaxImageBytes int
}

// withDefaults returns l with every field filled in.
func (l Limits) withDefaults() Limits {
	return Limits{
		TTL:                     cmp.Or(max(l.TTL, 0), 20*time.Minute),
		SessionsPerOwner:        cmp.Or(max(l.SessionsPerOwner, 0), 10),
		MaxContainers:           cmp.Or(max(l.MaxContainers, 0), 100),
		MaxConcurrentExecutions: cmp.Or(max(l.MaxConcurrentExecutions, 0), 2*runtime.NumCPU()),
		ExecTimeout:             cmp.Or(max(l.ExecTimeout, 0), time.Minute),
		MaxOutput:               cmp.Or(max(l.MaxOutput, 0), 64<<10),
		MaxImages:               cmp.Or(l.MaxImages, 16),
		MaxImageBytes:           cmp.Or(max(l.MaxImageBytes, 0), 8<<20),
	}
}
