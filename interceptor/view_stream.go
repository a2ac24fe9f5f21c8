package interceptor

import (
	"net/http"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// streamView shows an exchange as one stream of events while it happens.
//
// Items are shown in the order in which they began and never overlap
// (decision 14): the first that is not over is at the head and live, and what
// arrives for the others is held until the head is over. A call of ours is
// over when it has run, so that what follows it in its turn waits for it. What
// is held is bounded, since a turn is.
type streamView struct {
	ex     *exchange
	client *clientStream
	queue  []*item
	head   int
	shown  int // items that the client has seen
	opened bool
}

// itemStream is the streamView's own state of an item.
type itemStream struct {
	added bool   // output_item.added was sent
	over  bool   // output_item.done was sent, or never will be
	index int    // output_index
	code  int    // bytes of the code that were sent
	held  []held // events that wait for the head to be over

	arguments bool // deltas of a client's call's arguments were sent
}

type held struct {
	typ  string
	data *rawjson.Object
}

// newStreamView returns a view that calls gone when the client is.
func newStreamView(ex *exchange, w http.ResponseWriter, gone func()) *streamView {
	return &streamView{ex: ex, client: newClientStream(w, ex.i.Config.Keepalive, gone)}
}

func (v *streamView) live() live  { return v }
func (v *streamView) begun() bool { return v.opened }
func (v *streamView) close()      { v.client.close() }

// begin opens the response with the first turn's first response object; later
// turns are the same response to the client.
func (v *streamView) begin(t *turn, response *rawjson.Object) error {
	if v.opened {
		return nil
	}
	v.opened = true
	if v.ex.first == nil {
		v.ex.first = response
	}
	v.client.open(t.header)
	for _, typ := range []string{"response.created", "response.in_progress"} {
		o := rawjson.New()
		o.Set("type", rawjson.String(typ))
		o.Set("response", v.ex.opening())
		if err := v.client.event(typ, o); err != nil {
			return err
		}
	}
	return nil
}

// item gives an item its place.
func (v *streamView) item(it *item) { v.queue = append(v.queue, it) }

func (v *streamView) isHead(it *item) bool {
	return v.head < len(v.queue) && v.queue[v.head] == it
}

// number gives the item that is shown now its output_index.
func (v *streamView) number(it *item) {
	it.stream.added = true
	it.stream.index = v.shown
	v.shown++
}

func (v *streamView) event(it *item, typ string, data *rawjson.Object) error {
	if !v.isHead(it) || it.nameless() {
		it.stream.held = append(it.stream.held, held{typ, data})
		return nil
	}
	if err := v.flush(it); err != nil {
		return err
	}
	if err := v.send(it, typ, data); err != nil {
		return err
	}
	return v.advance()
}

func (v *streamView) code(it *item, _ string) error {
	it.stream.held = nil // what came before its name was known
	if !v.isHead(it) {
		return nil
	}
	return v.sendCode(it)
}

// advance moves the head past items that are over and brings the next one up
// to date.
func (v *streamView) advance() error {
	for v.head < len(v.queue) && v.queue[v.head].stream.over {
		v.head++
		if v.head == len(v.queue) {
			return nil
		}
		next := v.queue[v.head]
		if next.call != nil {
			return v.sendCode(next)
		}
		if next.nameless() {
			return nil
		}
		if err := v.flush(next); err != nil {
			return err
		}
	}
	return nil
}

func (v *streamView) flush(it *item) error {
	events := it.stream.held
	it.stream.held = nil
	for _, e := range events {
		if err := v.send(it, e.typ, e.data); err != nil {
			return err
		}
	}
	return nil
}

// send passes one event of the head on, renumbered.
func (v *streamView) send(it *item, typ string, data *rawjson.Object) error {
	if it.stream.over {
		return nil
	}
	if !it.stream.added {
		if typ == "response.output_item.done" {
			return v.sendWhole(it, data.Obj("item"))
		}
		v.number(it)
	}
	data.Set("type", rawjson.String(typ))
	data.Set("output_index", rawjson.Int(int64(it.stream.index)))
	switch typ {
	case "response.output_item.added", "response.output_item.done":
		o := v.ex.show(it, data.Obj("item"))
		data.Set("item", o.Bytes())
		if typ == "response.output_item.done" {
			it.stream.over, it.shown = true, o
			v.ex.output = append(v.ex.output, o)
		}
	default:
		data.Set("item_id", rawjson.String(it.shownID))
		v.ex.showName(it, data)
		if err := v.completeArguments(it, typ, data); err != nil {
			return err
		}
	}
	return v.client.event(typ, data)
}

// sendWhole shows an item of which the upstream sent no events before its end.
func (v *streamView) sendWhole(it *item, item *rawjson.Object) error {
	for _, e := range synthesize(item) {
		if err := v.send(it, e.typ, e.data); err != nil {
			return err
		}
	}
	return nil
}

// completeArguments makes up the delta of a client's function call that an
// upstream left out (LM Studio, wire/openai.md 4.3).
func (v *streamView) completeArguments(it *item, typ string, data *rawjson.Object) error {
	switch typ {
	case argumentsDelta:
		it.stream.arguments = true
	case argumentsDone:
		if it.stream.arguments || data.Str("arguments") == "" {
			return nil
		}
		o := data.Clone()
		o.Delete("arguments")
		o.Delete("name")
		o.Set("type", rawjson.String(argumentsDelta))
		o.Set("delta", data.Get("arguments"))
		return v.client.event(argumentsDelta, o)
	}
	return nil
}

// sendCode shows of our call what has not been shown yet.
func (v *streamView) sendCode(it *item) error {
	if !it.stream.added {
		v.number(it)
		if err := v.sendItem(it, "response.output_item.added", v.ex.showCall(it)); err != nil {
			return err
		}
		if err := v.sendCallEvent(it, "response.code_interpreter_call.in_progress"); err != nil {
			return err
		}
	}
	delta := it.call.code.String()[it.stream.code:]
	if delta == "" {
		return nil
	}
	it.stream.code += len(delta)
	o := v.callEvent(it, "response.code_interpreter_call_code.delta")
	o.Set("delta", rawjson.String(delta))
	if v.ex.req.obfuscate {
		o.Set("obfuscation", rawjson.String(obfuscation(delta)))
	}
	return v.client.event("response.code_interpreter_call_code.delta", o)
}

func (v *streamView) callEvent(it *item, typ string) *rawjson.Object {
	o := rawjson.New()
	o.Set("type", rawjson.String(typ))
	o.Set("output_index", rawjson.Int(int64(it.stream.index)))
	o.Set("item_id", rawjson.String(it.shownID))
	return o
}

func (v *streamView) sendCallEvent(it *item, typ string) error {
	return v.client.event(typ, v.callEvent(it, typ))
}

func (v *streamView) sendItem(it *item, typ string, shown *rawjson.Object) error {
	o := rawjson.New()
	o.Set("type", rawjson.String(typ))
	o.Set("output_index", rawjson.Int(int64(it.stream.index)))
	o.Set("item", shown.Bytes())
	return v.client.event(typ, o)
}

func (v *streamView) running(it *item) error {
	if err := v.sendWholeCode(it); err != nil {
		return err
	}
	return v.sendCallEvent(it, "response.code_interpreter_call.interpreting")
}

func (v *streamView) sendWholeCode(it *item) error {
	if err := v.sendCode(it); err != nil {
		return err
	}
	o := v.callEvent(it, "response.code_interpreter_call_code.done")
	o.Set("code", rawjson.String(it.call.code.String()))
	return v.client.event("response.code_interpreter_call_code.done", o)
}

func (v *streamView) called(it *item) error {
	if it.call.status == statusCompleted {
		if err := v.sendCallEvent(it, "response.code_interpreter_call.completed"); err != nil {
			return err
		}
	} else if !it.call.ran {
		if err := v.sendWholeCode(it); err != nil {
			return err
		}
	}
	shown := v.ex.showCall(it)
	it.stream.over, it.shown = true, shown
	v.ex.output = append(v.ex.output, shown)
	if err := v.sendItem(it, "response.output_item.done", shown); err != nil {
		return err
	}
	return v.advance()
}

// pass makes sure that an item which is not our call has been shown whole,
// also when the upstream left its events out. One that the upstream never
// ended is not waited for.
func (v *streamView) pass(it *item) error {
	if it.stream.over {
		return nil
	}
	if it.done == nil {
		it.stream.over = true
		return v.advance()
	}
	if it.stream.added || len(it.stream.held) > 0 {
		it.stream.held = append(it.stream.held, it.closing...)
	}
	if err := v.flush(it); err != nil {
		return err
	}
	if !it.stream.over {
		o := rawjson.New()
		o.Set("type", rawjson.String("response.output_item.done"))
		o.Set("item", it.done.Bytes())
		if err := v.send(it, "response.output_item.done", o); err != nil {
			return err
		}
	}
	return v.advance()
}

func (v *streamView) refused(t *turn) error {
	writeRefusal(v.client.w, t, v.ex.req.toolName)
	return nil
}

// finish sends the terminal event. A failure is an error event first, as
// OpenAI really sends it (wire/openai.md 3).
func (v *streamView) finish(t *turn, status string, failure *APIError) error {
	if !v.opened {
		if failure != nil {
			failure.Write(v.client.w)
			return nil
		}
		if err := v.begin(t, t.response); err != nil {
			return err
		}
	}
	if failure != nil {
		if err := v.client.event("error", failure.event()); err != nil {
			return err
		}
	}
	typ := "response.completed"
	switch status {
	case statusFailed, statusIncomplete, "cancelled":
		typ = "response." + status
	}
	o := rawjson.New()
	o.Set("type", rawjson.String(typ))
	o.Set("response", v.ex.final(t, status, failure))
	v.ex.record() // before the client can ask for it
	return v.client.event(typ, o)
}
