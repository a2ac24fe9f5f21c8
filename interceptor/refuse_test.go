package interceptor

import (
	"net/http"
	"strings"
	"testing"
)

// cases/litellm.md E1: never dropped in silence.
func TestContainersThatAreRefused(t *testing.T) {
	for container, want := range map[string][2]string{
		`null`:                                   {"tools[0].container", "missing_required_parameter"},
		`""`:                                     {"tools[0].container", "invalid_value"},
		`5`:                                      {"tools[0].container", "invalid_value"},
		`[]`:                                     {"tools[0].container", "invalid_value"},
		`{}`:                                     {"tools[0].container", "invalid_value"},
		`{"type":"manual"}`:                      {"tools[0].container", "invalid_value"},
		`"cntr_` + strings.Repeat("a", 60) + `"`: {"tools[0].container", "invalid_value"},
		`{"type":"auto","file_ids":["file-1"]}`:  {"tools[0].container.file_ids", "unsupported_parameter"},
		`{"type":"auto","memory_limit":"4g"}`:    {"tools[0].container.memory_limit", "unsupported_parameter"},
		`{"type":"auto","network_policy":{"type":"disabled"}}`: {"tools[0].container.network_policy", "unsupported_parameter"},
		`{"type":"auto","colour":1}`:                           {"tools[0].container.colour", "unknown_parameter"},
	} {
		e := refusal(t, `{"model":"m","input":"hi","tools":[{"type":"code_interpreter","container":`+container+`}]}`)
		if e["param"] != want[0] || e["code"] != want[1] || e["type"] != "invalid_request_error" {
			t.Errorf("%s: %v", container, e)
		}
	}
	e := refusal(t, `{"model":"m","input":"hi","tools":[{"type":"code_interpreter"}]}`)
	if e["code"] != "missing_required_parameter" {
		t.Errorf("without a container: %v", e)
	}
}

func TestContainersThatAreTaken(t *testing.T) {
	for _, container := range []string{
		`{"type":"auto"}`, `{"type":"auto","file_ids":[]}`, `{"type":"auto","file_ids":null,"memory_limit":null,"network_policy":null}`,
	} {
		rewritten(t, `{"model":"m","input":"hi","tools":[{"type":"code_interpreter","container":`+container+`}]}`)
	}
}

func TestRequestsThatAreRefused(t *testing.T) {
	for _, c := range []struct{ more, param string }{
		{`,"background":true`, "background"}, // cases/litellm.md A6
		{`,"stream":"yes"`, "stream"},
		{`,"max_tool_calls":-1`, "max_tool_calls"},
		{`,"max_tool_calls":"3"`, "max_tool_calls"},
		{`,"max_output_tokens":0`, "max_output_tokens"},
		{`,"max_output_tokens":1.5`, "max_output_tokens"},
	} {
		if e := refusal(t, ask("hi", c.more)); e["param"] != c.param {
			t.Errorf("%s: %v", c.more, e)
		}
	}
	if e := refusal(t, `{"model":"m","input":5,"tools":[`+auto+`]}`); e["param"] != "input" {
		t.Errorf("input 5: %v", e)
	}
	if e := refusal(t, `{"model":"m","input":"hi","tools":[`+auto+`,{"type":"container"}]}`); e["param"] != "tools[1].type" {
		t.Errorf("type container: %v", e)
	}
	// cases/litellm.md A12
	if e := refusal(t, `{"model":"m","input":"hi","tools":[`+auto+`,{"type":"code_interpreter","container":"cntr_1"}]}`); e["param"] != "tools[1].container" {
		t.Errorf("two containers: %v", e)
	}
	refusal(t, `{"tools":[`+auto+`]`)
}

// decision 9: a container that this pool did not mint is the upstream's.
func TestForeignContainerPassesTheGate(t *testing.T) {
	b := newTestbed(t, script(completed("resp_1", code("1", "a")).json(), completed("resp_2", msg("msg_1", "ok")).json()))
	mine := itemOf(t, b.response(ask("hi", "")), "code_interpreter_call")["container_id"].(string)
	for body, want := range map[string]bool{
		`{"tools":[{"type":"code_interpreter","container":"cntr_foreign"}]}`:                                                                          false,
		`{"tools":[{"type":"code_interpreter","container":"` + mine + `"}]}`:                                                                          true,
		`{"tools":[{"type":"code_interpreter","container":"cntr_foreign"},` + auto + `]}`:                                                             true,
		`{"tools":[{"type":"code_interpreter"}]}`:                                                                                                     true,
		`{"tools":[{"type":"function","name":"code_interpreter"}]}`:                                                                                   false,
		`{"input":"code_interpreter"}`:                                                                                                                false,
		`{"input":[{"type":"code_interpreter_call","container_id":"cntr_foreign"}]}`:                                                                  false,
		`{"input":[{"type":"code_interpreter_call","container_id":"` + mine + `"}]}`:                                                                  true,
		`{"input":[{"type":"code_interpreter_call","container_id":"` + mine + `"}],"tools":[{"type":"code_interpreter","container":"cntr_foreign"}]}`: true,
		`{"previous_response_id":"resp_1"}`:                                                                                                           true,
		`{"previous_response_id":"resp_2"}`:                                                                                                           false,
		`{"input":[{"type":"item_reference","id":"ci_1"}]}`:                                                                                           true,
		`{"input":[{"id":"ci_1"}]}`:                                                                                                                   true,
		`{"input":[{"type":"item_reference","id":"ci_2"}]}`:                                                                                           false,
		`{"input":[{"role":"user","id":"ci_1","content":"hi"}]}`:                                                                                      false,
		`{"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]`:                                                                          true, // cut, for parseRequest to refuse
		`[{"tools":[` + auto + `]}]`:                                                                                                                  false,
	} {
		if got := b.i.Inspect([]byte(body), someone); got != want {
			t.Errorf("%s: %v", body, got)
		}
		if want && !MayConcern([]byte(body), true) {
			t.Errorf("%s does not get to Inspect", body)
		}
	}
}

// wire/openai.md 5.4: an explicit id that is unknown is a 404.
func TestExplicitContainer(t *testing.T) {
	b := newTestbed(t, script(completed("resp_1", code("1", "a")).json(), completed("resp_2", msg("msg_1", "ok")).json()))
	mine := itemOf(t, b.response(ask("hi", "")), "code_interpreter_call")["container_id"].(string)
	body := `{"model":"m","input":"hi","tools":[{"type":"code_interpreter","container":"` + mine + `"}]}`
	if w := b.post(body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "expired") {
		t.Errorf("after its end: %d %s", w.Code, w.Body)
	}
	other := someone
	other.Value = "another"
	if w := b.postAs(other, body); w.Code != http.StatusNotFound {
		t.Errorf("for another owner: %d %s", w.Code, w.Body)
	}
}
