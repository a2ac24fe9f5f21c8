package model

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const (
	codeTool     = `{"type":"function","name":"run","parameters":{"type":"object","properties":{"code":{"type":"string"}}}}`
	clientTool   = `{"type":"function","name":"lookup","parameters":{"type":"object","properties":{}}}`
	chatCodeTool = `{"type":"function","function":{"name":"run","parameters":{"type":"object","properties":{"code":{"type":"string"}}}}}`
	twoBlocks    = "Run:\\n```python\\nprint(1)\\n```\\nthen\\n```python\\nprint(2)\\n```"
)

// post sends a request and returns the status and the decoded answer.
func post(t *testing.T, m *Model, path, body string) (int, fields) {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	var answer fields
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return w.Code, answer
}

// output returns the items of a response that must have succeeded.
func output(t *testing.T, m *Model, body string) (items []fields, response fields) {
	t.Helper()
	status, response := post(t, m, "/v1/responses", body)
	if status != http.StatusOK {
		t.Fatalf("got %d %s", status, response["error"])
	}
	if err := json.Unmarshal(response["output"], &items); err != nil {
		t.Fatal(err)
	}
	return items, response
}

func kinds(items []fields) string {
	var names []string
	for _, item := range items {
		names = append(names, kindOf(item))
	}
	return strings.Join(names, " ")
}

// request is a Responses request with both tools.
func request(user, more string) string {
	return `{"model":"m","tools":[` + codeTool + `,` + clientTool + `],"input":"` + user + `"` + more + `}`
}

