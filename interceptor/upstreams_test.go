package interceptor

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// sameAs demands that frames of an odd upstream come to the same output as the
// turn that they were made of, for a client that streams and one that does not.
func sameAs(t *testing.T, name string, turn answer, frames ...string) {
	t.Helper()
	last := completed("resp_2", msg("msg_9", "ok"))
	b := newTestbed(t, script(turn.json(), last.json()))
	want := plain(b.response(ask("hi", withOutputs))["output"])
	ids := regexp.MustCompile(`"id":"[^"]*"`)
	want = ids.ReplaceAllString(want, "id")
	for _, more := range []string{"", `,"stream":true`} {
		b.up, b.sent = script(strings.Join(frames, ""), last.stream()), nil
		w := b.post(ask("hi", withOutputs+more))
		var r map[string]any
		if more == "" {
			r = decode(t, w.Body.Bytes())
		} else {
			r = terminal(t, clientEvents(t, w.Body.String()))
		}
		if got := ids.ReplaceAllString(plain(r["output"]), "id"); got != want {
			t.Errorf("%s%s:\n got %s\nwant %s", name, more, got, want)
		}
		for _, v := range r["output"].([]any) {
			if v.(map[string]any)["id"] == "" {
				t.Errorf("%s: an id is empty", name)
			}
		}
	}
}

// edited applies an edit to the data of every frame.
func edited(frames []string, edit func(m map[string]any) bool) []string {
	var out []string
	for _, f := range frames {
		head, data, _ := strings.Cut(strings.TrimSuffix(f, "\n\n"), "\ndata: ")
		var m map[string]any
		if err := json.Unmarshal([]byte(data), &m); err != nil {
			panic(err)
		}
		if edit(m) {
			b, _ := json.Marshal(m)
			out = append(out, head+"\ndata: "+string(b)+"\n\n")
		}
	}
	return out
}

// wire/openai.md 4.3: shapes that other servers stream.
func TestOddUpstreams(t *testing.T) {
	turn := completed("resp_1", thought("rs_1", ""), msg("msg_1", "Let me see."), code("1", "print(12345)"), code("2", "b"))
	for name, edit := range map[string]func(m map[string]any) bool{
		"no output_index (llama.cpp)": func(m map[string]any) bool { delete(m, "output_index"); delete(m, "sequence_number"); return true },
		"one output_index for all (Ollama)": func(m map[string]any) bool {
			if _, ok := m["output_index"]; ok {
				m["output_index"] = 0
			}
			return true
		},
		"no item ids": func(m map[string]any) bool {
			delete(m, "item_id")
			withoutIDs(m)
			return true
		},
		"neither": func(m map[string]any) bool {
			if delete(m, "output_index"); m["item_id"] != nil {
				m["item_id"] = ""
			}
			withoutIDs(m)
			return true
		},
		"no deltas (LM Studio)": func(m map[string]any) bool { return m["type"] != "response.function_call_arguments.delta" },
		"no arguments events":   func(m map[string]any) bool { return !strings.Contains(m["type"].(string), "arguments") },
		"no done events":        func(m map[string]any) bool { return m["type"] != "response.output_item.done" },
		"nothing but done events": func(m map[string]any) bool {
			return m["type"] == "response.output_item.done" || m["type"] == "response.completed"
		},
		"nothing but the end": func(m map[string]any) bool { return m["type"] == "response.completed" },
		"no created": func(m map[string]any) bool {
			return m["type"] != "response.created" && m["type"] != "response.in_progress"
		},
		"an empty final output": func(m map[string]any) bool {
			if m["type"] == "response.completed" {
				m["response"].(map[string]any)["output"] = []any{}
			}
			return true
		},
		"the message is not in the final output (Ollama)": func(m map[string]any) bool {
			if m["type"] == "response.completed" {
				r := m["response"].(map[string]any)
				r["output"] = r["output"].([]any)[2:]
				withoutIDs(m)
			}
			return true
		},
		"other ids in the final output": func(m map[string]any) bool {
			if m["type"] == "response.completed" {
				for _, v := range m["response"].(map[string]any)["output"].([]any) {
					v.(map[string]any)["id"] = v.(map[string]any)["id"].(string) + "x"
				}
			}
			return true
		},
		"the name comes late": func(m map[string]any) bool {
			if item, ok := m["item"].(map[string]any); ok && m["type"] == "response.output_item.added" && item["name"] != nil {
				item["name"] = ""
			}
			return true
		},
	} {
		sameAs(t, name, turn, edited(turn.events(), edit)...)
	}
}

