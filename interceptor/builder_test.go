package interceptor

import (
	"encoding/json"
	"fmt"
	"strings"
)

// answer is one turn of an upstream's, written once and sent as JSON or as a
// stream: what the client gets must be the same.
type answer struct {
	id     string
	status string
	more   string // further members of the response, each with a comma before it
	items  []string
}

func completed(id string, items ...string) answer { return answer{id, "completed", "", items} }

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func msg(id, text string) string {
	return fmt.Sprintf(`{"id":%q,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":%s}]}`, id, quoted(text))
}

func thought(id, secret string) string {
	if secret == "" {
		return fmt.Sprintf(`{"id":%q,"type":"reasoning","summary":[]}`, id)
	}
	return fmt.Sprintf(`{"id":%q,"type":"reasoning","summary":[],"encrypted_content":%q}`, id, secret)
}

func fn(id, callID, name, arguments string) string {
	return fmt.Sprintf(`{"id":%q,"type":"function_call","status":"completed","arguments":%s,"call_id":%q,"name":%q}`, id, quoted(arguments), callID, name)
}

// code is a call of ours.
func code(n, code string) string {
	return fn("fc_"+n, "call_"+n, internalName, `{"code":`+quoted(code)+`}`)
}

func (a answer) response(status, output string) string {
	usage := "null"
	if status != "in_progress" {
		usage = `{"input_tokens":10,"input_tokens_details":{"cached_tokens":1},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":15}`
	}
	more := a.more
	if status == "in_progress" {
		more = ""
	}
	return fmt.Sprintf(`{"id":%q,"object":"response","created_at":1757603567,"status":%q,"model":"m-2026","output":[%s],"usage":%s%s}`, a.id, status, output, usage, more)
}

func (a answer) json() string { return a.response(a.status, strings.Join(a.items, ",")) }

// events writes the turn as OpenAI streams it, one frame each.
func (a answer) events() []string {
	var out []string
	add := func(typ, rest string) {
		out = append(out, fmt.Sprintf("event: %s\ndata: {\"type\":%q,\"sequence_number\":%d,%s}\n\n", typ, typ, len(out), rest))
	}
	add("response.created", `"response":`+a.response("in_progress", ""))
	add("response.in_progress", `"response":`+a.response("in_progress", ""))
	for n, item := range a.items {
		addItem(add, n, item)
	}
	add("response."+a.status, `"response":`+a.json())
	return out
}

func addItem(add func(typ, rest string), n int, item string) {
	var o struct {
		ID, Type, Arguments string
		CallID              string `json:"call_id"`
		Name                string
		Content             []struct{ Text string }
	}
	if err := json.Unmarshal([]byte(item), &o); err != nil {
		panic(err)
	}
	at := fmt.Sprintf(`"output_index":%d`, n)
	of := fmt.Sprintf(`"item_id":%q,%s`, o.ID, at)
	switch o.Type {
	case "message":
		add("response.output_item.added", fmt.Sprintf(`%s,"item":{"id":%q,"type":"message","status":"in_progress","role":"assistant","content":[]}`, at, o.ID))
		for p, part := range o.Content {
			of := fmt.Sprintf(`%s,"content_index":%d`, of, p)
			whole := `{"type":"output_text","annotations":[],"logprobs":[],"text":` + quoted(part.Text) + `}`
			add("response.content_part.added", of+`,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
			for _, piece := range pieces(part.Text) {
				add("response.output_text.delta", of+`,"logprobs":[],"delta":`+quoted(piece))
			}
			add("response.output_text.done", of+`,"logprobs":[],"text":`+quoted(part.Text))
			add("response.content_part.done", of+`,"part":`+whole)
		}
	case "function_call":
		add("response.output_item.added", fmt.Sprintf(`%s,"item":{"id":%q,"type":"function_call","status":"in_progress","arguments":"","call_id":%q,"name":%q}`, at, o.ID, o.CallID, o.Name))
		for _, piece := range pieces(o.Arguments) {
			add("response.function_call_arguments.delta", of+`,"delta":`+quoted(piece))
		}
		add("response.function_call_arguments.done", of+`,"arguments":`+quoted(o.Arguments))
	default:
		add("response.output_item.added", at+`,"item":`+item)
	}
	add("response.output_item.done", at+`,"item":`+item)
}

// pieces cuts a text after every third rune.
func pieces(s string) []string {
	var out []string
	runes := []rune(s)
	for len(runes) > 0 {
		n := min(3, len(runes))
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return out
}

func (a answer) stream() string { return strings.Join(a.events(), "") }

// frames makes a stream of events that no answer has.
func frames(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}
