package interceptor

import (
	"context"
	"net/http"
	"time"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// view is how the client sees an exchange: jsonView or streamView.
type view interface {
	// live watches the turn that begins, or is nil.
	live() live
	// pass shows an item that is not our call, unless it was shown already.
	pass(it *item) error
	// running and called frame the execution of a call. A call that is not
	// run is only called, with its final status set.
	running(it *item) error
	called(it *item) error
	// refused answers with an upstream answer that is no response, on the
	// first turn.
	refused(t *turn) error
	// finish ends the response with the status; failure is set when failed.
	finish(t *turn, status string, failure *APIError) error
	// begun reports whether the client has got anything yet.
	begun() bool
	// close is called when the exchange is over, however it ended.
	close()
}

// exchange is one client request in progress. All of its state lives here, on
// the handler's stack, where no client can forge it (decision 1).
type exchange struct {
	i     *Interceptor
	req   *request
	lease *sandbox.Lease
	up    Upstream
	view  view

	deadline    time.Time
	turns       int
	executions  int
	builtin     int64           // calls that count towards max_tool_calls
	history     []rawjson.Value // input of the next turn, behind the client's
	usage       rawjson.Value
	first       *rawjson.Object // response of the first turn
	upstreamIDs []string        // of the turns' responses
	upstreamID  string          // of the last one that did not fail
	shown       []byte          // the final response object, once it is there
	output      []*rawjson.Object
	ids         map[string]bool          // item ids that the client has seen
	callIDs     map[string]bool          // that calls of ours have had
	constants   map[string]rawjson.Value // members that stay as first shown
	created     int64
	calls       map[string]callRecord
	unseen      []rawjson.Value // outputs that no turn has carried upstream
}

func (i *Interceptor) newExchange(req *request, lease *sandbox.Lease, up Upstream) *exchange {
	return &exchange{
		i: i, req: req, lease: lease, up: up,
		deadline: time.Now().Add(i.Config.RequestTimeout),
		created:  time.Now().Unix(),
		ids:      map[string]bool{}, callIDs: map[string]bool{}, calls: map[string]callRecord{}, constants: map[string]rawjson.Value{},
	}
}

// run drives the turns to the end of the response.
func (ex *exchange) run(ctx context.Context, w http.ResponseWriter) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if ex.req.stream {
		ex.view = newStreamView(ex, w, cancel)
	} else {
		ex.view = &jsonView{ex: ex, w: w}
	}
	defer ex.view.close()
	defer ex.record()
	for {
		last := ex.limited()
		t, err := ex.turn(ctx, last)
		if err != nil {
			return ex.broken(ctx, w, t, err)
		}
		if t.raw != nil || t.response == nil {
			return ex.noResponse(t)
		}
		if t.failure != nil {
			return ex.end(t, statusFailed, t.failure)
		}
		more, err := ex.answer(ctx, t, last)
		if err != nil {
			return quiet(ctx, err)
		}
		if !more {
			return nil
		}
	}
}

// limited reports whether the next turn must be the last: the model is then
// told to answer without the tool (max_turns counts that turn too).
func (ex *exchange) limited() bool {
	return ex.turns > 0 && (ex.turns+1 >= ex.i.Config.MaxTurns || ex.spent() || time.Now().After(ex.deadline))
}

// spent reports whether no further execution is allowed.
func (ex *exchange) spent() bool {
	return ex.executions >= ex.i.Config.MaxExecutions ||
		ex.req.maxToolCalls >= 0 && ex.builtin >= ex.req.maxToolCalls
}

// turn asks the upstream for the next turn.
func (ex *exchange) turn(ctx context.Context, last bool) (*turn, error) {
	ex.turns++
	r := &turnReader{ex: ex, turn: &turn{}, live: ex.view.live()}
	err := ex.up.Turn(ctx, ex.body(last), r)
	if err == nil {
		err = r.finish()
	}
	if err == nil && r.turn.response != nil {
		if ex.first == nil {
			ex.first = r.turn.response
		}
		ex.upstreamIDs = append(ex.upstreamIDs, r.turn.response.Str("id"))
		ex.usage = addUsage(ex.usage, r.turn.response.Get("usage"))
		if r.turn.failure == nil {
			ex.upstreamID, ex.unseen = r.turn.response.Str("id"), nil
			ex.i.Records.forget(ex.req.owner, ex.req.pending)
		}
	}
	return r.turn, err
}

// body is what the upstream gets for the next turn.
func (ex *exchange) body(last bool) []byte {
	b := ex.req.base.Clone()
	input := append(append([]rawjson.Value{}, ex.req.input...), ex.history...)
	if ex.turns > 1 && ex.req.conversation {
		input = ex.history // the conversation holds the rest (decision 11)
	}
	if ex.turns > 1 || !rawjson.IsNull(ex.req.client.Get("input")) || len(input) > 0 {
		b.Set("input", rawjson.Array(input))
	}
	switch {
	case last || ex.req.hasTool && ex.spent():
		b.Set("tool_choice", rawjson.String("none"))
	case ex.turns > 1:
		if c := ex.req.laterChoice(); c != nil {
			b.Set("tool_choice", c)
		}
	}
	if ex.req.maxToolCalls > 0 {
		b.Set("max_tool_calls", rawjson.Int(max(1, ex.req.maxToolCalls-ex.builtin)))
	} else if ex.req.maxToolCalls == 0 {
		b.Delete("max_tool_calls") // some upstreams refuse 0; tool_choice none says it
	}
	if ex.req.maxOutputTokens > 0 {
		b.Set("max_output_tokens", rawjson.Int(ex.tokensLeft()))
	}
	return b.Bytes()
}

