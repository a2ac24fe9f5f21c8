package interceptor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/internal/sse"
	"github.com/codeinterp/caddy-code-interpreter/internal/wirecheck"
)

// segment is one upstream turn that is made of a recording.
type segment struct {
	out    []byte
	output []rawjson.Value
	n      int64 // of the turn
	base   int64 // output_index of its first item
}

func (s *segment) send(t *testing.T, typ string, o *rawjson.Object) {
	o.Set("type", rawjson.String(typ))
	if index, ok := o.Int("output_index"); ok {
		o.Set("output_index", rawjson.Int(index-s.base))
	}
	s.out = sse.AppendEvent(s.out, typ, o.Bytes())
}

func (s *segment) lifecycle(t *testing.T, typ string, response *rawjson.Object) {
	response.Set("id", rawjson.String(fmt.Sprintf("resp_turn%d", s.n)))
	response.Set("output", rawjson.Array(s.output))
	o := rawjson.New()
	o.Set("response", response.Bytes())
	s.send(t, typ, o)
}

// functionCall is what the upstream sent where the recording has a call.
func functionCall(item *rawjson.Object, arguments, status string) *rawjson.Object {
	rest := strings.TrimPrefix(item.Str("id"), "ci_")
	o := rawjson.New()
	o.Set("id", rawjson.String("fc_"+rest))
	o.Set("type", rawjson.String("function_call"))
	o.Set("status", rawjson.String(status))
	o.Set("arguments", rawjson.String(arguments))
	o.Set("call_id", rawjson.String("call_"+rest))
	o.Set("name", rawjson.String(internalName))
	return o
}

// turnsOf makes of a recording the turns that an upstream would have sent: one
// ends with each call, and the calls are of our function.
func turnsOf(t *testing.T, name string) []string {
	t.Helper()
	events := wirecheck.Recording(name)
	object := func(e wirecheck.Event) *rawjson.Object {
		o, err := rawjson.ParseLenient(e.Data)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	created, final := object(events[0]).Obj("response"), object(events[len(events)-1]).Obj("response")
	var turns []string
	var seg *segment
	items := int64(0)
	finish := func() {
		seg.lifecycle(t, "response.completed", final.Clone())
		turns = append(turns, string(seg.out))
		seg = nil
	}
	for _, e := range events[2 : len(events)-1] {
		if seg == nil {
			seg = &segment{n: int64(len(turns) + 1), base: items}
			seg.lifecycle(t, "response.created", created.Clone())
			seg.lifecycle(t, "response.in_progress", created.Clone())
		}
		o, item := object(e), object(e).Obj("item")
		if item == nil {
			seg.detail(t, e.Type, o)
			continue
		}
		ours := item.Str("type") == "code_interpreter_call"
		if e.Type == "response.output_item.added" {
			items++
			if ours {
				o.Set("item", functionCall(item, "", "in_progress").Bytes())
			}
			seg.send(t, e.Type, o)
			continue
		}
		if ours {
			item = functionCall(item, cleanArguments(item.Str("code")), "completed")
			o.Set("item", item.Bytes())
		}
		seg.output = append(seg.output, item.Bytes())
		seg.send(t, e.Type, o)
		if ours {
			finish()
		}
	}
	finish()
	return turns
}

// detail passes an event within an item on; those of a call become the deltas
// of its arguments.
func (s *segment) detail(t *testing.T, typ string, o *rawjson.Object) {
	arguments := func(kind, member, text string) {
		o := o.Clone()
		o.Delete("code")
		o.Set("item_id", rawjson.String("fc_"+strings.TrimPrefix(o.Str("item_id"), "ci_")))
		o.Set(member, rawjson.String(text))
		s.send(t, "response.function_call_arguments."+kind, o)
	}
	switch typ {
	case "response.code_interpreter_call.in_progress":
		arguments("delta", "delta", `{"code":"`)
	case "response.code_interpreter_call_code.delta":
		quoted, _ := json.Marshal(o.Str("delta"))
		arguments("delta", "delta", string(quoted[1:len(quoted)-1]))
	case "response.code_interpreter_call_code.done":
		arguments("delta", "delta", `"}`)
		arguments("done", "arguments", cleanArguments(o.Str("code")))
	case "response.code_interpreter_call.interpreting", "response.code_interpreter_call.completed":
	default:
		s.send(t, typ, o)
	}
}

// A turn by turn upstream's answers look to the client as OpenAI's did.
func TestStreamHasTheGrammarOfARecording(t *testing.T) {
	for name, more := range map[string]string{
		"01": withOutputs, "03": `,"include":["reasoning.encrypted_content"]`, "05": "",
	} {
		t.Run(name, func(t *testing.T) {
			turns := turnsOf(t, name)
			b := newTestbed(t, script(turns...))
			w := b.post(ask("hi", `,"stream":true`+more))
			clientEvents(t, w.Body.String())
			got, err := wirecheck.ParseStream(w.Body.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			want := wirecheck.Recording(name)
			if g, w := wirecheck.Grammar(got), wirecheck.Grammar(want); !slices.Equal(g, w) {
				for n := range min(len(g), len(w)) {
					if g[n] != w[n] {
						t.Fatalf("line %d is\n     %s\nwant %s", n, g[n], w[n])
					}
				}
				t.Fatalf("%d lines, want %d", len(g), len(w))
			}
			ours, _ := wirecheck.Final(got)
			theirs, _ := wirecheck.Final(want)
			gotItems, wantItems := ours["output"].([]any), theirs["output"].([]any)
			for n := range wantItems {
				got, want := gotItems[n].(map[string]any), wantItems[n].(map[string]any)
				for _, name := range []string{"id", "type", "status", "code", "content", "summary"} {
					if plain(got[name]) != plain(want[name]) {
						t.Errorf("item %d: %s is %v, want %v", n, name, got[name], want[name])
					}
				}
			}
			// the same upstream for a client that does not stream
			b.up = script(turns...)
			if r := b.response(ask("hi", more)); plain(r["output"]) != plain(ours["output"]) {
				t.Errorf("JSON differs:\n%s\n%s", plain(r["output"]), plain(ours["output"]))
			}
		})
	}
}

// wire/openai.md 4.3: what real upstreams send is passed on, whole.
func TestQuirksOfUpstreams(t *testing.T) {
	for _, q := range wirecheck.Quirks() {
		t.Run(q.Vendor, func(t *testing.T) {
			b := newTestbed(t, script(string(q.SSE)))
			w := b.post(ask("hi", `,"stream":true`))
			t.Logf("%s: %d", q.Note, w.Code)
			if w.Code != 200 {
				t.Fatalf("status %d: %s", w.Code, w.Body)
			}
			r := terminal(t, clientEvents(t, w.Body.String()))
			b.up = script(string(q.SSE))
			if got := b.response(ask("hi", "")); plain(got["output"]) != plain(r["output"]) {
				t.Errorf("JSON differs:\n%s\n%s", plain(got["output"]), plain(r["output"]))
			}
		})
	}
}
