package interceptor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// sentFor is the input that goes upstream for a client's.
func sentFor(t *testing.T, b *testbed, owner sandbox.Owner, input string) string {
	t.Helper()
	b.up, b.sent = script(completed("resp_9", msg("msg_9", "ok")).json()), nil
	w := b.postAs(owner, `{"model":"m","input":`+input+`,"tools":[`+auto+`]}`)
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	if strings.Contains(string(b.sent[0]), "code_interpreter") {
		t.Errorf("upstream gets %s", b.sent[0])
	}
	return plain(decode(t, b.sent[0])["input"])
}

// cases/litellm.md A4; cases/reports.md 45; wire/openai.md 1.3.
func TestHistoryItemsBecomeCallsWithOutputs(t *testing.T) {
	b := newTestbed(t, script(completed("resp_1", code("1", "a")).json(), completed("resp_2", msg("msg_1", "ok")).json()))
	b.response(ask("hi", ""))
	other := someone
	other.Value = "another"
	call := func(id, outputs string) string {
		return `[{"type":"code_interpreter_call","id":"` + id + `","status":"completed","container_id":"cntr_foreign","code":"x = 'é'","outputs":` + outputs + `}]`
	}
	want := func(n, output string) string {
		return `[{"arguments":"{\"code\":\"x = 'é'\"}","call_id":"call_` + n + `","id":"fc_` + n + `","name":"` + internalName + `","status":"completed","type":"function_call"},{"call_id":"call_` + n + `","output":"` + output + `","type":"function_call_output"}]`
	}
	for _, c := range []struct {
		name, input, want string
		owner             sandbox.Owner
	}{
		{"from the record", call("ci_1", "null"), want("1", `ran a\n`), someone},
		{"another owner's record", call("ci_1", "null"), want("1", `[The output of this execution is no longer available.]`), other},
		{"nobody's record", call("ci_1", "null"), want("1", `[The output of this execution is no longer available.]`), sandbox.Owner{}},
		{"from the item", call("ci_7", `[{"type":"logs","logs":"1"},{"type":"image","url":"data:"},{"type":"logs","logs":"2\n"}]`), want("7", `1\n[An image was shown to the user.]\n2\n`), someone},
		{"nothing put out", call("ci_7", `[]`), want("7", noOutput), someone},
		{"null and unknown", call("ci_7", `null`), want("7", `[The output of this execution is no longer available.]`), someone},
	} {
		if got := sentFor(t, b, c.owner, c.input); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestHistoryItemsWithoutIDs(t *testing.T) {
	b := newTestbed(t, nil)
	item := `{"type":"code_interpreter_call","code":null,"outputs":null}`
	sentFor(t, b, someone, `[`+item+`,`+item+`]`)
	input := decode(t, b.sent[0])["input"].([]any)
	first, second := input[0].(map[string]any), input[2].(map[string]any)
	if first["call_id"] == second["call_id"] || first["call_id"] != input[1].(map[string]any)["call_id"] {
		t.Errorf("upstream gets %v", input)
	}
	if _, ok := first["id"]; ok {
		t.Errorf("an id was made up: %v", first)
	}
}

// Servers refuse a call_id of more than 64 characters, and two of the same.
func TestLongHistoryIDsGiveDistinctCallIDs(t *testing.T) {
	b := newTestbed(t, nil)
	long := strings.Repeat("x", 80)
	item := func(end string) string {
		return `{"type":"code_interpreter_call","id":"ci_` + long + end + `","code":"a","outputs":null}`
	}
	sentFor(t, b, someone, `[`+item("1")+`,`+item("2")+`]`)
	input := decode(t, b.sent[0])["input"].([]any)
	first, second := input[0].(map[string]any)["call_id"].(string), input[2].(map[string]any)["call_id"].(string)
	if first == second || len(first) > 64 || len(second) > 64 || input[1].(map[string]any)["call_id"] != first {
		t.Errorf("upstream gets %v", input)
	}
}

// A reference to an item that the upstream does not know is expanded.
func TestItemReferenceToACallOfOurs(t *testing.T) {
	b := newTestbed(t, script(completed("resp_1", code("1", "a")).json(), completed("resp_2", msg("msg_1", "ok")).json()))
	b.response(ask("hi", ""))
	for _, ref := range []string{`{"type":"item_reference","id":"ci_1"}`, `{"id":"ci_1"}`} {
		got := sentFor(t, b, someone, `[{"type":"item_reference","id":"rs_1"},`+ref+`]`)
		want := `[{"id":"rs_1","type":"item_reference"},{"arguments":"{\"code\":\"a\"}","call_id":"call_1","id":"fc_1","name":"` + internalName + `","status":"completed","type":"function_call"},{"call_id":"call_1","output":"ran a\n","type":"function_call_output"}]`
		if got != want {
			t.Errorf("%s: upstream gets %s", ref, got)
		}
	}
}

// decision 13: a container in history that has ended is no error.
func TestExpiredContainerInHistoryIsNoError(t *testing.T) {
	b := newTestbed(t, script(completed("resp_1", code("1", "a")).json(), completed("resp_2", msg("msg_1", "ok")).json()))
	ended := itemOf(t, b.response(ask("hi", "")), "code_interpreter_call")["container_id"].(string)
	sentFor(t, b, someone, `[{"type":"code_interpreter_call","id":"ci_1","code":"a","container_id":"`+ended+`","outputs":null}]`)
}

func testRecord(owner sandbox.Owner, id string) *record {
	return &record{owner: owner, id: id, calls: map[string]callRecord{"ci_" + id: {output: "out"}}, response: responseRecord{upstreamID: "up_" + id}}
}

func TestRecordsExpire(t *testing.T) {
	r := NewRecords()
	now := time.Unix(1000, 0)
	r.now = func() time.Time { return now }
	r.keep(testRecord(someone, "1"), time.Minute)
	now = now.Add(time.Minute)
	if !r.Has(someone, "1") {
		t.Error("it is gone too early")
	}
	now = now.Add(time.Second)
	if _, ok := r.Call(someone, "ci_1"); ok || r.Has(someone, "1") || !r.Empty() || r.bytes != 0 {
		t.Error("it is still there")
	}
}

func TestRecordsAreBounded(t *testing.T) {
	r := NewRecords()
	r.keep(testRecord(sandbox.Owner{}, "anonymous"), time.Minute)
	if !r.Empty() {
		t.Error("nobody's response is kept")
	}
	for n := range maxRecords + 10 {
		owner := sandbox.Owner{Scope: "s", Kind: "key", Value: fmt.Sprint(n)}
		r.keep(testRecord(owner, "1"), time.Minute)
	}
	if r.order.Len() > maxRecords || len(r.responses) > maxRecords || len(r.calls) > maxRecords {
		t.Errorf("%d records are kept", r.order.Len())
	}
	for n := range 2 * maxRecordBytes / ownerRecordBytes {
		large := testRecord(sandbox.Owner{Scope: "s", Kind: "key", Value: fmt.Sprint("large", n)}, "1")
		large.response.final = make([]byte, ownerRecordBytes-1000)
		r.keep(large, time.Minute)
	}
	if r.bytes > maxRecordBytes {
		t.Errorf("%d bytes are kept", r.bytes)
	}
	r = NewRecords()
	r.keep(testRecord(someone, "1"), time.Minute)
	r.keep(testRecord(someone, "1"), time.Minute)
	if r.order.Len() != 1 {
		t.Error("a response is kept twice")
	}
	r.forget(someone, "1")
	if !r.Empty() || r.bytes != 0 {
		t.Error("a forgotten response is kept")
	}
}

// One owner's records never cost another its own, however many or large.
func TestRecordsOfOneOwnerLeaveAnothersAlone(t *testing.T) {
	other := sandbox.Owner{Scope: "s", Kind: "key", Value: "other"}
	r := NewRecords()
	r.keep(testRecord(someone, "1"), time.Minute)
	for n := range maxRecords + 10 {
		r.keep(testRecord(other, fmt.Sprint(n)), time.Minute)
	}
	if !r.Has(someone, "1") || r.Has(other, "0") || !r.Has(other, fmt.Sprint(maxRecords+9)) || r.order.Len() > ownerRecords+1 {
		t.Errorf("after many: %d are kept", r.order.Len())
	}
	large := testRecord(other, "large")
	large.response.final = make([]byte, maxRecordBytes+1)
	r.keep(large, time.Minute)
	if got, ok := r.Response(other, "large"); !ok || got.final != nil {
		t.Error("a response too large to retrieve cannot be continued")
	}
	ids := testRecord(other, "ids")
	ids.response.turns = []string{strings.Repeat("x", ownerRecordBytes+1)}
	r.keep(ids, time.Minute)
	if !r.Has(someone, "1") || r.Has(other, "ids") || r.bytes > maxRecordBytes {
		t.Errorf("after a large one: %d bytes are kept", r.bytes)
	}
}
