package wirecheck

import (
	"slices"
	"strings"
	"testing"
)

func TestRecordingsPass(t *testing.T) {
	for _, name := range []string{"01", "03", "05", "09"} {
		if err := Check(Recording(name)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The helpers of the mutation tests must not break a stream by themselves.
func TestEditingPasses(t *testing.T) {
	for _, name := range []string{"01", "03", "05", "09"} {
		s := &stream{t, Recording(name)}
		for i := range s.events {
			s.edit(i, func(m object) { m["sequence_number"] = i })
		}
		if err := Check(s.events); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFailedCallPasses(t *testing.T) {
	for _, status := range []string{"failed", "incomplete"} {
		s := &stream{t, Recording("05")}
		s.drop(callEnds, 0)
		s.drop(interprets, 0)
		s.set(done, 0, "item.status", status)
		s.set(completed, 0, "response.output.0.status", status)
		if err := Check(s.events); err != nil {
			t.Errorf("%s: %v", status, err)
		}
	}
}

func TestEncryptedContentMayDiffer(t *testing.T) {
	s := &stream{t, Recording("03")}
	s.set(completed, 0, "response.output.0.encrypted_content", "x")
	if err := Check(s.events); err != nil {
		t.Error(err)
	}
}

func TestQuirks(t *testing.T) {
	want := map[string]string{
		"openai /v1/responses error": "",
		"lmstudio /v1/responses":     "is not the sum of the deltas",
	}
	for _, q := range Quirks() {
		events, err := ParseStream(q.SSE)
		if err != nil {
			t.Fatalf("%s: %v", q.Vendor, err)
		}
		err = Check(events)
		if broken, ok := want[q.Vendor]; !ok || (err == nil) != (broken == "") || err != nil && !strings.Contains(err.Error(), broken) {
			t.Errorf("%s: %v, want %q", q.Vendor, err, broken)
		}
		delete(want, q.Vendor)
	}
	if len(want) > 0 {
		t.Errorf("no quirks of %v", want)
	}
}

func TestFinal(t *testing.T) {
	for _, name := range []string{"01", "03", "05", "09"} {
		final, err := Final(Recording(name))
		if err != nil || final["status"] != "completed" || final["usage"].(map[string]any)["total_tokens"].(float64) < 1 {
			t.Errorf("%s: %v, %v", name, final["status"], err)
		}
	}
	for _, events := range [][]Event{
		nil, Recording("01")[:20], {{Type: completed, Data: []byte(`{}`)}}, {{Type: completed, Data: []byte(`{`)}},
	} {
		if final, err := Final(events); err == nil {
			t.Errorf("%d events end in %v", len(events), final)
		}
	}
}

func TestGrammar(t *testing.T) {
	got := Grammar(Recording("09"))
	want := []string{
		"response.created [response sequence_number type]",
		"response.in_progress [response sequence_number type]",
		"response.output_item.added [item output_index sequence_number type] item function_call [arguments call_id id name status type]",
		"response.function_call_arguments.delta [delta item_id obfuscation output_index sequence_number type]",
		"response.function_call_arguments.done [arguments item_id output_index sequence_number type]",
		"response.output_item.done [item output_index sequence_number type] item function_call [arguments call_id id name status type]",
		"response.completed [response sequence_number type]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	s := &stream{t, Recording("01")}
	s.set(textDelta, 3, "logprobs", absent{})
	if before, after := len(Grammar(Recording("01"))), len(Grammar(s.events)); after != before+2 {
		t.Errorf("a delta without a key leaves %d lines of %d", after, before)
	}
}

func TestParseStream(t *testing.T) {
	const frame = "event: a\ndata: {\"type\":\"a\"}\n\n"
	for in, n := range map[string]int{
		"": 0, frame: 1, frame + frame: 2, ": ping\n\n" + frame + ": a\n: b\n\n": 1, ":\n\n": 0,
	} {
		if events, err := ParseStream([]byte(in)); err != nil || len(events) != n {
			t.Errorf("%q: %d events, %v", in, len(events), err)
		}
	}
	for _, in := range []string{
		"data: [DONE]\n\n", "event: done\ndata: [DONE]\n\n", "data: {}\n\n", "event: a\n\n", "event: a\ndata: {}\n", "event: a\ndata: {}",
		"event: a\r\ndata: {}\r\n\r\n", "event: a\ndata: {}\r\n\n", "data: {}\nevent: a\n\n", "event:a\ndata:{}\n\n", "\n\n", "\n" + frame,
		frame + "\n", "event: a\nid: 1\ndata: {}\n\n", "event: a\ndata: {}\ndata: {}\n\n", "event: a\ndata: []\n\n", "event: a\ndata: {\n\n",
		": ping\nevent: a\ndata: {}\n\n", ": ping\n", ": ping\r\n\n", "retry: 1\n\n", "event: a\ndata: {\"a\":1,\"a\":2}\n\n",
	} {
		if events, err := ParseStream([]byte(frame + in)); err == nil {
			t.Errorf("%q is accepted as %d events", in, len(events))
		}
	}
}

func TestUnknownRecordingPanics(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Recording("00")
}
