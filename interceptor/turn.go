package interceptor

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/klauspost/compress/zstd"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/internal/sse"
)

const (
	maxCallsPerTurn = 128
	maxItemsPerTurn = 1024
)

// turn is what the upstream answered to one request of ours.
type turn struct {
	httpStatus int
	header     http.Header
	raw        []byte          // the body, when it is no response: an error, a page
	response   *rawjson.Object // of the last lifecycle event, or the JSON body
	items      []*item         // in the order in which they began
	failure    *APIError       // the upstream said that it failed
	ended      bool            // the answer was complete
}

// item is one item of a turn's output.
type item struct {
	typ     string
	name    string // of a function or custom tool; "" until it is known
	id      string // the upstream's; may be empty
	index   int64  // the upstream's output_index; -1 when it has none
	added   *rawjson.Object
	done    *rawjson.Object // complete, as the upstream ended it
	draft   draft           // of an item that is not our call
	closing []held          // events that end it when the upstream did not
	call    *call           // when it is a call of our function
	shown   *rawjson.Object // as the client got it
	shownID string
	stream  itemStream // owned by the streamView
}

// isClients says that only the client can answer this item, so that the
// response must end with it (a mixed turn).
func (it *item) isClients() bool {
	switch it.typ {
	case "function_call", "custom_tool_call", "computer_call", "local_shell_call", "shell_call", "apply_patch_call", "mcp_approval_request":
		return it.call == nil
	}
	return false
}

// nameless says that the item may yet turn out to be a call of ours.
func (it *item) nameless() bool {
	return it.name == "" && (it.typ == "function_call" || it.typ == "custom_tool_call")
}

// status is the response's: completed, incomplete, failed.
func (t *turn) status() string {
	if t.response == nil {
		return ""
	}
	if s := t.response.Str("status"); s != "" {
		return s
	}
	return statusCompleted
}

func (t *turn) calls() (ours int, mixed bool) {
	for _, it := range t.items {
		if it.call != nil {
			ours++
		}
		mixed = mixed || it.isClients()
	}
	return ours, mixed
}

// live is told of a turn while it arrives. The JSON view needs none.
type live interface {
	// begin is called with the first response object of the turn.
	begin(t *turn, response *rawjson.Object) error
	// item is called when an item begins.
	item(it *item)
	// event is called for each event of an item that is not our call.
	event(it *item, typ string, data *rawjson.Object) error
	// code is called when an item has turned out to be our call, and
	// whenever more of its code has arrived.
	code(it *item, delta string) error
}

// turnReader is the Answer that makes a turn of what the upstream sends,
// whether it sends JSON or a stream.
type turnReader struct {
	ex      *exchange
	live    live // nil: nobody watches
	turn    *turn
	buffer  bytes.Buffer
	events  *sse.Decoder
	total   int64
	started bool // begin was called
	open    *item
}

func (r *turnReader) Start(status int, header http.Header) error {
	r.turn.httpStatus, r.turn.header = status, header
	media, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
	if status/100 == 2 && media == "text/event-stream" {
		if enc := header.Get("Content-Encoding"); enc != "" && enc != "identity" {
			return fmt.Errorf("%w: a stream with content-encoding %q that was not asked for", ErrAborted, enc)
		}
		r.events = sse.NewDecoder(r.ex.i.Config.MaxEvent, r.event)
	}
	return nil
}

func (r *turnReader) Write(p []byte) (int, error) {
	r.total += int64(len(p))
	if r.total > r.ex.i.Config.MaxResponse {
		return 0, ErrTooLarge
	}
	if r.events != nil {
		n, err := r.events.Write(p)
		if err == sse.ErrEventTooLarge {
			err = ErrTooLarge
		}
		return n, err
	}
	return r.buffer.Write(p)
}

// finish is called when the answer has ended well.
func (r *turnReader) finish() error {
	if r.events != nil {
		_ = r.events.Close() // an unterminated event is dropped, as the SSE specification says
		if !r.turn.ended && r.turn.failure == nil {
			return fmt.Errorf("%w: the stream ended without a terminal event", ErrAborted)
		}
		return r.addUnstreamed()
	}
	body, err := r.decoded()
	if err != nil {
		return err
	}
	o, err := rawjson.ParseLenient(body)
	if err != nil || r.turn.httpStatus/100 != 2 || !o.Has("output") && o.Str("object") != "response" {
		r.turn.raw = body
		return nil
	}
	r.turn.response, r.turn.ended = o, true
	r.judge()
	if r.live != nil {
		if err := r.live.begin(r.turn, o); err != nil {
			return err
		}
	}
	return r.addUnstreamed()
}

