package wirecheck

import (
	"slices"
	"strings"
	"testing"
)

// mutations each break one invariant of a recording. In 01 the items are
// reasoning and call by turns, the message is number 7.
var mutations = []struct {
	name, recording, want string
	spoil                 func(*stream)
}{
	{"not JSON", "09", "not a strict JSON object", func(s *stream) { s.events[3].Data = []byte(`{"type":`) }},
	{"duplicate keys", "09", "duplicate", func(s *stream) { s.events[3].Data = []byte(`{"type":"a","type":"b"}`) }},
	{"invalid UTF-8", "09", "invalid UTF-8", func(s *stream) { s.events[3].Data = []byte("{\"type\":\"\xff\"}") }},
	{"type is not the SSE event", "01", "not the name of the SSE event", func(s *stream) { s.events[5].Type = textDelta }},
	{"sequence has a gap", "01", "sequence_number is 12, not 11", func(s *stream) { s.events = slices.Delete(s.events, 11, 12) }},
	{"sequence is a string", "01", "sequence_number is 0, not 0", func(s *stream) { s.set(created, 0, "sequence_number", "0") }},
	{"top-level error", "01", "top-level error key", func(s *stream) { s.set(textDelta, 3, "error", nil) }},
	{"unknown event", "01", "unknown event type", func(s *stream) {
		s.insert(5, Event{"response.code_interpreter_call.failed", []byte(`{"type":"response.code_interpreter_call.failed"}`)})
	}},

	{"no created", "01", "the first event is not response.created", func(s *stream) { s.drop(created, 0) }},
	{"created twice", "01", "response.created is not the first event", func(s *stream) { s.insert(1, s.events[0]) }},
	{"no in_progress", "01", "before response.in_progress", func(s *stream) { s.drop(inProgressT, 0) }},
	{"in_progress in mid-stream", "01", "response.in_progress is not at the start", func(s *stream) { s.insert(20, s.events[1]) }},
	{"queued too late", "01", "response.queued is not directly after", func(s *stream) {
		s.insert(2, Event{"response.queued", []byte(strings.Replace(string(s.events[1].Data), inProgressT, "response.queued", 1))})
	}},
	{"no terminal event", "01", "no terminal event", func(s *stream) { s.drop(completed, 0) }},
	{"two terminal events", "01", "after the terminal event", func(s *stream) { s.insert(len(s.events), s.events[len(s.events)-1]) }},
	{"event after the end", "01", "after the terminal event", func(s *stream) { s.swap(len(s.events)-1, len(s.events)-2) }},
	{"empty stream", "01", "no terminal event", func(s *stream) { s.events = nil }},
	{"error in mid-stream", "01", "error event is not directly before response.failed", func(s *stream) {
		s.insert(20, Event{"error", []byte(`{"type":"error","error":{"type":"t","code":"c","message":"m","param":null}}`)})
	}},
	{"flat error", "01", "error is <nil>", func(s *stream) { s.insert(20, Event{"error", []byte(`{"type":"error","message":"m"}`)}) }},

	{"response id changes", "01", "response.id is resp_2", func(s *stream) { s.set(completed, 0, "response.id", "resp_2") }},
	{"created_at changes", "01", "response.created_at is 1", func(s *stream) { s.set(completed, 0, "response.created_at", 1) }},
	{"created_at is a fraction", "01", "not a whole number", func(s *stream) { s.set(created, 0, "response.created_at", 1.5) }},
	{"model changes", "01", "response.model is x", func(s *stream) { s.set(inProgressT, 0, "response.model", "x") }},
	{"object", "01", "response.object", func(s *stream) { s.set(created, 0, "response.object", "x") }},
	{"status at the start", "01", "at the start", func(s *stream) { s.set(created, 0, "response.status", "completed") }},
	{"output at the start", "01", "response.output is not []", func(s *stream) { s.set(inProgressT, 0, "response.output", nil) }},
	{"usage at the start", "01", "response.usage is not null", func(s *stream) { s.set(created, 0, "response.usage", map[string]any{}) }},
	{"usage of another type", "01", "response.usage is not an object", func(s *stream) { s.set(completed, 0, "response.usage", 7) }},
	{"status at the end", "01", "in the terminal event", func(s *stream) { s.set(completed, 0, "response.status", "in_progress") }},
	{"error without failure", "01", "response.error", func(s *stream) {
		s.set(completed, 0, "response.error", map[string]any{"code": "c", "message": "m"})
	}},
	{"incomplete without a reason", "01", "response.incomplete_details", func(s *stream) {
		i := s.find(completed, 0)
		s.events[i] = Event{"response.incomplete", []byte(strings.Replace(string(s.events[i].Data), completed, "response.incomplete", 1))}
		s.set("response.incomplete", 0, "response.status", "incomplete")
	}},
	{"key added at the end", "01", "keys of the response", func(s *stream) { s.set(completed, 0, "response.billing", nil) }},
	{"key missing", "01", "no key max_tool_calls", func(s *stream) { s.set(created, 0, "response.max_tool_calls", absent{}) }},

	{"output lacks an item", "01", "response.output has 7 items, 8 were done", func(s *stream) {
		s.edit(s.find(completed, 0), func(m object) {
			r := m.obj("response")
			output, _ := r.list("output")
			r["output"] = output[1:]
		})
	}},
	{"output differs", "01", "response.output[1] differs from the done item in code", func(s *stream) {
		s.set(completed, 0, "response.output.1.code", "x")
	}},
	{"output differs in depth", "01", "response.output[7] differs from the done item in content", func(s *stream) {
		s.set(completed, 0, "response.output.7.content.0.text", "x")
	}},

	{"index jumps", "01", "output_index is 5, not 1", func(s *stream) { s.set(added, 1, "output_index", 5) }},
	{"index of an item's event", "01", "output_index is 0, not 1", func(s *stream) { s.set(codeDelta, 0, "output_index", 0) }},
	{"index missing", "01", "output_index is <nil>, not 1", func(s *stream) { s.set(callStarts, 0, "output_index", absent{}) }},
	{"items overlap", "01", "overlaps", func(s *stream) { s.swap(s.find(done, 0), s.find(added, 1)) }},
	{"item is never done", "01", "is not done", func(s *stream) { s.drop(done, -1) }},
	{"done without added", "01", "no item is open", func(s *stream) { s.drop(added, 0) }},
	{"event without an item", "01", "no item is open", func(s *stream) { s.swap(s.find(done, 1), s.find(callEnds, 0)) }},
	{"item id is empty", "01", "item id is empty", func(s *stream) { s.set(added, 1, "item.id", "") }},
	{"item id is repeated", "01", "is repeated", func(s *stream) {
		s.edit(s.find(added, 2), func(m object) { m.obj("item")["id"] = mustDecode(s.events[s.find(added, 0)]).obj("item")["id"] })
	}},
	{"item id changes", "01", "id of the done item is ci_2", func(s *stream) { s.set(done, 1, "item.id", "ci_2") }},
	{"item type changes", "01", "type of the done item is message", func(s *stream) { s.set(done, 1, "item.type", "message") }},
	{"item has no type", "01", "item has no type", func(s *stream) { s.set(added, 0, "item.type", absent{}) }},
	{"item_id of another item", "01", "item_id is", func(s *stream) { s.set(codeDelta, 4, "item_id", "ci_2") }},
	{"item_id missing", "01", `item_id is ""`, func(s *stream) { s.set(callStarts, 0, "item_id", absent{}) }},
	{"event of another item type", "01", "is not an event of a code_interpreter_call item", func(s *stream) {
		i := s.find(codeDelta, 0)
		s.events[i].Type = argsDelta
		s.edit(i, func(m object) { m["type"] = argsDelta })
	}},

	{"call starts late", "01", "out of order", func(s *stream) { s.swap(s.find(callStarts, 0), s.find(codeDelta, 0)) }},
	{"call does not start", "01", "out of order", func(s *stream) { s.drop(callStarts, 0) }},
	{"code delta after done", "01", "out of order", func(s *stream) { s.swap(s.find(codeDone, 0), s.find(codeDone, 0)-1) }},
	{"no code done", "01", "out of order", func(s *stream) { s.drop(codeDone, 1) }},
	{"no interpreting", "03", "out of order", func(s *stream) { s.drop(interprets, 0) }},
	{"interpreting twice", "03", "out of order", func(s *stream) { i := s.find(interprets, 0); s.insert(i, s.events[i]) }},
	{"call does not end", "05", "events of the call are missing", func(s *stream) { s.drop(callEnds, 0) }},
	{"failed call without code done", "05", "events of the call are missing", func(s *stream) {
		s.drop(callEnds, 0)
		s.drop(interprets, 0)
		s.drop(codeDone, 0)
		s.set(done, 0, "item.status", "failed")
	}},
	{"code delta is lost", "01", "is not the sum of the deltas", func(s *stream) { s.drop(codeDelta, 7) }},
	{"code done differs", "01", "is not the sum of the deltas", func(s *stream) { s.set(codeDone, 0, "code", "x") }},
	{"code of the item differs", "01", "code of the done item is not the sum", func(s *stream) { s.set(done, 1, "item.code", "x") }},
	{"delta is no string", "01", "delta is <nil>, not a string", func(s *stream) { s.set(codeDelta, 0, "delta", nil) }},
	{"call added with code", "01", "code of an added code_interpreter_call", func(s *stream) { s.set(added, 1, "item.code", "x") }},
	{"call added as completed", "01", "status of an added code_interpreter_call", func(s *stream) { s.set(added, 1, "item.status", "completed") }},
	{"call done as interpreting", "01", "status of a done code_interpreter_call", func(s *stream) { s.set(done, 1, "item.status", "interpreting") }},
	{"container of another form", "01", "does not begin with cntr_", func(s *stream) { s.set(added, 1, "item.container_id", "c1") }},
	{"container changes in a call", "01", "container_id of the done item", func(s *stream) { s.set(done, 1, "item.container_id", "cntr_2") }},
	{"container changes between calls", "01", "the call before had", func(s *stream) { s.set(added, 3, "item.container_id", "cntr_2") }},
	{"no outputs key when added", "01", "code_interpreter_call has the keys", func(s *stream) { s.set(added, 1, "item.outputs", absent{}) }},
	{"no outputs key when done", "03", "code_interpreter_call has the keys", func(s *stream) { s.set(done, 1, "item.outputs", absent{}) }},
	{"a key of ours in a call", "01", "code_interpreter_call has the keys", func(s *stream) { s.set(added, 1, "item.call_id", "call_1") }},
	{"outputs when added", "01", "outputs of an added call are not empty", func(s *stream) { s.set(added, 1, "item.outputs", []any{1}) }},
	{"outputs of another type", "01", "neither null nor a list", func(s *stream) { s.set(done, 1, "item.outputs", "x") }},
	{"outputs null in one call", "01", "include decides", func(s *stream) { s.set(done, 1, "item.outputs", nil) }},
	{"outputs without include", "03", "include decides", func(s *stream) { s.set(done, 1, "item.outputs", []any{}) }},
	{"unknown output", "01", "outputs[0] is neither logs nor an image", func(s *stream) {
		s.set(done, 1, "item.outputs", []any{map[string]any{"type": "error", "error": "x"}})
	}},
	{"image without a url", "01", "outputs[0] is neither logs nor an image", func(s *stream) {
		s.set(done, 1, "item.outputs", []any{map[string]any{"type": "image"}})
	}},

	{"text delta is lost", "01", "is not the sum of the deltas", func(s *stream) { s.drop(textDelta, 9) }},
	{"text of the part differs", "01", "text of the done part", func(s *stream) { s.set(partDone, 0, "part.text", "x") }},
	{"text of the item differs", "01", "content[0] of the done item differs from the done part in text", func(s *stream) {
		s.set(done, -1, "item.content.0.text", "x")
	}},
	{"no part added", "01", "no part is open", func(s *stream) { s.drop(partAdded, 0) }},
	{"part is not done", "01", "part 0 is not done", func(s *stream) { s.drop(partDone, 0) }},
	{"text is not done", "01", "the text of the part is not done", func(s *stream) { s.drop(textDone, 0) }},
	{"text done twice", "01", "done twice", func(s *stream) { i := s.find(textDone, 0); s.insert(i, s.events[i]) }},
	{"text delta after done", "09", "delta after done", func(s *stream) { s.swap(s.find(argsDone, 0), s.find(argsDelta, -1)) }},
	{"content_index jumps", "01", "content_index is 1, not 0", func(s *stream) { s.set(partAdded, 0, "content_index", 1) }},
	{"content_index of a delta", "01", "content_index is 1, the open part is 0", func(s *stream) { s.set(textDelta, 0, "content_index", 1) }},
	{"second part too early", "01", "the part before is not done", func(s *stream) { i := s.find(partAdded, 0); s.insert(i, s.events[i]) }},
	{"part with text when added", "01", "text of an added part", func(s *stream) { s.set(partAdded, 0, "part.text", "x") }},
	{"part with annotations when added", "01", "annotations of an added part", func(s *stream) { s.set(partAdded, 0, "part.annotations", nil) }},
	{"part of another type", "01", "the open part is of type", func(s *stream) { s.set(partAdded, 0, "part.type", "refusal") }},
	{"part changes its type", "01", "type of the done part", func(s *stream) { s.set(partDone, 0, "part.type", "refusal") }},
	{"message with content when added", "01", "content of an added message", func(s *stream) { s.set(added, -1, "item.content", nil) }},
	{"message of the user", "01", "role of an added message", func(s *stream) { s.set(added, -1, "item.role", "user") }},
	{"message done in progress", "01", "status of a done message", func(s *stream) { s.set(done, -1, "item.status", "in_progress") }},
	{"message without a part", "01", "content of the done item has 0 parts", func(s *stream) { s.set(done, -1, "item.content", []any{}) }},
	{"message without content", "01", "content of the done item is not a list", func(s *stream) { s.set(done, -1, "item.content", nil) }},

	{"annotation_index from 1", "01", "annotation_index is 1, not 0", func(s *stream) { s.set(annotation, 0, "annotation_index", 1) }},
	{"annotation twice", "01", "annotation_index is 0, not 1", func(s *stream) { i := s.find(annotation, 0); s.insert(i, s.events[i]) }},
	{"annotation not announced", "01", "annotations of the done part", func(s *stream) { s.drop(annotation, 0) }},
	{"annotation too late", "01", "annotation after the text is done", func(s *stream) { s.swap(s.find(annotation, 0), s.find(textDone, 0)) }},
	{"annotation too early", "01", "delta after an annotation", func(s *stream) { s.swap(s.find(annotation, 0), s.find(textDelta, -1)) }},
	{"citation lacks a field", "01", "container_file_citation has the keys", func(s *stream) { s.set(annotation, 0, "annotation.filename", absent{}) }},

	{"obfuscation elsewhere", "01", "obfuscation on an event that is no delta", func(s *stream) { s.set(codeDone, 0, "obfuscation", "x") }},
	{"obfuscation too short", "01", "does not pad the delta", func(s *stream) { s.set(textDelta, 0, "obfuscation", "") }},
	{"obfuscation too long", "01", "does not pad the delta", func(s *stream) {
		s.edit(s.find(textDelta, 0), func(m object) { m["obfuscation"] = m.str("obfuscation") + strings.Repeat("x", 16) })
	}},
	{"obfuscation of other characters", "01", "not of letters and digits", func(s *stream) {
		s.edit(s.find(textDelta, 0), func(m object) { m["obfuscation"] = strings.Repeat("-", len(m.str("obfuscation"))) })
	}},

	{"arguments delta is lost", "09", "is not the sum of the deltas", func(s *stream) { s.drop(argsDelta, 2) }},
	{"no arguments done", "09", "arguments.done event is missing", func(s *stream) { s.drop(argsDone, 0) }},
	{"arguments of the item differ", "09", "arguments of the done item", func(s *stream) { s.set(done, 0, "item.arguments", "{}") }},
	{"call_id changes", "09", "call_id of the done item", func(s *stream) { s.set(done, 0, "item.call_id", "call_2") }},
	{"call_id is empty", "09", "call_id is empty", func(s *stream) { s.set(added, 0, "item.call_id", "") }},
	{"function has no name", "09", "name of a function_call is empty", func(s *stream) { s.set(added, 0, "item.name", "") }},
	{"function added with arguments", "09", "arguments of an added function_call", func(s *stream) { s.set(added, 0, "item.arguments", "{") }},
	{"function done in progress", "09", "status of a done function_call", func(s *stream) { s.set(done, 0, "item.status", "in_progress") }},

	{"summary delta without a part", "03", "no part is open", func(s *stream) { s.drop(summaryPart, 0) }},
	{"summary text differs", "03", "is not the sum of the deltas", func(s *stream) { s.set(summaryDone, 0, "text", "x") }},
	{"summary of the item differs", "03", "summary[0] of the done item differs", func(s *stream) { s.set(done, 0, "item.summary.0.text", "x") }},
	{"no summary", "01", "summary of the done item is not a list", func(s *stream) { s.set(done, 0, "item.summary", absent{}) }},
	{"summary when added", "03", "summary of an added reasoning item", func(s *stream) { s.set(added, 0, "item.summary", nil) }},
}

func TestMutationsFail(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			s := &stream{t, Recording(m.recording)}
			m.spoil(s)
			if err := Check(s.events); err == nil || !strings.Contains(err.Error(), m.want) {
				t.Errorf("got %.2000v, want something with %q", err, m.want)
			}
		})
	}
}
