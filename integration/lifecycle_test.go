package integration

import (
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
)

func TestReloadWhileCodeRuns(t *testing.T) {
	bothModes(t, func(t *testing.T, more string) {
		b := newBed(t, newTurns())
		execution := block(b.fake)
		b.start(behindProxy)
		body := strings.Replace(withSession("s"), `"model"`, strings.TrimPrefix(more+`,"model"`, ","), 1)
		running := make(chan *answer, 1)
		r := b.request(strings.NewReader(body))
		go func() {
			a, err := b.try(r)
			if err != nil {
				t.Errorf("the running request: %v", err)
			}
			running <- a
		}()
		inTime(t, "code runs", execution.started)
		// Other limits, the same sandbox; twice, for good measure.
		for _, options := range []string{"ttl 5m", "ttl 6m\n\tmax_containers 3"} {
			b.start(strings.Replace(behindProxy, "STANDARD", "STANDARD\n\t"+options, 1))
		}
		close(execution.release)
		if a := inTime(t, "the answer", running); a != nil {
			a.completed()
		}
		if said := b.post(body).completed(); !strings.Contains(said, "ran in 1:") {
			t.Errorf("the session's container is gone: %s", said)
		}
		if b.fake.Created() != 1 || b.fake.Deleted() != 0 {
			t.Errorf("%d containers were made, %d deleted", b.fake.Created(), b.fake.Deleted())
		}
	})
}

func TestOtherSandboxIsAnotherPool(t *testing.T) {
	b := newBed(t, newTurns()).start(behindProxy)
	b.post(withSession("s")).completed()
	name, fake := newFake()
	b.sandbox = "sandbox fake " + name
	b.speak(1) // on a new connection, since the old one leads to the old configuration
	b.start(behindProxy)
	b.post(withSession("s")).completed()
	eventually(t, "the old sandbox is empty", func() bool { return b.fake.Live() == 0 })
	if fake.Live() != 1 {
		t.Errorf("%d containers in the new sandbox", fake.Live())
	}
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	if fake.Live() != 0 {
		t.Errorf("%d containers are left", fake.Live())
	}
}

func TestFailedReloadChangesNothing(t *testing.T) {
	b := newBed(t, newTurns()).start(behindProxy)
	b.post(withSession("s")).completed()
	good := string(b.config(behindProxy))
	for _, bad := range []string{
		strings.Replace(good, `"tool_name"`, `"max_turns":1,"tool_name"`, 1),
		strings.Replace(good, `"tool_name"`, `"no_such":1,"tool_name"`, 1),
	} {
		if err := caddy.Load([]byte(bad), true); err == nil {
			t.Fatal("loaded")
		}
	}
	if said := b.post(withSession("s")).completed(); !strings.Contains(said, "ran in 1:") {
		t.Errorf("the session's container is gone: %s", said)
	}
}

func TestTwoHandlersShareTheirSandbox(t *testing.T) {
	b := newBed(t, newTurns()).start(`
handle /v1/* {
	code_interpreter {
		STANDARD
	}
	reverse_proxy UPSTREAM
}
handle_path /other/* {
	code_interpreter {
		STANDARD
		max_turns 5
	}
	reverse_proxy UPSTREAM
}`)
	for _, path := range []string{"/v1/responses", "/other/v1/responses"} {
		r := b.request(strings.NewReader(withSession("s")))
		r.URL.Path = path
		if said := b.do(r).completed(); !strings.Contains(said, "ran in 1:") {
			t.Errorf("%s: %s", path, said)
		}
	}
}

func TestNothingIsLeftAfterStop(t *testing.T) {
	b := newBed(t, newTurns()).start(behindProxy)
	for _, s := range []string{"a", "b", "c"} {
		b.post(withSession(s)).completed()
	}
	if b.fake.Live() != 3 {
		t.Errorf("%d sessions are kept", b.fake.Live())
	}
	if err := caddy.Stop(); err != nil {
		t.Fatal(err)
	}
	if b.fake.Live() != 0 {
		t.Errorf("%d containers are left", b.fake.Live())
	}
}

// caddy validate provisions and cleans up; no container may come of it.
func TestValidatingMakesNoContainer(t *testing.T) {
	b := newBed(t, newTurns())
	if err := validate(b.config(behindProxy)); err != nil {
		t.Fatal(err)
	}
	if b.fake.Created() != 0 {
		t.Errorf("%d containers", b.fake.Created())
	}
}
