package interceptor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

const auto = `{"type":"code_interpreter","container":{"type":"auto"}}`

// rewritten is what the first turn's body becomes.
func rewritten(t *testing.T, body string) string {
	t.Helper()
	b := newTestbed(t, script(completed("resp_1", msg("msg_1", "ok")).json()))
	if w := b.post(body); w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	return string(b.sent[0])
}

func refusal(t *testing.T, body string) map[string]any {
	t.Helper()
	b := newTestbed(t, script())
	w := b.post(body)
	if w.Code != 400 || len(b.sent) != 0 {
		t.Fatalf("status %d after %d turns: %s", w.Code, len(b.sent), w.Body)
	}
	return decode(t, w.Body.Bytes())["error"].(map[string]any)
}

// cases/litellm.md 1, A12; cases/reports.md 57.
func TestNativeToolBecomesOneFunction(t *testing.T) {
	other := `{ "type":"function", "name":"f","x": 1.50, "strict":null}`
	got := rewritten(t, `{"model":"m","input":"hi","tools":[`+other+`,`+auto+`,{"type":"web_search"},`+auto+`]}`)
	if strings.Contains(got, "code_interpreter") || strings.Count(got, internalName) != 1 {
		t.Errorf("upstream gets %s", got)
	}
	if !strings.Contains(got, other) || !strings.Contains(got, `{"type":"web_search"}`) {
		t.Errorf("another tool changed: %s", got)
	}
	tools := decode(t, []byte(got))["tools"].([]any)
	if len(tools) != 3 || tools[1].(map[string]any)["name"] != internalName {
		t.Errorf("tools are %v", tools)
	}
}

// cases/litellm.md A11.
func TestFunctionTakesAFreeName(t *testing.T) {
	for _, declared := range []string{
		fmt.Sprintf(`{"type":"function","name":%q}`, internalName),
		fmt.Sprintf(`{"type":"function","function":{"name":%q}}`, internalName),
		fmt.Sprintf(`{"type":"custom","name":%q},{"type":"function","name":"%s_2"}`, internalName, internalName),
	} {
		body := `{"model":"m","input":"hi","tools":[` + declared + `,` + auto + `]}`
		b := newTestbed(t, script())
		req, err := b.i.parseRequest(Request{Body: []byte(body)})
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(declared, `"`+req.toolName+`"`) || !strings.HasPrefix(req.toolName, internalName) {
			t.Errorf("for %s the name is %q", declared, req.toolName)
		}
		if !strings.Contains(string(req.base.Bytes()), declared) {
			t.Errorf("%s changed", declared)
		}
	}
}

// cases/litellm.md 3, 4, A9, A10.
func TestToolChoice(t *testing.T) {
	forced := fmt.Sprintf(`{"type":"function","name":%q}`, internalName)
	for sent, want := range map[string]string{
		`"auto"`:                      `"auto"`,
		`"none"`:                      `"none"`,
		`"required"`:                  `"required"`,
		`{"type":"code_interpreter"}`: forced,
		`{"type":"hosted_tool","name":"code_interpreter"}`: forced,
		`{"type":"function","name":"code_interpreter"}`:    `{"type":"function","name":"code_interpreter"}`,
		`{"type":"function","name":"f"}`:                   `{"type":"function","name":"f"}`,
		`{"type":"hosted_tool","name":"web_search"}`:       `{"type":"hosted_tool","name":"web_search"}`,
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"code_interpreter"},{"type":"code_interpreter"}]}`: `{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"code_interpreter"},` + forced + `]}`,
	} {
		got := rewritten(t, `{"model":"m","input":"hi","tools":[`+auto+`,{"type":"function","name":"code_interpreter"}],"tool_choice":`+sent+`}`)
		if !strings.HasSuffix(got, `"tool_choice":`+want+`}`) {
			t.Errorf("%s becomes %s", sent, got)
		}
	}
}

// cases/litellm.md A7, A8; decision 15.
func TestForcedChoiceIsFreeAfterTheFirstTurn(t *testing.T) {
	for sent, want := range map[string]string{
		`"auto"`: `"auto"`, `"none"`: `"none"`, `"required"`: `"auto"`,
		`{"type":"code_interpreter"}`: `"auto"`,
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"code_interpreter"}]}`: `{"mode":"auto","tools":[{"name":"` + internalName + `","type":"function"}],"type":"allowed_tools"}`,
	} {
		o := everyWay(t, ask("hi", `,"tool_choice":`+sent), nil,
			completed("resp_1", code("1", "a")), completed("resp_2", msg("msg_1", "ok")))
		if got := plain(o.sent(t, 2)["tool_choice"]); got != want {
			t.Errorf("after %s: %s", sent, got)
		}
		if got, _ := json.Marshal(o.response["tool_choice"]); plain(decode(t, []byte(`{"v":`+sent+`}`))["v"]) != string(got) {
			t.Errorf("%s is echoed as %s", sent, got)
		}
	}
	o := everyWay(t, ask("hi", ""), nil, completed("resp_1", code("1", "a")), completed("resp_2", msg("msg_1", "ok")))
	if _, ok := o.sent(t, 2)["tool_choice"]; ok {
		t.Error("a tool_choice was made up")
	}
}

