package interceptor

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// randomTurn makes a turn of a model that thinks, talks and calls.
func randomTurn(r *rand.Rand, n int, calls bool) answer {
	var items []string
	for k := range 1 + r.IntN(4) {
		id := fmt.Sprintf("%d_%d", n, k)
		switch p := r.IntN(10); {
		case p < 2:
			items = append(items, thought("rs_"+id, strings.Repeat("S", r.IntN(2))))
		case p < 5 || !calls:
			items = append(items, msg("msg_"+id, randomText(r)))
		case p < 8:
			items = append(items, code(id, randomText(r)))
		case p < 9:
			items = append(items, fn("fc_"+id, "call_"+id, internalName, `{"code":`+randomText(r)))
		default:
			items = append(items, fn("fc_"+id, "call_"+id, "weather", `{ "city":`+quoted(randomText(r))+`}`))
		}
	}
	a := completed(fmt.Sprintf("resp_%d", n), items...)
	switch r.IntN(12) {
	case 0:
		a.status, a.more = "incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`
	case 1:
		a.status, a.more = "failed", `,"error":{"code":"overloaded","message":"`+internalName+` is overloaded"}`
	}
	return a
}

func randomText(r *rand.Rand) string {
	pieces := []string{"a", "print(1)\n", "é", "😀", `"`, `\`, "\t", "}", `{"code":`, "", "\u2028", " "}
	var b strings.Builder
	for range r.IntN(8) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// Whatever the model does, JSON and streams of the upstream and to the client
// all come to the same, in a stream that the strictest client takes.
func TestEveryFormOfAnyExchangeIsTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for n := range 80 {
		var turns []answer
		for k := range 4 {
			turns = append(turns, randomTurn(r, k+1, k < 3))
		}
		more := []string{"", withOutputs, `,"store":false`, `,"max_tool_calls":2`, `,"max_output_tokens":26`, `,"conversation":"conv_1"`}[r.IntN(6)]
		var want string
		var requests string
		for way := range 4 {
			answers := make([]string, len(turns))
			for k, a := range turns {
				answers[k] = a.json()
				if way%2 == 1 {
					answers[k] = a.stream()
				}
			}
			b := newTestbed(t, script(answers...))
			b.i.Config.MaxTurns = 4
			body := askMixed(`"hi"`, more)
			var got map[string]any
			if way < 2 {
				got = b.response(body)
			} else {
				got = terminal(t, clientEvents(t, b.post(strings.TrimSuffix(body, "}")+`,"stream":true}`).Body.String()))
			}
			var sent strings.Builder
			for _, s := range b.sent {
				sent.WriteString(plain(decode(t, []byte(strings.Replace(string(s), `,"stream":true`, "", 1)))) + "\n")
			}
			if way == 0 {
				want, requests = plain(got), sent.String()
			}
			if plain(got) != want || sent.String() != requests {
				t.Fatalf("exchange %d%s, way %d:\n%s\nwant\n%s\nafter\n%s\nwant\n%s", n, more, way, plain(got), want, sent.String(), requests)
			}
			checkCalls(t, b, got)
		}
	}
}

// checkCalls demands that no request leaves a call of an earlier turn without
// an output, or answers one twice.
func checkCalls(t *testing.T, b *testbed, response map[string]any) {
	t.Helper()
	for _, s := range b.sent {
		body := decode(t, s)
		if body["conversation"] != nil {
			continue
		}
		open := map[any]int{}
		for _, v := range body["input"].([]any) {
			switch m := v.(map[string]any); m["type"] {
			case "function_call":
				open[m["call_id"]]++
			case "function_call_output":
				open[m["call_id"]]--
			}
		}
		for id, n := range open {
			if n != 0 {
				t.Errorf("call %v has %d outputs too few: %s", id, n, s)
			}
		}
	}
	status := response["status"]
	if status != "completed" && status != "incomplete" && status != "failed" {
		t.Errorf("the status is %v", status)
	}
}