// decoded undoes a content coding that the upstream applied unasked.
func (r *turnReader) decoded() ([]byte, error) {
	var src io.Reader
	switch enc := r.turn.header.Get("Content-Encoding"); enc {
	case "", "identity":
		return r.buffer.Bytes(), nil
	case "gzip":
		z, err := gzip.NewReader(&r.buffer)
		if err != nil {
			return nil, fmt.Errorf("%w: reading gzip: %w", ErrAborted, err)
		}
		src = z
	case "zstd":
		z, err := zstd.NewReader(&r.buffer, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, fmt.Errorf("%w: reading zstd: %w", ErrAborted, err)
		}
		defer z.Close()
		src = z
	default:
		return nil, fmt.Errorf("%w: unknown content-encoding %q", ErrAborted, enc)
	}
	r.turn.header.Del("Content-Encoding")
	body, err := io.ReadAll(io.LimitReader(src, r.ex.i.Config.MaxResponse+1))
	if err != nil {
		return nil, fmt.Errorf("%w: decoding the body: %w", ErrAborted, err)
	}
	if int64(len(body)) > r.ex.i.Config.MaxResponse {
		return nil, ErrTooLarge
	}
	return body, nil
}

// addUnstreamed takes over items that only the final response holds, and the
// final form of those whose done event was missing. The final response may
// give an item no id or another one than its events did, and may leave items
// out (wire/openai.md 4.3), so that the rest pair up by type, in order.
func (r *turnReader) addUnstreamed() error {
	if r.turn.response == nil {
		return nil
	}
	output, _ := r.turn.response.Arr("output")
	final := make([]*rawjson.Object, 0, len(output))
	pairs := make([]*item, 0, len(output))
	paired := map[*item]bool{}
	for _, v := range output {
		o, err := rawjson.ParseLenient(v)
		if err != nil {
			continue
		}
		it := r.unpaired(paired, func(it *item) bool { return it.id != "" && it.id == o.Str("id") && it.typ == o.Str("type") })
		final, pairs = append(final, o), append(pairs, it)
	}
	for n, o := range final {
		it := pairs[n]
		if it == nil {
			it = r.unpaired(paired, func(it *item) bool { return it.typ == o.Str("type") })
		}
		if it == nil {
			var err error
			if it, err = r.add(o, -1); err != nil {
				return err
			}
			paired[it] = true
		}
		if it.done == nil {
			if err := r.complete(it, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// unpaired finds the first item that fits and marks it.
func (r *turnReader) unpaired(paired map[*item]bool, fits func(*item) bool) *item {
	for _, it := range r.turn.items {
		if !paired[it] && fits(it) {
			paired[it] = true
			return it
		}
	}
	return nil
}

// byID finds an item by its id: of several the open one, else the last.
func (r *turnReader) byID(id string) *item {
	var found *item
	for _, it := range r.turn.items {
		if id != "" && it.id == id && (found == nil || found.done != nil || it.done == nil) {
			found = it
		}
	}
	return found
}

// add begins an item.
func (r *turnReader) add(o *rawjson.Object, index int64) (*item, error) {
	if len(r.turn.items) >= maxItemsPerTurn {
		return nil, ErrTooLarge
	}
	it := &item{typ: o.Str("type"), id: o.Str("id"), index: index, added: o}
	r.turn.items = append(r.turn.items, it)
	r.open = it
	if r.live != nil {
		r.live.item(it)
	}
	return it, r.identify(it, o)
}

// identify finds out whether a call is one of our function, as soon as its name
// is there. A custom tool's is, too: it differs in that its input is no JSON.
func (r *turnReader) identify(it *item, o *rawjson.Object) error {
	if !it.nameless() {
		return nil
	}
	it.name = o.Str("name")
	if r.ex.req.calls(it.name) {
		it.call = &call{itemID: it.id, status: statusInProgress}
		if n, _ := r.turn.calls(); n > maxCallsPerTurn {
			return ErrTooLarge
		}
	}
	return nil
}

// complete ends an item.
func (r *turnReader) complete(it *item, o *rawjson.Object) error {
	if it.id == "" {
		it.id = o.Str("id")
	}
	if err := r.identify(it, o); err != nil {
		return err
	}
	it.done = o
	if it.call == nil {
		return nil
	}
	it.call.itemID, it.call.callID = it.id, o.Str("call_id")
	if it.call.callID == "" || r.ex.callIDs[it.call.callID] && !r.ex.req.conversation {
		it.call.callID = mintID("call_")
	}
	r.ex.callIDs[it.call.callID] = true
	if it.typ == "custom_tool_call" {
		return r.arguments(it, cleanArguments(o.Str("input")))
	}
	return r.arguments(it, o.Str("arguments"))
}

// arguments takes the complete arguments of our call.
func (r *turnReader) arguments(it *item, arguments string) error {
	delta := it.call.finish(arguments, r.ex.i.Config.MaxCode)
	if r.live == nil {
		return nil
	}
	return r.live.code(it, delta)
}
