package sandbox

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestIdleTimeEndsAfterTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExpiryIndex()
		x.rest("a", 1, time.Minute)
		time.Sleep(time.Minute)
		if !x.alive("a") || len(x.sweep()) != 0 {
			t.Error("ended early")
		}
		time.Sleep(time.Nanosecond)
		if x.alive("a") {
			t.Error("alive although its time is over and only the sweep is late")
		}
		if over := x.sweep(); len(over) != 1 || over[0] != (idleTime{"a", 1}) {
			t.Errorf("swept %v", over)
		}
		if len(x.sweep()) != 0 {
			t.Error("swept twice")
		}
	})
}

func TestNewIdleTimeReplacesTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExpiryIndex()
		x.rest("a", 1, time.Minute)
		time.Sleep(2 * time.Minute) // over, and not swept yet
		x.rest("a", 2, time.Minute)
		time.Sleep(time.Minute)
		if !x.alive("a") || len(x.sweep()) != 0 {
			t.Error("the earlier idle time counts")
		}
		time.Sleep(time.Minute)
		if over := x.sweep(); len(over) != 1 || over[0].generation != 2 {
			t.Errorf("swept %v", over)
		}
	})
}

func TestForgottenOneIsNotSwept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := newExpiryIndex()
		x.rest("a", 1, time.Minute)
		x.forget("a")
		x.forget("never there")
		time.Sleep(time.Hour)
		if over := x.sweep(); len(over) != 0 || x.alive("a") {
			t.Errorf("swept %v", over)
		}
	})
}

func TestWordOfAnEarlierIdleTimeIsIgnored(t *testing.T) {
	p := NewPool(nil, nil)
	defer p.Close(t.Context())
	c := &container{id: "a", kept: true, existed: true, ttl: time.Nanosecond}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live[c.id] = c
	p.hold(c)
	earlier := c.generation
	p.release(c)
	c.idleSince = c.idleSince.Add(-time.Hour) // its TTL has passed in any case
	p.idle.cache.Flush()
	for _, note := range []struct {
		generation uint64
		ends       bool
	}{{earlier, false}, {c.generation, true}} {
		p.idle.noted = []idleTime{{c.id, note.generation}}
		p.sweep()
		if c.retired != note.ends {
			t.Errorf("generation %d of %d: ended %v", note.generation, c.generation, c.retired)
		}
	}
}

// A step of the wall clock makes go-cache tell of idle times that are not
// over. The pool goes by the monotonic clock then.
func TestWallClockStepEndsNothingEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(nil, nil)
		defer p.Close(t.Context())
		c := &container{id: "a", kept: true, existed: true, ttl: time.Hour}
		p.mu.Lock()
		p.live[c.id] = c
		p.hold(c)
		p.release(c)
		p.idle.rest(c.id, c.generation, time.Nanosecond) // as if the clock were an hour on
		p.mu.Unlock()
		time.Sleep(2 * sweepInterval)
		p.mu.Lock()
		if c.retired || !p.idle.alive(c.id) {
			t.Error("ended early")
		}
		p.mu.Unlock()
		time.Sleep(time.Hour)
		p.mu.Lock()
		if !c.retired {
			t.Error("not ended after its TTL")
		}
		p.mu.Unlock()
	})
}