func TestScript(t *testing.T) {
	for name, test := range map[string]struct{ user, more, want string }{
		"no block":                {"hello", ``, "message"},
		"a block":                 {twoBlocks, ``, "function_call"},
		"tool_choice none":        {twoBlocks, `,"tool_choice":"none"`, "message"},
		"another tool is forced":  {twoBlocks, `,"tool_choice":{"type":"function","name":"lookup"}`, "function_call"},
		"required without block":  {"hello", `,"tool_choice":"required"`, "function_call"},
		"only others are allowed": {twoBlocks, `,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"lookup"}]}`, "message"},
		"reasoning and text":      {"[reasoning] [text]\\n" + twoBlocks, ``, "reasoning message function_call"},
		"parallel":                {"[parallel]\\n" + twoBlocks, ``, "function_call function_call"},
		"mixed":                   {"[mixed lookup]\\n" + twoBlocks, ``, "function_call function_call"},
	} {
		t.Run(name, func(t *testing.T) {
			items, _ := output(t, New(0), request(test.user, test.more))
			if got := kinds(items); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// turn answers the calls of a turn and returns the next one.
func turn(t *testing.T, m *Model, previous fields, calls []fields, result string) ([]fields, fields) {
	t.Helper()
	var outputs []object
	for _, call := range calls {
		if kindOf(call) == "function_call" {
			outputs = append(outputs, object{"type": "function_call_output", "call_id": call.text("call_id"), "output": result})
		}
	}
	return output(t, m, `{"model":"m","tools":[`+codeTool+`,`+clientTool+`],"previous_response_id":"`+
		previous.text("id")+`","input":`+string(marshal(outputs))+`}`)
}

func TestBlocksAreCalledOneATurn(t *testing.T) {
	m := New(0)
	items, response := output(t, m, request(twoBlocks, ``))
	if got := items[0].text("arguments"); got != `{"code":"print(1)\n"}` {
		t.Errorf("first call: %s", got)
	}
	items, response = turn(t, m, response, items, "1\n")
	if got := items[0].text("arguments"); got != `{"code":"print(2)\n"}` {
		t.Errorf("second call: %s", got)
	}
	items, _ = turn(t, m, response, items, "2\n")
	if got := contentText(items[0]["content"]); got != "The code printed:\n1\n2" {
		t.Errorf("message: %q", got)
	}
}

func TestRepairEndsWhenTheCodeWorks(t *testing.T) {
	for name, test := range map[string]struct{ result, want string }{
		"an error":  {"Traceback: ZeroDivisionError", "function_call"},
		"no errors": {"fine", "message"},
	} {
		t.Run(name, func(t *testing.T) {
			m := New(0)
			items, response := output(t, m, request("[repair]\\n"+twoBlocks, ``))
			items, _ = turn(t, m, response, items, test.result)
			if got := kinds(items); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestMixedTurnNamesTheClientsFunction(t *testing.T) {
	m := New(0)
	items, response := output(t, m, request("[mixed lookup]\\n```python\\nprint(1)\\n```", ``))
	items, _ = turn(t, m, response, items, "x")
	if got := contentText(items[0]["content"]); got != "The code printed:\nx\nlookup returned:\nx" {
		t.Errorf("got %q", got)
	}
}

func TestTokenLimitCutsACall(t *testing.T) {
	items, response := output(t, New(0), request(twoBlocks, `,"max_output_tokens":2`))
	if got := items[0].text("status"); got != "incomplete" || items[0].text("arguments") != `{"code":` {
		t.Errorf("got %s %s", got, items[0].text("arguments"))
	}
	if got := response.text("status"); got != "incomplete" {
		t.Errorf("got %s", got)
	}
}

// A strict upstream is what shows that a gateway's requests are right.
func TestRefusals(t *testing.T) {
	const call = `{"type":"function_call","call_id":"call_a","name":"run","arguments":"{}"}`
	input := func(items string) string { return `{"model":"m","input":[` + items + `]}` }
	messages := func(items string) string { return `{"model":"m","messages":[` + items + `]}` }
	for name, test := range map[string]struct{ path, body, want string }{
		"hosted tool":            {"/v1/responses", `{"model":"m","input":"x","tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`, "code_interpreter"},
		"hosted item":            {"/v1/responses", input(`{"type":"code_interpreter_call","id":"ci_1"}`), "code_interpreter_call"},
		"hosted include":         {"/v1/responses", `{"model":"m","input":"x","include":["code_interpreter_call.outputs"]}`, "include"},
		"hosted choice":          {"/v1/responses", `{"model":"m","input":"x","tool_choice":{"type":"code_interpreter"}}`, "code_interpreter"},
		"unknown parameter":      {"/v1/responses", `{"model":"m","input":"x","litellm_metadata":{}}`, "Unknown parameter: 'litellm_metadata'."},
		"unknown item member":    {"/v1/responses", input(`{"role":"user","content":"x","container_id":"y"}`), "container_id"},
		"call without output":    {"/v1/responses", input(call), "No tool output found for function call call_a."},
		"output without call":    {"/v1/responses", input(`{"type":"function_call_output","call_id":"call_a","output":"x"}`), "No tool call found"},
		"broken arguments":       {"/v1/responses", input(strings.Replace(call, `"{}"`, `"{"`, 1)), "must be a JSON object"},
		"lonely reasoning":       {"/v1/responses", input(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`), "without its required following item"},
		"unknown reasoning":      {"/v1/responses", input(`{"type":"reasoning","id":"rs_1","summary":[]}`), "not found"},
		"unknown reference":      {"/v1/responses", input(`{"type":"item_reference","id":"ci_1"}`), "not found"},
		"unknown response":       {"/v1/responses", `{"model":"m","input":"x","previous_response_id":"resp_1"}`, "Previous response with id 'resp_1' not found."},
		"same name twice":        {"/v1/responses", `{"model":"m","input":"x","tools":[` + codeTool + `,` + codeTool + `]}`, "unique"},
		"not JSON":               {"/v1/responses", `{`, "parse"},
		"chat: hosted tool":      {"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"x"}],"tools":[{"type":"code_interpreter"}]}`, "code_interpreter"},
		"chat: no tool message":  {"/v1/chat/completions", messages(`{"role":"assistant","tool_calls":[{"id":"call_a","type":"function","function":{"name":"run","arguments":"{}"}}]},{"role":"user","content":"x"}`), "call_a"},
		"chat: lonely tool":      {"/v1/chat/completions", messages(`{"role":"tool","tool_call_id":"call_a","content":"x"}`), "must be a response"},
		"chat: unknown member":   {"/v1/chat/completions", messages(`{"role":"assistant","content":"x","executed_tools":[]}`), "executed_tools"},
		"chat: broken arguments": {"/v1/chat/completions", messages(`{"role":"assistant","tool_calls":[{"id":"call_a","type":"function","function":{"name":"run","arguments":"{"}}]}`), "must be a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := post(t, New(0), test.path, test.body)
			if status/100 != 4 || !strings.Contains(string(answer["error"]), test.want) {
				t.Errorf("got %d %s, want an error with %q", status, answer["error"], test.want)
			}
		})
	}
}

// An item needs the reasoning that it came with, also when nothing is stored.
func TestItemNeedsItsReasoning(t *testing.T) {
	m := New(0)
	items, _ := output(t, m, request("[reasoning]\\n"+twoBlocks, `,"store":false,"include":["reasoning.encrypted_content"]`))
	result := object{"type": "function_call_output", "call_id": items[1].text("call_id"), "output": "1"}
	with := string(marshal([]any{items[0], items[1], result}))
	if status, answer := post(t, m, "/v1/responses", `{"model":"m","input":`+with+`}`); status != http.StatusOK {
		t.Errorf("with its reasoning: %d %s", status, answer["error"])
	}
	without := string(marshal([]any{items[1], result}))
	if status, answer := post(t, m, "/v1/responses", `{"model":"m","input":`+without+`}`); status != http.StatusBadRequest {
		t.Errorf("without its reasoning: %d %s", status, answer["error"])
	}
}

// event is a server-sent event.
type event struct {
	name string
	data fields
}

func readEvents(t *testing.T, m *Model, path, body string) (events []event, done bool) {
	t.Helper()
	w := httptest.NewRecorder()
	m.ServeHTTP(w, httptest.NewRequest("POST", path, strings.NewReader(body)))
	scanner := bufio.NewScanner(w.Body)
	scanner.Buffer(nil, 1<<20)
	var e event
	for scanner.Scan() {
		name, value, _ := strings.Cut(scanner.Text(), ": ")
		switch {
		case name == "event":
			e.name = value
		case name == "data" && value == "[DONE]":
			done = true
		case name == "data":
			if err := json.Unmarshal([]byte(value), &e.data); err != nil {
				t.Fatalf("%v in %s", err, value)
			}
			events = append(events, e)
			e = event{}
		}
	}
	return events, done
}

func TestResponseStream(t *testing.T) {
	events, done := readEvents(t, New(0), "/v1/responses", request("[reasoning] [text]\\n```python\\nprint('<&é😀\\\\n')\\n```", `,"stream":true`))
	if done {
		t.Error("a Responses stream has no [DONE]")
	}
	var arguments string
	var order []string
	for i, e := range events {
		if got := e.data.number("sequence_number"); got != i {
			t.Fatalf("event %d has sequence_number %d", i, got)
		}
		if e.name != e.data.text("type") {
			t.Fatalf("event %s has type %s", e.name, e.data.text("type"))
		}
		if e.data.has("delta") {
			length := len([]rune(e.data.text("delta"))) + len(e.data.text("obfuscation"))
			if length%16 != 0 {
				t.Errorf("a delta of %d characters with its obfuscation", length)
			}
		}
		if e.name == "response.function_call_arguments.delta" {
			arguments += e.data.text("delta")
		}
		if len(order) == 0 || order[len(order)-1] != e.name {
			order = append(order, e.name)
		}
	}
	want := strings.Fields(`response.created response.in_progress
		response.output_item.added response.reasoning_summary_part.added response.reasoning_summary_text.delta
		response.reasoning_summary_text.done response.reasoning_summary_part.done response.output_item.done
		response.output_item.added response.content_part.added response.output_text.delta
		response.output_text.done response.content_part.done response.output_item.done
		response.output_item.added response.function_call_arguments.delta response.function_call_arguments.done
		response.output_item.done response.completed`)
	if !slices.Equal(order, want) {
		t.Errorf("got  %q\nwant %q", order, want)
	}
	if arguments != `{"code":"print('<&é😀\\n')\n"}` {
		t.Errorf("the deltas add up to %s", arguments)
	}
}

func TestCompletionStream(t *testing.T) {
	body := `{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[` + chatCodeTool + `],"messages":[{"role":"user","content":"` + twoBlocks + `"}]}`
	events, done := readEvents(t, New(0), "/v1/chat/completions", body)
	if !done {
		t.Error("the stream does not end with [DONE]")
	}
	var arguments, finish string
	for _, e := range events {
		if length := len([]rune(string(marshal(e.data)))); length%16 != 1 {
			t.Errorf("a chunk of %d characters", length)
		}
		var choices []struct {
			Delta  json.RawMessage `json:"delta"`
			Finish string          `json:"finish_reason"`
		}
		_ = json.Unmarshal(e.data["choices"], &choices)
		for _, choice := range choices {
			var delta struct {
				ToolCalls []chatCall `json:"tool_calls"`
			}
			_ = json.Unmarshal(choice.Delta, &delta)
			for _, call := range delta.ToolCalls {
				arguments += call.Function.Arguments
			}
			finish += choice.Finish
		}
	}
	if arguments != `{"code":"print(1)\n"}` || finish != "tool_calls" {
		t.Errorf("got %s, finish_reason %s", arguments, finish)
	}
	if last := events[len(events)-1].data; !last.has("usage") || string(last["choices"]) != "[]" {
		t.Errorf("the last chunk has no usage: %s", marshal(last))
	}
}

func TestChatTurns(t *testing.T) {
	m := New(0)
	_, first := post(t, m, "/v1/chat/completions", `{"model":"m","tools":[`+chatCodeTool+`],"messages":[{"role":"user","content":"`+twoBlocks+`"}]}`)
	var choices []struct{ Message json.RawMessage }
	_ = json.Unmarshal(first["choices"], &choices)
	var message struct {
		ToolCalls []chatCall `json:"tool_calls"`
	}
	_ = json.Unmarshal(choices[0].Message, &message)
	if len(message.ToolCalls) != 1 {
		t.Fatalf("got %s", choices[0].Message)
	}
	status, second := post(t, m, "/v1/chat/completions", `{"model":"m","tool_choice":"none","tools":[`+chatCodeTool+`],"messages":[
		{"role":"user","content":"`+twoBlocks+`"},`+string(choices[0].Message)+`,{"role":"tool","tool_call_id":"`+message.ToolCalls[0].ID+`","content":"1"}]}`)
	if status != http.StatusOK || !bytes.Contains(second["choices"], []byte(`"The code printed:\n1"`)) {
		t.Errorf("got %d %s %s", status, second["error"], second["choices"])
	}
}

func TestStoredResponses(t *testing.T) {
	m := New(0)
	_, response := output(t, m, request("hello", ``))
	_, unstored := output(t, m, request("hello", `,"store":false`))
	do := func(method, path string) (int, string) {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, httptest.NewRequest(method, path, nil))
		return w.Code, w.Body.String()
	}
	id := response.text("id")
	if status, body := do("GET", "/v1/responses/"+id); status != http.StatusOK || !strings.Contains(body, id) {
		t.Errorf("GET: %d %s", status, body)
	}
	if status, body := do("GET", "/v1/responses/"+id+"/input_items"); status != http.StatusOK || !strings.Contains(body, "hello") {
		t.Errorf("input_items: %d %s", status, body)
	}
	if status, body := do("GET", "/v1/responses/"+unstored.text("id")); status != http.StatusNotFound {
		t.Errorf("GET of one that is not stored: %d %s", status, body)
	}
	if status, body := do("DELETE", "/v1/responses/"+id); status != http.StatusOK {
		t.Errorf("DELETE: %d %s", status, body)
	}
	if status, _ := do("GET", "/v1/responses/"+id); status != http.StatusNotFound {
		t.Errorf("GET after DELETE: %d", status)
	}
}

func TestJournalHidesCredentials(t *testing.T) {
	m := New(0)
	server := httptest.NewServer(m)
	defer server.Close()
	request, _ := http.NewRequest("POST", server.URL+"/v1/responses", strings.NewReader(`{"model":"m","input":"hello"}`))
	request.Header.Set("Authorization", "Bearer secret")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()

	listing, err := http.Get(server.URL + "/_requests")
	if err != nil {
		t.Fatal(err)
	}
	defer listing.Body.Close()
	text, _ := io.ReadAll(listing.Body)
	if bytes.Contains(text, []byte("secret")) || !bytes.Contains(text, []byte(Fingerprint("Bearer secret"))) {
		t.Errorf("got %s", text)
	}
	if requests := m.Requests(); len(requests) != 1 || string(requests[0].Body) != `{"model":"m","input":"hello"}` {
		t.Errorf("got %+v", requests)
	}
}
