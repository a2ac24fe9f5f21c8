package integration

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// as sends a question under the credential and returns in which container of
// the fake it ran.
func (b *bed) as(authorization, body string, header ...string) (ranIn string, a *answer) {
	b.t.Helper()
	r := b.request(strings.NewReader(body))
	r.Header.Del("Authorization")
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	for n := 0; n < len(header); n += 2 {
		r.Header.Set(header[n], header[n+1])
	}
	a = b.do(r)
	_, rest, _ := strings.Cut(a.completed(), "ran in ")
	ranIn, _, _ = strings.Cut(rest, ":")
	return ranIn, a
}

func withSession(id string) string {
	return question(`,"metadata":{"session_id":"`+id+`"}`, simple)
}

func TestSessionIsItsIdentitysOwn(t *testing.T) {
	b := newBed(t, newTurns()).start(behindProxy)
	for n, c := range []struct {
		who, body, want string
		header          []string
	}{
		{"Bearer alice", withSession("s"), "1", nil},
		{"Bearer alice", withSession("s"), "1", nil},
		{"Bearer bob", withSession("s"), "2", nil},
		{"Bearer alice", withSession("t"), "3", nil},
		{"Bearer alice", withSession("s"), "1", nil},
		{"Bearer bob", withSession("s"), "2", nil},
		{"", withSession("s"), "4", []string{"X-Api-Key", "Bearer alice2"}},
		{"", withSession("s"), "4", []string{"X-Api-Key", "Bearer alice2"}},
		{"", withSession("s"), "5", []string{"Api-Key", "carol"}},
		{"Bearer alice", question(`,"litellm_metadata":{"session_id":"s"}`, simple), "1", nil},
		{"Bearer alice", question(`,"metadata":{"session_id":"t"},"litellm_metadata":{"session_id":"s"}`, simple), "3", nil},
		{"Bearer alice", question(`,"metadata":{"other":"s"}`, simple), "6", nil},
		{"Bearer alice", question(``, simple), "7", nil},
		{"", withSession("s"), "8", nil}, // nobody has no sessions
		{"", withSession("s"), "9", nil},
		// The body cannot say who it is of.
		{"Bearer bob", question(`,"metadata":{"session_id":"s","user_id":"alice"},"user":"alice","safety_identifier":"alice"`, simple), "2", nil},
	} {
		if got, _ := b.as(c.who, c.body, c.header...); got != c.want {
			t.Errorf("request %d ran in %s, not %s", n, got, c.want)
		}
	}
}

// Clients of a gateway that reads X-Api-Key may all send the same placeholder
// as their Authorization, since SDKs insist on one.
func TestEveryCredentialOfARequestCounts(t *testing.T) {
	b := newBed(t, newTurns()).start(behindProxy)
	for n, c := range []struct {
		want   string
		header []string
	}{
		{"1", []string{"X-Api-Key", "alice"}},
		{"2", []string{"X-Api-Key", "bob"}},
		{"3", nil},
		{"4", []string{"Api-Key", "alice"}},
		{"1", []string{"X-Api-Key", "alice"}},
		{"2", []string{"X-Api-Key", "bob"}},
	} {
		if got, _ := b.as("Bearer unused", withSession("s"), c.header...); got != c.want {
			t.Errorf("request %d ran in %s, not %s", n, got, c.want)
		}
	}
}

func TestContainerOfAnotherIdentityIsUnknown(t *testing.T) {
	up := newTurns()
	b := newBed(t, up).start(behindProxy)
	ranIn, a := b.as("Bearer alice", withSession("s"))
	named := strings.Replace(question("", simple), `{"type":"auto"}`, `"`+a.container()+`"`, 1)
	if got, _ := b.as("Bearer alice", named); got != ranIn {
		t.Errorf("ran in %s", got)
	}
	before := len(up.requests())
	for _, who := range []string{"Bearer bob", ""} {
		r := b.request(strings.NewReader(named))
		r.Header.Set("Authorization", who)
		e := b.do(r).refused(http.StatusNotFound)
		if want := "Container with id '" + a.container() + "' not found."; text(e["message"]) != want {
			t.Errorf("got %v", e)
		}
	}
	if len(up.requests()) != before {
		t.Error("the upstream was asked")
	}
	// In history it is passed over.
	history := `{"model":"m","input":[{"role":"user","content":"hi"},{"type":"code_interpreter_call","id":"ci_1","code":"1","container_id":"` +
		a.container() + `","status":"completed","outputs":[]},{"role":"user","content":"` + "```python\\n1\\n```" + `"}],` + tool + `}`
	if got, _ := b.as("Bearer bob", history); got == ranIn {
		t.Error("history opened another's container")
	}
	if got, _ := b.as("Bearer alice", history); got != ranIn {
		t.Errorf("history led to %s", got)
	}
}

