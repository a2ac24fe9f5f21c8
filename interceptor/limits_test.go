package interceptor

import (
	"strings"
	"testing"
	"time"
)

// incomplete is a turn that the token limit cut.
func incomplete(id string, items ...string) answer {
	return answer{id, "incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`, items}
}

// cases/litellm.md 71, 72, A13, A17, A18: the last turn goes without the tool.
func TestLimitsEndInAnAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		more    string
		prepare func(*testbed)
	}{
		"max_turns":       {"", func(b *testbed) { b.i.Config.MaxTurns = 2 }},
		"max_executions":  {"", func(b *testbed) { b.i.Config.MaxExecutions = 1 }},
		"max_tool_calls":  {`,"max_tool_calls":1`, nil},
		"request_timeout": {"", func(b *testbed) { b.i.Config.RequestTimeout = -time.Second }},
	} {
		t.Run(name, func(t *testing.T) {
			o := everyWay(t, ask("hi", c.more), c.prepare, completed("resp_1", code("1", "a")), completed("resp_2", msg("msg_1", "ok")))
			if got := o.sent(t, 2)["tool_choice"]; got != "none" {
				t.Errorf("the last turn's tool_choice is %v", got)
			}
			if o.response["status"] != "completed" || types(o.response) != "code_interpreter_call message" {
				t.Errorf("the response is %v", o.response)
			}
			o = everyWay(t, ask("hi", c.more), c.prepare, completed("resp_1", code("1", "a")), completed("resp_2", code("2", "b")))
			if o.response["status"] != "incomplete" || types(o.response) != "code_interpreter_call code_interpreter_call" {
				t.Errorf("after a call all the same: %v", o.response)
			}
			for _, b := range o.beds {
				if got := b.fake.Created(); got > 1 || got == 1 && len(b.fake.Containers()[0].Codes()) != 1 {
					t.Errorf("the last call ran")
				}
			}
		})
	}
}

func TestMaxToolCallsIsOverTheSum(t *testing.T) {
	o := everyWay(t, ask("hi", `,"max_tool_calls":2`+withOutputs), nil,
		completed("resp_1", code("1", "a"), code("2", "b"), code("3", "c")), completed("resp_2", msg("msg_1", "ok")))
	items := o.response["output"].([]any)
	if got := items[2].(map[string]any); got["status"] != "incomplete" || got["code"] != "c" {
		t.Errorf("the third call is %v", got)
	}
	input := o.sentInput(t, 2)
	if told := input[len(input)-1].(map[string]any)["output"]; told != limitReached {
		t.Errorf("the model is told %v", told)
	}
	none := everyWay(t, ask("hi", `,"max_tool_calls":0`), nil, completed("resp_1", msg("msg_1", "ok")))
	if sent := none.sent(t, 1); sent["tool_choice"] != "none" || sent["max_tool_calls"] != nil {
		t.Errorf("with none allowed upstream gets %v", sent)
	}
}

// cases/reports.md: a call that was cut off must never run.
func TestCallCutByTheTokenLimitNeverRuns(t *testing.T) {
	o := everyWay(t, ask("hi", ""), nil, incomplete("resp_1", msg("msg_1", "I"), code("1", "rm("), fn("fc_2", "call_2", internalName, `{"code":"prin`)))
	if o.response["status"] != "incomplete" || types(o.response) != "message code_interpreter_call code_interpreter_call" {
		t.Errorf("the response is %v", o.response)
	}
	if plain(o.response["incomplete_details"]) != `{"reason":"max_output_tokens"}` {
		t.Errorf("the reason is %v", o.response["incomplete_details"])
	}
	for _, b := range o.beds {
		if b.fake.Created() != 0 {
			t.Error("code ran")
		}
	}
}

func TestMaxOutputTokensIsOverTheSum(t *testing.T) {
	o := everyWay(t, ask("hi", `,"max_output_tokens":30`), nil, completed("resp_1", code("1", "a")), completed("resp_2", msg("msg_1", "ok")))
	if got := o.sent(t, 2)["max_output_tokens"]; got != 25.0 {
		t.Errorf("the second turn may use %v", got)
	}
	if got := o.response["max_output_tokens"]; got != 30.0 {
		t.Errorf("the echo is %v", got)
	}
	o = everyWay(t, ask("hi", `,"max_output_tokens":20`), nil, completed("resp_1", code("1", "a")))
	if o.response["status"] != "incomplete" || plain(o.response["incomplete_details"]) != `{"reason":"max_output_tokens"}` {
		t.Errorf("with too few left: %v", o.response)
	}
}

// A failed response never runs code, whatever its items say.
func TestFailedTurnNeverRunsCode(t *testing.T) {
	for _, status := range []string{"failed", "cancelled"} {
		for _, e := range []string{`,"error":null`, `,"error":{"code":"server_error","message":"` + internalName + ` broke"}`} {
			o := everyWay(t, ask("hi", ""), nil, answer{"resp_1", status, e, []string{code("1", "a")}})
			if o.response["status"] != "failed" {
				t.Errorf("%s%s: %v", status, e, o.response)
			}
			for _, b := range o.beds {
				if b.fake.Created() != 0 {
					t.Errorf("%s%s: code ran", status, e)
				}
			}
		}
	}
}

// A model that imitates its history must not run code for a client that gave
// it no tool.
func TestCallWithoutTheToolIsNotRun(t *testing.T) {
	b := newTestbed(t, script(
		completed("resp_1", code("1", "a")).json(), completed("resp_2", msg("msg_1", "ok")).json(),
		completed("resp_3", code("2", "b")).json(), completed("resp_4", msg("msg_2", "ok")).json()))
	b.response(ask("hi", ""))
	r := b.response(`{"model":"m","input":"more","previous_response_id":"resp_1"}`)
	if got := itemOf(t, r, "code_interpreter_call"); got["status"] != "failed" || b.fake.Created() != 1 {
		t.Errorf("the call is %v", got)
	}
	if !strings.Contains(string(b.sent[3]), "not available for this request") {
		t.Errorf("the model is told %s", b.sent[3])
	}
}
