package sandbox

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

func TestGateLetsInAsManyAsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		var mu sync.Mutex
		inside, most := 0, 0
		for range 50 {
			go func() {
				if err := g.enter(t.Context(), 3); err != nil {
					t.Error(err)
				}
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				synctestYield()
				mu.Lock()
				inside--
				mu.Unlock()
				g.leave()
			}()
		}
		synctest.Wait()
		if most > 3 || g.held != 0 || g.queue.Len() != 0 {
			t.Errorf("most %d, held %d, queued %d", most, g.held, g.queue.Len())
		}
	})
}

// synctestYield lets other goroutines go first.
func synctestYield() {
	ready := make(chan struct{})
	go close(ready)
	<-ready
}

func TestGateServesInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		if err := g.enter(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		var order []int
		for i := range 5 {
			go func() {
				if err := g.enter(t.Context(), 1); err != nil {
					t.Error(err)
				}
				order = append(order, i)
				g.leave()
			}()
			synctest.Wait()
		}
		g.leave()
		synctest.Wait()
		for i, got := range order {
			if got != i {
				t.Fatalf("order %v", order)
			}
		}
	})
}

func TestGateKeepsEachWaitersOwnLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		for range 2 {
			if err := g.enter(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
		}
		first, second := enterLater(t, &g, 1), enterLater(t, &g, 2)
		third := enterLater(t, &g, 5)
		if *first == nil || *second == nil || *third != nil || g.held != 3 {
			t.Fatalf("%v, %v, %v, held %d: the narrow ones hold up the wide one, or are over their limit", *first, *second, *third, g.held)
		}
		g.leave()
		synctest.Wait()
		if *first == nil || *second == nil {
			t.Fatalf("%v, %v with two inside", *first, *second)
		}
		g.leave()
		synctest.Wait()
		if *first == nil || *second != nil {
			t.Fatalf("%v, %v with one inside", *first, *second)
		}
		g.leave()
		g.leave()
		synctest.Wait()
		if *first != nil || g.held != 1 || g.queue.Len() != 0 {
			t.Errorf("%v, held %d, queued %d", *first, g.held, g.queue.Len())
		}
	})
}

func TestGateServesTheOneWhoWaitsLongestOfThoseWithRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		if err := g.enter(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		narrow, wide := enterLater(t, &g, 1), enterLater(t, &g, 1)
		g.leave()
		synctest.Wait()
		if *narrow != nil || *wide == nil {
			t.Errorf("%v, %v: the later one passed the earlier", *narrow, *wide)
		}
		g.leave()
		synctest.Wait()
		if *wide != nil || g.held != 1 {
			t.Errorf("%v, held %d", *wide, g.held)
		}
	})
}

// enterLater enters on a goroutine of its own and returns where its error will
// be, which is not nil until then.
func enterLater(t *testing.T, g *gate, limit int) *error {
	err := errors.New("waiting")
	go func() { err = g.enter(t.Context(), limit) }()
	synctest.Wait()
	return &err
}

// A place may be given to one who is just going away.
func TestGateTakesBackAPlaceThatComesTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		for range 1000 {
			if err := g.enter(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				if g.enter(ctx, 1) == nil {
					g.leave()
				}
			}()
			synctest.Wait()
			cancel()
			g.leave()
			synctest.Wait()
			if g.held != 0 || g.queue.Len() != 0 {
				t.Fatalf("held %d, queued %d", g.held, g.queue.Len())
			}
		}
	})
}

func TestGateLosesNoPlaceToThoseWhoGoAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		why := errors.New("why")
		for range 200 {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				if err := g.enter(ctx, 1); err == nil {
					g.leave()
				} else if err != why {
					t.Errorf("got %v, not the cause", err)
				}
			}()
			go cancel(why)
		}
		synctest.Wait()
		if g.held != 0 || g.queue.Len() != 0 {
			t.Errorf("held %d, queued %d", g.held, g.queue.Len())
		}
	})
}
