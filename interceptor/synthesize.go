package interceptor

import "github.com/codeinterp/caddy-code-interpreter/internal/rawjson"

// member is a member of an event that is made up.
type member struct {
	name  string
	value rawjson.Value
}

// synthesize makes up the events of an item that came whole.
func synthesize(item *rawjson.Object) []held {
	var events []held
	add := func(typ string, members ...member) {
		o := rawjson.New()
		o.Set("type", rawjson.String(typ))
		for _, m := range members {
			o.Set(m.name, m.value)
		}
		events = append(events, held{typ, o})
	}
	begun := item.Clone()
	if begun.Has("status") {
		begun.Set("status", rawjson.String(statusInProgress))
	}
	switch item.Str("type") {
	case "message":
		begun.Set("content", rawjson.Value(`[]`))
		add("response.output_item.added", member{"item", begun.Bytes()})
		parts, _ := item.Arr("content")
		for n, p := range parts {
			synthesizePart(add, rawjson.Int(int64(n)), p)
		}
	case "function_call":
		begun.Set("arguments", rawjson.String(""))
		add("response.output_item.added", member{"item", begun.Bytes()})
		add(argumentsDelta, member{"delta", item.Get("arguments")})
		add(argumentsDone, member{"arguments", item.Get("arguments")})
	default:
		add("response.output_item.added", member{"item", begun.Bytes()})
	}
	add("response.output_item.done", member{"item", item.Bytes()})
	return events
}

func synthesizePart(add func(string, ...member), index rawjson.Value, p rawjson.Value) {
	part, err := rawjson.ParseLenient(p)
	if err != nil {
		return
	}
	at := member{"content_index", index}
	if part.Str("type") != "output_text" {
		add("response.content_part.added", at, member{"part", p})
		add("response.content_part.done", at, member{"part", p})
		return
	}
	none := rawjson.Value(`[]`)
	empty := part.Clone()
	empty.Set("text", rawjson.String(""))
	empty.Set("annotations", none)
	add("response.content_part.added", at, member{"part", empty.Bytes()})
	add("response.output_text.delta", at, member{"delta", part.Get("text")}, member{"logprobs", none})
	annotations, _ := part.Arr("annotations")
	for n, a := range annotations {
		add("response.output_text.annotation.added", at, member{"annotation_index", rawjson.Int(int64(n))}, member{"annotation", a})
	}
	add("response.output_text.done", at, member{"text", part.Get("text")}, member{"logprobs", none})
	add("response.content_part.done", at, member{"part", p})
}