func withoutIDs(m map[string]any) {
	if item, ok := m["item"].(map[string]any); ok {
		delete(item, "id")
	}
	if r, ok := m["response"].(map[string]any); ok {
		for _, v := range r["output"].([]any) {
			delete(v.(map[string]any), "id")
		}
	}
}

func insert(frames []string, before, frame string) []string {
	var out []string
	for _, f := range frames {
		if strings.Contains(f, `"type":"`+before+`"`) {
			out = append(out, frame)
		}
		out = append(out, f)
	}
	return out
}

// cases/litellm.md E7; wire/openai.md 0.10.
func TestStrayEvents(t *testing.T) {
	turn := completed("resp_1", msg("msg_1", "see"), code("1", "a"))
	for name, frame := range map[string]string{
		"a vendor's event":           "event: vendor.progress\ndata: {\"type\":\"vendor.progress\",\"done\":0.5}\n\n",
		"garbage":                    "event: x\ndata: {garbage\n\n",
		"an array":                   "data: []\n\n",
		"a comment":                  ": OPENROUTER PROCESSING\n\n",
		"an event without data":      "event: ping\n\n",
		"done in the middle":         "data: [DONE]\n\n",
		"error null":                 "event: ping\ndata: {\"type\":\"ping\",\"error\":null}\n\n",
		"an item that is no object":  "data: {\"type\":\"response.output_item.added\",\"item\":5}\n\n",
		"a delta of an unknown item": "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"msg_404\",\"output_index\":77,\"delta\":\"no\"}\n\n",
	} {
		sameAs(t, name, turn, insert(turn.events(), "response.output_item.added", frame)...)
	}
	after := append(turn.events(), "event: error\ndata: {\"type\":\"error\",\"error\":{\"message\":\"late\"}}\n\n", completed("resp_7", code("7", "late")).stream())
	sameAs(t, "events after the end", turn, after...)
}

// What is delimited by \r\n, or comes without event lines, is the same.
func TestFramingOfUpstreams(t *testing.T) {
	turn := completed("resp_1", msg("msg_1", "see"), code("1", "a"))
	sameAs(t, "CRLF", turn, strings.ReplaceAll(turn.stream(), "\n", "\r\n"))
	sameAs(t, "no event lines", turn, regexp.MustCompile(`(?m)^event: .*\n`).ReplaceAllString(turn.stream(), ""))
	sameAs(t, "types in event lines only", turn, edited(turn.events(), func(m map[string]any) bool { delete(m, "type"); return true })...)
}

// Items whose events are interleaved are shown one after the other, in the
// order in which they began (decision 14).
func TestInterleavedItems(t *testing.T) {
	turn := completed("resp_1", msg("msg_1", "Let me see."), code("1", "print(12345)"), code("2", "b"), msg("msg_2", "And then."))
	frames := turn.events()
	lists := map[string][]string{}
	order := []string{}
	for _, f := range frames[2 : len(frames)-1] {
		at := regexp.MustCompile(`"output_index":\d`).FindString(f)
		if lists[at] == nil {
			order = append(order, at)
		}
		lists[at] = append(lists[at], f)
	}
	mixed := frames[:2:2]
	for left := true; left; {
		left = false
		for _, at := range order {
			if len(lists[at]) > 0 {
				mixed, lists[at], left = append(mixed, lists[at][0]), lists[at][1:], true
			}
		}
	}
	sameAs(t, "one event each", turn, append(mixed, frames[len(frames)-1])...)
}

// Two items of a turn with one id are two items.
func TestItemsWithOneID(t *testing.T) {
	turn := completed("resp_1", msg("x", "a"), msg("x", "b"), fn("y", "call_1", internalName, `{"code":"a"}`), fn("y", "call_2", internalName, `{"code":"b"}`))
	sameAs(t, "one id", turn, turn.events()...)
}
