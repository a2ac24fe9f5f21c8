package sandboxtest

import (
	"context"
	"sync"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// Fake is a provider in memory. It is for the faults and schedules that a real
// provider cannot be made to show: a creation that hangs, a container that is
// gone, a deletion that fails twice. What code does is tested on real ones.
//
// The zero value works. Set the functions before the first use. All methods
// may be called at once.
type Fake struct {
	// OnCreate runs before a container is made; an error is Create's.
	OnCreate func(ctx context.Context, spec sandbox.Spec) error
	// OnRun executes code. Its ctx ends also when the container is deleted.
	// Without it, the code itself is put out as Text.
	OnRun func(ctx context.Context, c *FakeContainer, code string, emit func(sandbox.Output)) (sandbox.Result, error)
	// OnDelete runs before a container that still lives is deleted; with an
	// error it lives on.
	OnDelete func(ctx context.Context, c *FakeContainer) error

	mu         sync.Mutex
	containers []*FakeContainer
	live       int
	peak       int
	overlaps   int
}

// FakeContainer is a container of a Fake's.
type FakeContainer struct {
	// Spec is what the container was made from.
	Spec sandbox.Spec
	// Number counts the provider's containers from 1.
	Number int

	fake *Fake
	life context.Context
	end  context.CancelFunc

	// Guarded by Fake.mu.
	dead    bool
	running int
	codes   []string
}

// Create implements sandbox.Provider.
func (f *Fake) Create(ctx context.Context, spec sandbox.Spec) (sandbox.Container, error) {
	if f.OnCreate != nil {
		if err := f.OnCreate(ctx, spec); err != nil {
			return nil, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &FakeContainer{Spec: spec, Number: len(f.containers) + 1, fake: f}
	c.life, c.end = context.WithCancel(context.Background())
	f.containers = append(f.containers, c)
	f.live++
	f.peak = max(f.peak, f.live)
	return c, nil
}

// Run implements sandbox.Container.
func (c *FakeContainer) Run(ctx context.Context, code string, emit func(sandbox.Output)) (sandbox.Result, error) {
	if !c.begin(code) {
		return sandbox.Result{}, sandbox.ErrGone
	}
	defer c.finish()
	if c.fake.OnRun == nil {
		emit(sandbox.Output{Kind: sandbox.Text, Text: code})
		return sandbox.Result{}, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	return c.fake.OnRun(ctx, c, code, emit)
}

func (c *FakeContainer) begin(code string) bool {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	if c.dead {
		return false
	}
	if c.running > 0 {
		c.fake.overlaps++
	}
	c.running++
	c.codes = append(c.codes, code)
	return true
}

func (c *FakeContainer) finish() {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	c.running--
}

// Delete implements sandbox.Container.
func (c *FakeContainer) Delete(ctx context.Context) error {
	if c.fake.OnDelete != nil && !c.Dead() {
		if err := c.fake.OnDelete(ctx, c); err != nil {
			return err
		}
	}
	c.Kill()
	return nil
}

// Kill makes the container die by itself: what Run finds next is ErrGone.
func (c *FakeContainer) Kill() {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	if !c.dead {
		c.dead = true
		c.fake.live--
		c.end()
	}
}

// Dead reports whether the container was deleted or killed.
func (c *FakeContainer) Dead() bool {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	return c.dead
}

// Codes returns what was executed in the container.
func (c *FakeContainer) Codes() []string {
	c.fake.mu.Lock()
	defer c.fake.mu.Unlock()
	return append([]string(nil), c.codes...)
}

// Containers returns all containers that were ever created, oldest first.
func (f *Fake) Containers() []*FakeContainer {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]*FakeContainer(nil), f.containers...)
}

// Created returns how many containers were created.
func (f *Fake) Created() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.containers)
}

// Deleted returns how many containers are gone.
func (f *Fake) Deleted() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.containers) - f.live
}

// Live returns how many containers exist.
func (f *Fake) Live() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.live
}

// Peak returns how many containers existed at most at a time.
func (f *Fake) Peak() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.peak
}

// Overlaps returns how often code was run in a container that was running
// code already, which must never be.
func (f *Fake) Overlaps() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.overlaps
}

var (
	_ sandbox.Provider  = (*Fake)(nil)
	_ sandbox.Container = (*FakeContainer)(nil)
)