// decision 2: what is not ours goes up as it came.
func TestEverythingElseSurvives(t *testing.T) {
	got := rewritten(t, `{"zeta":1e400,"model":"m","x":{"b":1,"a":12345678901234567890.10},"t":"\ud800 \u0041","input":[{"role":"user","content":"\ud83d"}],"tools":[`+auto+`],"alpha":null}`)
	for _, part := range []string{`{"zeta":1e400,"model":"m"`, `"x":{"b":1,"a":12345678901234567890.10}`, `"t":"\ud800 \u0041"`, `"content":"\ud83d"`, `"alpha":null`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is missing in %s", part, got)
		}
	}
}

// cases/litellm.md 14; escapes must not slip the tool past the rewrite.
func TestEscapedNamesAreUnderstood(t *testing.T) {
	body := `{"model":"m","input":"hi","\u0074ools":[{"typ\u0065":"code\u005finterpreter","container":{"type":"auto"}}]}`
	b := newTestbed(t, script())
	if !MayConcern([]byte(body), false) || !b.i.Inspect([]byte(body), someone) {
		t.Fatal("it passes the gate")
	}
	if got := rewritten(t, body); strings.Contains(got, "interpreter") || !strings.Contains(got, internalName) {
		t.Errorf("upstream gets %s", got)
	}
}

// decision 2: the first of two keys for us and the last for the upstream would
// let a tool past the rewrite.
func TestDuplicateKeysAreRefused(t *testing.T) {
	for _, body := range []string{
		`{"model":"m","input":"hi","tools":[` + auto + `],"tools":[]}`,
		`{"model":"m","input":"hi","tools":[],"t\u006fols":[` + auto + `]}`,
		`{"model":"m","input":"hi","tools":[{"type":"code_interpreter","type":"function","container":{"type":"auto"}}]}`,
		`{"model":"m","input":"hi","tools":[{"type":"code_interpreter","container":"cntr_foreign","container":{"type":"auto"}}]}`,
	} {
		b := newTestbed(t, script())
		if !b.i.Inspect([]byte(body), someone) {
			t.Errorf("%s passes the gate", body)
		}
		if e := refusal(t, body); !strings.Contains(e["message"].(string), "twice") {
			t.Errorf("%s: %v", body, e)
		}
	}
}

// cases/litellm.md 14, 15 and section 1.6.
func TestLiteLLMMetadataIsStripped(t *testing.T) {
	body := `{"model":"m","litellm_metadata":{"session_id":"s"},"metadata":{"a":"b"},"input":"hi","tools":[` + auto + `]}`
	if got := rewritten(t, body); strings.Contains(got, "litellm_metadata") || !strings.Contains(got, `"metadata":{"a":"b"}`) {
		t.Errorf("upstream gets %s", got)
	}
	b := newTestbed(t, script())
	b.i.Config.ForwardLiteLLMMetadata = true
	req, err := b.i.parseRequest(Request{Body: []byte(body)})
	if err != nil || !req.base.Has("litellm_metadata") {
		t.Errorf("it is not forwarded: %v", err)
	}
}

// cases/litellm.md B7, decision 12.
func TestInclude(t *testing.T) {
	for sent, want := range map[string]string{
		`,"include":["code_interpreter_call.outputs"]`:         `<nil>`,
		`,"include":["a","code_interpreter_call.outputs","b"]`: `[a b]`,
		`,"include":[]`:  `[]`,
		`,"store":false`: `[reasoning.encrypted_content]`,
		`,"store":false,"include":["reasoning.encrypted_content"]`:                                  `[reasoning.encrypted_content]`,
		`,"store":true,"include":["x"]`:                                                             `[x]`,
		`,"store":false,"include":["code_interpreter_call.outputs","message.output_text.logprobs"]`: `[message.output_text.logprobs reasoning.encrypted_content]`,
	} {
		got := decode(t, []byte(rewritten(t, ask("hi", sent))))
		if fmt.Sprint(got["include"]) != want {
			t.Errorf("%s becomes %v", sent, got["include"])
		}
	}
}