func TestPlaceholdersSayWhoAndWhichSession(t *testing.T) {
	b := newBed(t, newTurns()).start(strings.Replace(behindProxy, "STANDARD", `STANDARD
	identity {http.request.header.X-User}
	session  {http.request.header.X-Session}`, 1))
	for n, c := range []struct{ user, session, want string }{
		{"alice", "s", "1"},
		{"alice", "s", "1"},
		{"bob", "s", "2"},
		{"", "s", "3"}, // an empty placeholder has no sessions
		{"", "s", "4"},
		{" ", "s", "5"},
		{"alice", "", "6"}, // nor has a request without one
		{"alice", "s", "1"},
	} {
		got, _ := b.as("Bearer shared", withSession("ignored"), "X-User", c.user, "X-Session", c.session)
		if got != c.want {
			t.Errorf("request %d ran in %s, not %s", n, got, c.want)
		}
	}
	// The credential does not count.
	if got, _ := b.as("Bearer rotated", question("", simple), "X-User", "alice", "X-Session", "s"); got != "1" {
		t.Errorf("ran in %s", got)
	}
}

func TestSessionIDsAreBounded(t *testing.T) {
	up := newTurns()
	b := newBed(t, up).start(behindProxy)
	b.post(withSession(strings.Repeat("x", 512))).completed()
	for member := range map[string]bool{"metadata": true, "litellm_metadata": true} {
		before := len(up.requests())
		e := b.post(question(`,"`+member+`":{"session_id":"`+strings.Repeat("x", 513)+`"}`, simple)).refused(http.StatusBadRequest)
		if e["param"] != member+".session_id" || len(up.requests()) != before {
			t.Errorf("got %v", e)
		}
	}
	b.speak(1) // on a new connection, since the old one leads to the old configuration
	b.start(strings.Replace(behindProxy, "STANDARD", "STANDARD\n\tsession {http.request.header.X-Session}", 1))
	r := b.request(strings.NewReader(question("", simple)))
	r.Header.Set("X-Session", strings.Repeat("y", 513))
	if e := b.do(r).refused(http.StatusBadRequest); e["param"] != "session" {
		t.Errorf("got %v", e)
	}
}

func TestParallelRequestsOfOneKeyAllSucceed(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		b := newBed(t, newTurns()).start(behindProxy)
		var all sync.WaitGroup
		answers := make([]*answer, 12)
		for n := range answers {
			r := b.request(strings.NewReader(question(more, fmt.Sprintf("print(%d, '%s')", n, hidden))))
			all.Go(func() { answers[n], _ = b.try(r) })
		}
		all.Wait()
		for n, a := range answers {
			if a == nil {
				t.Fatal("no answer")
			}
			if said := a.completed(); !strings.Contains(said, fmt.Sprintf("print(%d, ", n)) {
				t.Errorf("request %d got %q", n, said)
			}
		}
		if b.fake.Created() != 12 || b.fake.Overlaps() != 0 {
			t.Errorf("%d containers, %d overlaps", b.fake.Created(), b.fake.Overlaps())
		}
	})
}

func TestLeastRecentSessionGivesWay(t *testing.T) {
	b := newBed(t, newTurns()).start(strings.Replace(behindProxy, "STANDARD", "STANDARD\n\tsessions_per_identity 2", 1))
	for n, c := range []struct{ who, session, want string }{
		{"Bearer bob", "x", "1"},
		{"Bearer alice", "a", "2"},
		{"Bearer alice", "b", "3"},
		{"Bearer alice", "a", "2"},
		{"Bearer alice", "c", "4"}, // b gives way
		{"Bearer alice", "a", "2"},
		{"Bearer alice", "b", "5"},
		{"Bearer bob", "x", "1"},
	} {
		if got, _ := b.as(c.who, withSession(c.session)); got != c.want {
			t.Errorf("request %d ran in %s, not %s", n, got, c.want)
		}
	}
	eventually(t, "three containers live", func() bool { return b.fake.Live() == 3 })
}

func TestFullPoolIsSaidBeforeTheFirstTurn(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		up := newTurns()
		b := newBed(t, up)
		execution := block(b.fake)
		b.start(strings.Replace(behindProxy, "STANDARD", "STANDARD\n\tmax_containers 1", 1))
		first := make(chan *answer, 1)
		r := b.request(strings.NewReader(question(more, simple)))
		go func() {
			a, _ := b.try(r)
			first <- a
		}()
		inTime(t, "code runs", execution.started)
		before := len(up.requests())
		other := b.request(strings.NewReader(question(more, simple)))
		other.Header.Set("Authorization", "Bearer other")
		a := b.do(other)
		a.refused(http.StatusTooManyRequests)
		if a.header.Get("Retry-After") == "" || len(up.requests()) != before {
			t.Errorf("headers %v, %d turns", a.header, len(up.requests()))
		}
		close(execution.release)
		if a := inTime(t, "the first answer", first); a == nil {
			t.Error("the first request failed")
		} else {
			a.completed()
		}
		eventually(t, "there is room again", func() bool { return b.fake.Live() == 0 })
		b.post(question(more, simple)).completed()
	})
}