func (ex *exchange) tokensLeft() int64 {
	return ex.req.maxOutputTokens - outputTokens(ex.usage)
}

// answer deals with a turn that ended well: it runs our calls in order, shows
// every item, and says whether another turn is due.
func (ex *exchange) answer(ctx context.Context, t *turn, last bool) (more bool, err error) {
	ours, mixed := t.calls()
	cut := t.status() == statusIncomplete // a call cut off by the token limit never runs
	var outputs []rawjson.Value
	for _, it := range t.items {
		if it.call == nil {
			ex.countBuiltin(it)
			it.settle(t.status())
			if err := ex.view.pass(it); err != nil {
				return false, err
			}
			continue
		}
		text := limitReached
		if cut || last {
			it.call.status = statusIncomplete
			err = ex.view.called(it)
		} else {
			text, err = ex.execute(ctx, it)
		}
		if err != nil {
			return false, err
		}
		if it.done == nil {
			continue // the upstream knows of no call that could be answered
		}
		outputs = append(outputs, functionOutput(it.call.callID, text))
		ex.calls[it.shownID] = callRecord{itemID: it.call.itemID, callID: it.call.callID, code: it.call.code.String(), output: text}
	}
	ex.unseen = outputs
	switch {
	case ours == 0 || mixed && !last && !cut:
		return false, ex.end(t, t.status(), nil)
	case cut:
		return false, ex.end(t, statusIncomplete, nil)
	case last:
		t.response.Set("incomplete_details", rawjson.Value(`{"reason":"max_tool_calls"}`))
		return false, ex.end(t, statusIncomplete, nil)
	case ex.req.maxOutputTokens > 0 && ex.tokensLeft() < minOutputTokens:
		t.response.Set("incomplete_details", rawjson.Value(`{"reason":"max_output_tokens"}`))
		return false, ex.end(t, statusIncomplete, nil)
	}
	ex.remember(t, outputs)
	return true, nil
}

// minOutputTokens is the least max_output_tokens that OpenAI takes.
const minOutputTokens = 16

func (ex *exchange) countBuiltin(it *item) {
	switch it.typ {
	case "web_search_call", "file_search_call", "image_generation_call", "mcp_call", "code_interpreter_call":
		ex.builtin++
	}
}

// remember appends the turn to the next one's input: its items verbatim and in
// order, our arguments clean, then one output per call.
func (ex *exchange) remember(t *turn, outputs []rawjson.Value) {
	replay := replay{stateless: ex.req.stateless}
	if !ex.req.conversation {
		for _, it := range t.items {
			if it.done == nil {
				continue
			}
			o := it.done.Clone()
			if !replay.keeps(o) {
				continue
			}
			if it.call != nil {
				o.Set("type", rawjson.String("function_call"))
				o.Delete("input") // of a custom tool
				o.Set("call_id", rawjson.String(it.call.callID))
				o.Set("name", rawjson.String(ex.req.toolName))
				o.Set("arguments", rawjson.String(cleanArguments(it.call.code.String())))
			}
			ex.history = append(ex.history, o.Bytes())
		}
	} else {
		ex.history = nil
	}
	ex.history = append(ex.history, outputs...)
}

// execute runs one call and shows it. The text is what the model gets; an
// error means that the client went away.
func (ex *exchange) execute(ctx context.Context, it *item) (text string, err error) {
	c := it.call
	code, ok := c.runnable()
	switch {
	case !ex.req.hasTool:
		c.status, text = statusFailed, notOffered // the history named it
	case c.tooLong:
		c.status, text = statusFailed, codeTooLong
	case !ok:
		c.status, text = statusFailed, badArguments
	case ex.spent() || time.Now().After(ex.deadline):
		c.status, text = statusIncomplete, limitReached
	default:
		if err := ex.view.running(it); err != nil {
			return "", err
		}
		c.ran = true
		ex.executions++
		ex.builtin++
		report, err := ex.lease.Run(ctx, code)
		ex.logExecution(code, report, err)
		switch {
		case ctx.Err() != nil:
			return "", ErrClientGone
		case err != nil:
			c.status, text = statusFailed, failureText(err)
		default:
			c.status, c.outputs = statusCompleted, report.Outputs
			text = resultText(report, ex.i.Config.Limits, ex.i.Config.MaxOutput)
		}
	}
	return text, ex.view.called(it)
}

// record keeps what the next request of this conversation needs.
func (ex *exchange) record() {
	id, _ := rawjson.Unquote(ex.constants["id"])
	if len(ex.calls) == 0 {
		return
	}
	ttl := ex.i.Config.Limits.TTL
	ex.i.Records.keep(&record{owner: ex.req.owner, id: id, calls: ex.calls, response: ex.responseRecord()}, ttl)
	if key := ex.req.conversationKey(); key != "" && len(ex.unseen) > 0 {
		ex.i.Records.keep(&record{owner: ex.req.owner, id: key, response: responseRecord{unseen: ex.unseen, container: ex.lease.ID()}}, ttl)
	}
}

func (ex *exchange) responseRecord() responseRecord {
	rec := responseRecord{upstreamID: ex.upstreamID, unseen: ex.unseen, container: ex.lease.ID(), turns: ex.upstreamIDs}
	if !ex.req.stateless {
		rec.final = ex.shown
	}
	return rec
}
