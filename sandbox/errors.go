package sandbox

import "errors"

// What Pool.Lease, Lease.Run and Pool.Close answer. None of the texts names
// an owner, a session, or what another owner has.
var (
	// ErrNotFound means that the container does not exist for this owner:
	// not minted by this pool, unknown, or another owner's.
	ErrNotFound = errors.New("container not found")

	// ErrExpired means that the container was this owner's and has ended.
	ErrExpired = errors.New("container is expired")

	// ErrTooManySessions means that the owner has as many kept containers as
	// it may have, all of them in use.
	ErrTooManySessions = errors.New("too many sessions in use")

	// ErrTooManyContainers means that the pool is full and that the owner has
	// no idle container that could make room.
	ErrTooManyContainers = errors.New("too many containers")

	// ErrClosed means that the pool was closed.
	ErrClosed = errors.New("pool is closed")

	// ErrReleased means that Run was called on a lease that was released.
	ErrReleased = errors.New("lease is released")

	// ErrBusy means that an execution got no turn in time. It was not started.
	ErrBusy = errors.New("sandbox is busy")

	// ErrUnavailable means that the provider could not create a container, or
	// failed while it ran code. It comes wrapped together with the cause.
	ErrUnavailable = errors.New("sandbox is unavailable")
)

// Causes for which an execution is ended.
var (
	errExecTimeout = errors.New("execution took too long")
	errFlood       = errors.New("execution put out too much")
)
