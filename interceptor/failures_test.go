package interceptor

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

// toldThen runs one call and a message, and returns what the model was told.
func toldThen(t *testing.T, call string, prepare func(*testbed)) (outcome, string) {
	t.Helper()
	o := everyWay(t, ask("hi", withOutputs), prepare, completed("resp_1", call), completed("resp_2", msg("msg_1", "ok")))
	input := o.sentInput(t, 2)
	told, _ := input[len(input)-1].(map[string]any)["output"].(string)
	if o.response["status"] != "completed" {
		t.Errorf("the response is %v", o.response["status"])
	}
	return o, told
}

// cases/litellm.md 31, A19, B13: the model is told, nothing runs, and what is
// replayed parses.
func TestBadArgumentsAreToldToTheModel(t *testing.T) {
	for _, arguments := range []string{`null`, `"x"`, `[1]`, `5`, `{}`, `{"code":5}`, `{"code":"prin`, ``, `{"code":"a"}x`} {
		o, told := toldThen(t, fn("fc_1", "call_1", internalName, arguments), nil)
		if told != badArguments {
			t.Errorf("%s: the model is told %q", arguments, told)
		}
		if call := itemOf(t, o.response, "code_interpreter_call"); call["status"] != "failed" {
			t.Errorf("%s: the call is %v", arguments, call)
		}
		replayed := o.sentInput(t, 2)[1].(map[string]any)["arguments"].(string)
		if _, ok := readArguments(replayed); !ok {
			t.Errorf("%s is replayed as %s", arguments, replayed)
		}
		for _, b := range o.beds {
			if b.fake.Created() != 0 {
				t.Errorf("%s: a container was made", arguments)
			}
		}
	}
}

func TestCodeThatIsTooLong(t *testing.T) {
	o, told := toldThen(t, code("1", strings.Repeat("a", 2000)), func(b *testbed) { b.i.Config.MaxCode = 1000 })
	if told != codeTooLong || itemOf(t, o.response, "code_interpreter_call")["status"] != "failed" {
		t.Errorf("the model is told %q; %v", told, o.response)
	}
}

// cases/litellm.md 32, A20; decision 25.
func TestSandboxThatCannotBeMade(t *testing.T) {
	o, told := toldThen(t, code("1", "a"), func(b *testbed) {
		b.fake.OnCreate = func(context.Context, sandbox.Spec) error { return errors.New("secret cause") }
	})
	if told != sandboxFailed || itemOf(t, o.response, "code_interpreter_call")["status"] != "failed" {
		t.Errorf("the model is told %q; %v", told, o.response)
	}
	if strings.Contains(plain(o.response), "secret") {
		t.Error("the cause shows")
	}
}

type fakeRun = func(ctx context.Context, c *sandboxtest.FakeContainer, code string, emit func(sandbox.Output)) (sandbox.Result, error)

