// Package jail is what runs inside a container of package local: the launcher
// that Caddy starts by executing itself again, which builds the new root,
// gives up every privilege, starts Python, and stays as the container's init.
//
// It imports little on purpose. Go initializes packages as soon as their
// imports are ready, so a launcher that needs few of them takes over before
// the rest of a Caddy binary has spent its start-up time and memory.
package jail
