package interceptor

import (
	"net/http"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/internal/sse"
)

const (
	argumentsDelta = "response.function_call_arguments.delta"
	argumentsDone  = "response.function_call_arguments.done"
)

// event takes one event of the upstream's stream.
func (r *turnReader) event(e sse.Event) error {
	if len(e.Data) == 0 || string(e.Data) == "[DONE]" {
		return nil
	}
	o, err := rawjson.ParseLenient(append([]byte(nil), e.Data...)) // e.Data is the decoder's; items outlive the event
	if err != nil {
		return nil // cases/litellm.md E7: one malformed event does not end the run
	}
	typ := o.Str("type")
	if typ == "" {
		typ = e.Type
	}
	switch {
	case r.turn.ended:
		return nil
	case typ == "error" || !rawjson.IsNull(o.Get("error")):
		r.fail(o)
		return nil
	}
	switch typ {
	case "response.created", "response.in_progress", "response.queued":
		return r.begin(o.Obj("response"))
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled":
		return r.end(o.Obj("response"))
	case "response.output_item.added":
		added := o.Obj("item")
		if added == nil {
			return nil
		}
		if err := r.begin(nil); err != nil {
			return err
		}
		index, ok := o.Int("output_index")
		if !ok {
			index = -1
		}
		it, err := r.add(added, index)
		if err != nil {
			return err
		}
		return r.relay(it, typ, o)
	case "response.output_item.done":
		return r.itemDone(o)
	default:
		return r.itemEvent(typ, o)
	}
}

func (r *turnReader) begin(response *rawjson.Object) error {
	if response != nil && r.turn.response == nil {
		r.turn.response = response
	}
	if r.started || r.live == nil {
		return nil
	}
	r.started = true
	if response == nil {
		response = rawjson.New()
	}
	return r.live.begin(r.turn, response)
}

func (r *turnReader) end(response *rawjson.Object) error {
	if response == nil {
		return nil
	}
	if err := r.begin(response); err != nil {
		return err
	}
	r.turn.response, r.turn.ended = response, true
	r.judge()
	return nil
}

// judge takes a response that has ended without success for a failure, so that
// no code of it runs.
func (r *turnReader) judge() {
	o := r.turn.response
	if s := o.Str("status"); s == statusFailed || s == "cancelled" || !rawjson.IsNull(o.Get("error")) {
		r.fail(o)
	}
}

// fail takes the upstream's word that it failed, whatever its shape: OpenAI's
// nested error, the flat one of its specification, or a bare string.
func (r *turnReader) fail(o *rawjson.Object) {
	if r.turn.failure != nil {
		return
	}
	detail := o
	if nested := o.Obj("error"); nested != nil {
		detail = nested
	}
	message := detail.Str("message")
	if message == "" {
		message = o.Str("error")
	}
	if message == "" {
		message = "The upstream failed without saying why."
	}
	code := detail.Str("code")
	if code == "" {
		code = "server_error"
	}
	r.turn.failure = &APIError{
		Status: http.StatusBadGateway, Type: "server_error", Code: publicName(code, r.ex.req.toolName),
		Message: publicName(message, r.ex.req.toolName),
	}
}

func (r *turnReader) itemDone(o *rawjson.Object) error {
	done := o.Obj("item")
	if done == nil {
		return nil
	}
	it := r.find(done.Str("id"), o)
	if it == nil || it.done != nil || it.typ != done.Str("type") {
		if err := r.begin(nil); err != nil {
			return err
		}
		var err error
		if it, err = r.add(done, -1); err != nil {
			return err
		}
	}
	if err := r.complete(it, done); err != nil || it.call != nil {
		return err
	}
	return r.relay(it, "response.output_item.done", o)
}

func (r *turnReader) itemEvent(typ string, o *rawjson.Object) error {
	it := r.find(o.Str("item_id"), o)
	if it == nil || it.done != nil || !o.Has("item_id") && !o.Has("output_index") {
		return nil // a vendor's own event: openai-node throws on those (wire/openai.md 7)
	}
	if it.call == nil {
		it.draft.take(typ, o)
		return r.relay(it, typ, o)
	}
	switch typ {
	case argumentsDelta:
		delta := it.call.push(it.call.pieces.text(o.Get("delta")), r.ex.i.Config.MaxCode)
		if r.live != nil && delta != "" {
			return r.live.code(it, delta)
		}
	case argumentsDone:
		return r.arguments(it, o.Str("arguments"))
	}
	return nil
}

// find looks an event's item up by its id, then by its index, and takes the
// open one for granted where the upstream says neither (wire/openai.md 4.4).
func (r *turnReader) find(id string, o *rawjson.Object) *item {
	if it := r.byID(id); it != nil {
		return it
	}
	if index, ok := o.Int("output_index"); ok {
		for n := len(r.turn.items) - 1; n >= 0; n-- {
			if it := r.turn.items[n]; it.index == index && it.done == nil {
				return it
			}
		}
	}
	if r.open != nil && r.open.done == nil {
		return r.open
	}
	return nil
}

func (r *turnReader) relay(it *item, typ string, o *rawjson.Object) error {
	if r.live == nil {
		return nil
	}
	if it.call != nil {
		return r.live.code(it, "")
	}
	return r.live.event(it, typ, o)
}