// cases/litellm.md 30, B4, B5; decision 16: what the code did is a result.
func TestOutcomesOfCode(t *testing.T) {
	result := func(r sandbox.Result, outputs ...sandbox.Output) fakeRun {
		return func(_ context.Context, _ *sandboxtest.FakeContainer, _ string, emit func(sandbox.Output)) (sandbox.Result, error) {
			for _, out := range outputs {
				emit(out)
			}
			return r, nil
		}
	}
	text := sandbox.Output{Kind: sandbox.Text, Text: "before\n"}
	for name, c := range map[string]struct {
		run  fakeRun
		told []string
	}{
		"raised": {result(sandbox.Result{Outcome: sandbox.Raised, Detail: "ZeroDivisionError: division by zero"}, text,
			sandbox.Output{Kind: sandbox.Traceback, Text: "Traceback\nZeroDivisionError: division by zero"}), []string{"before\nTraceback\nZeroDivisionError: division by zero\n"}},
		"value":   {result(sandbox.Result{}, sandbox.Output{Kind: sandbox.Value, Text: "42"}), []string{"42\n"}},
		"nothing": {result(sandbox.Result{}), []string{noOutput}},
		"died":    {result(sandbox.Result{Outcome: sandbox.Died, Detail: "interpreter died (SIGSEGV)", Lost: true}, text), []string{"before\n[Interpreter died (SIGSEGV). The interpreter's state is lost"}},
		"memory":  {result(sandbox.Result{Outcome: sandbox.OutOfMemory, Lost: true}), []string{"[The code ran out of memory. The interpreter's state is lost"}},
		"image": {result(sandbox.Result{}, sandbox.Output{Kind: sandbox.Image, MIME: "image/png", Data: []byte("PNG")}),
			[]string{"[An image was made and is available to the user: image/png, 3 bytes.]\n"}},
		"died without a word": {result(sandbox.Result{Outcome: sandbox.Died}), []string{"[The interpreter died. Variables"}},
	} {
		t.Run(name, func(t *testing.T) {
			o, told := toldThen(t, code("1", "a"), func(b *testbed) { b.fake.OnRun = c.run })
			for _, want := range c.told {
				if !strings.HasPrefix(told, want) {
					t.Errorf("the model is told %q, want %q", told, want)
				}
			}
			call := itemOf(t, o.response, "code_interpreter_call")
			if call["status"] != "completed" {
				t.Errorf("the call is %v", call)
			}
			if name == "image" && plain(call["outputs"]) != `[{"type":"image","url":"data:image/png;base64,UE5H"}]` {
				t.Errorf("outputs are %v", call["outputs"])
			}
			if name == "nothing" && plain(call["outputs"]) != `[]` {
				t.Errorf("outputs are %v", call["outputs"])
			}
		})
	}
}

func TestTimeOutIsToldToTheModel(t *testing.T) {
	_, told := toldThen(t, code("1", "while True: pass"), func(b *testbed) {
		b.i.Config.Limits.ExecTimeout = 300 * time.Millisecond
		b.fake.OnRun = func(ctx context.Context, _ *sandboxtest.FakeContainer, _ string, _ func(sandbox.Output)) (sandbox.Result, error) {
			<-ctx.Done()
			return sandbox.Result{Outcome: sandbox.Interrupted}, nil
		}
	})
	if !strings.HasPrefix(told, "[The code was stopped: it ran longer than 300ms. Variables and files of earlier calls are still there.]") {
		t.Errorf("the model is told %q", told)
	}
}

// cases/litellm.md D6: a container that is gone is made anew, and the model
// knows.
func TestLostStateIsToldToTheModel(t *testing.T) {
	o := everyWay(t, ask("hi", ""), func(b *testbed) {
		b.fake.OnRun = func(_ context.Context, c *sandboxtest.FakeContainer, code string, _ func(sandbox.Output)) (sandbox.Result, error) {
			if code == "die" {
				c.Kill()
				return sandbox.Result{Outcome: sandbox.Died, Detail: "interpreter died", Lost: true}, nil
			}
			return sandbox.Result{}, nil
		}
	}, completed("resp_1", code("1", "die"), code("2", "b")), completed("resp_2", msg("msg_1", "ok")))
	input := o.sentInput(t, 2)
	first, second := input[3].(map[string]any)["output"].(string), input[4].(map[string]any)["output"].(string)
	if !strings.Contains(first, "state is lost") || !strings.Contains(second, "started anew") && !strings.Contains(second, noOutput) {
		t.Errorf("the model is told %q and %q", first, second)
	}
}

// cases/litellm.md B12: cut in the middle, between runes.
func TestTruncate(t *testing.T) {
	long := strings.Repeat("é", 500) + strings.Repeat("ü", 500)
	for n := range 100 {
		got := truncate(long, n)
		if !utf8.ValidString(got) || len(got) > n+60 {
			t.Fatalf("%d: %q", n, got)
		}
		if n > 10 && (!strings.HasPrefix(got, "é") || !strings.HasSuffix(got, "ü")) {
			t.Fatalf("%d: %q", n, got)
		}
	}
	if truncate("abc", 3) != "abc" {
		t.Error("a text that fits is cut")
	}
}
