package interceptor

import (
	"strings"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// draft is what an item's events have told of it so far. It is what there is
// of an item that the upstream never ends, be it that the turn broke off.
type draft struct {
	content   []*draftPart
	summary   []*draftPart
	arguments strings.Builder
	called    bool // the arguments have begun
	argued    bool // and ended
}

// draftPart is one part of a content or a summary.
type draftPart struct {
	part  *rawjson.Object
	text  strings.Builder
	ended bool // the text has
	done  bool // the part has
}

const maxDraftParts = 1024

// take reads one event of the item.
func (d *draft) take(typ string, o *rawjson.Object) {
	list, index := &d.content, "content_index"
	name := strings.TrimPrefix(typ, "response.")
	if strings.HasPrefix(name, "reasoning_summary_") {
		list, index = &d.summary, "summary_index"
	}
	switch typ {
	case argumentsDelta:
		d.called = true
		d.arguments.WriteString(o.Str("delta"))
		return
	case argumentsDone:
		d.called, d.argued = true, true
		if d.arguments.Len() == 0 {
			d.arguments.WriteString(o.Str("arguments"))
		}
		return
	}
	n, ok := o.Int(index)
	if !ok || n < 0 || n > int64(len(*list)) || n >= maxDraftParts {
		return
	}
	begins := strings.HasSuffix(name, "part.added")
	if n == int64(len(*list)) {
		if !begins {
			return
		}
		*list = append(*list, &draftPart{})
	}
	p := (*list)[n]
	switch {
	case begins:
		p.part = o.Obj("part")
	case strings.HasSuffix(name, "part.done"):
		p.part, p.done = o.Obj("part"), true
	case strings.HasSuffix(name, ".delta"):
		p.text.WriteString(o.Str("delta"))
	case strings.HasSuffix(name, ".done"):
		p.ended = true
	}
}

// close ends the item with what there is of it: its final form, and the events
// that lead there.
func (d *draft) close(added *rawjson.Object, status string) (item *rawjson.Object, events []held) {
	item = added.Clone()
	if item.Has("status") {
		item.Set("status", rawjson.String(status))
	}
	events = append(events, closeParts(item, "content", "content_index", d.content)...)
	events = append(events, closeParts(item, "summary", "summary_index", d.summary)...)
	if d.called {
		arguments := rawjson.String(d.arguments.String())
		item.Set("arguments", arguments)
		if !d.argued {
			o := rawjson.New()
			o.Set("arguments", arguments)
			events = append(events, held{argumentsDone, o})
		}
	}
	return item, events
}

func closeParts(item *rawjson.Object, member, index string, parts []*draftPart) (events []held) {
	var values []rawjson.Value
	for n, p := range parts {
		if p.part == nil {
			continue
		}
		if p.done {
			values = append(values, p.part.Bytes())
			continue
		}
		text := "text"
		if p.part.Str("type") == "refusal" {
			text = "refusal"
		}
		part := p.part.Clone()
		part.Set(text, rawjson.String(p.text.String()))
		values = append(values, part.Bytes())
		o := rawjson.New()
		o.Set(index, rawjson.Int(int64(n)))
		kind := part.Str("type") // output_text, refusal, reasoning_text, summary_text
		if kind == "summary_text" {
			kind = "reasoning_summary_text"
		}
		if !p.ended {
			e := o.Clone()
			e.Set(text, part.Get(text))
			if kind == "output_text" {
				e.Set("logprobs", rawjson.Value(`[]`))
			}
			events = append(events, held{"response." + kind + ".done", e})
		}
		o.Set("part", part.Bytes())
		typ := "response.content_part.done"
		if member == "summary" {
			typ = "response.reasoning_summary_part.done"
		}
		events = append(events, held{typ, o})
	}
	if len(values) > 0 {
		item.Set(member, rawjson.Array(values))
	}
	return events
}

// settle ends an item that the upstream did not. One that may be a call of
// ours, since it has no name yet, is left out.
func (it *item) settle(status string) {
	if it.done == nil && it.call == nil && !it.nameless() {
		it.done, it.closing = it.draft.close(it.added, status)
	}
}
