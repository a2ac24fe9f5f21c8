package interceptor

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// rewriteInput makes a list of items of the client's input and translates the
// code_interpreter_call items in it: each becomes the function_call that it
// was, with its output behind it (decision 13; cases/reports.md 45).
func (i *Interceptor) rewriteInput(req *request) error {
	v := req.client.Get("input")
	if text, ok := rawjson.Unquote(v); ok {
		message := rawjson.New()
		message.Set("role", rawjson.String("user"))
		message.Set("content", rawjson.String(text))
		req.input = []rawjson.Value{message.Bytes()}
		return nil
	}
	items, ok := req.client.Arr("input")
	if !ok {
		if rawjson.IsNull(v) {
			return nil
		}
		return badRequest("input", "Invalid type for 'input': expected a string or a list of items.")
	}
	var containers []string
	replay := replay{stateless: req.stateless}
	for _, item := range items {
		o, err := rawjson.ParseLenient(item)
		if err != nil {
			req.input = append(req.input, item)
			continue
		}
		ours := i.refersToOurs(req.owner, o) || o.Str("type") == "code_interpreter_call" && (req.hasTool || i.ours(o))
		if !ours {
			if replay.keeps(o) {
				if replay.dropped {
					item = o.Bytes()
				}
				req.input = append(req.input, item)
			}
			continue
		}
		call, output := i.historyCall(req, o, replay.dropped)
		req.input = append(req.input, call, output)
		if id := o.Str("container_id"); id != "" {
			containers = append(containers, id)
		}
	}
	req.historyContainers = newest(containers)
	return nil
}

// maxHistoryContainers is how many of a history's containers are looked at.
const maxHistoryContainers = 16

// newest returns the last ids, newest first, each once.
func newest(ids []string) []string {
	var out []string
	for _, id := range slices.Backward(ids) {
		if len(out) == maxHistoryContainers {
			break
		}
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// refersToOurs reports whether an item_reference names a call of ours, which
// the upstream knows under another id. Its type may be left out.
func (i *Interceptor) refersToOurs(owner sandbox.Owner, item *rawjson.Object) bool {
	if typ := item.Str("type"); typ != "item_reference" && (typ != "" || item.Has("role")) {
		return false
	}
	_, known := i.Records.Call(owner, item.Str("id"))
	return known
}

// replay decides which items of the model can be sent to it again.
type replay struct {
	stateless bool // store: false
	dropped   bool // a reasoning item of this answer
}

// keeps reports whether the next item can be sent. Where nothing is stored,
// reasoning that holds neither its encrypted form nor its text cannot, and what
// follows it in the answer loses the id that ties it to the reasoning
// (decision 12).
func (r *replay) keeps(item *rawjson.Object) bool {
	if !r.stateless {
		return true
	}
	switch {
	case item.Str("type") == "reasoning":
		content, _ := item.Arr("content")
		r.dropped = item.Str("encrypted_content") == "" && len(content) == 0
		return !r.dropped
	case item.Str("type") == "function_call_output" || item.Has("role") && item.Str("role") != "assistant":
		r.dropped = false // the answer is over
	case r.dropped:
		item.Delete("id")
	}
	return true
}

// historyCall turns a code_interpreter_call back into call and output;
// anonymous says that the call may not be known by its id.
func (i *Interceptor) historyCall(req *request, item *rawjson.Object, anonymous bool) (call, output rawjson.Value) {
	id := item.Str("id")
	rec, known := i.Records.Call(req.owner, id)
	if !known {
		rest := strings.TrimPrefix(id, "ci_")
		rec = callRecord{itemID: "fc_" + rest, callID: historyCallID(rest), output: sentOutputs(item)}
	}
	if item.Str("type") == "code_interpreter_call" {
		rec.code = item.Str("code")
	}
	c := rawjson.New()
	c.Set("type", rawjson.String("function_call"))
	if id != "" && !anonymous {
		c.Set("id", rawjson.String(rec.itemID))
	}
	c.Set("call_id", rawjson.String(rec.callID))
	c.Set("name", rawjson.String(req.toolName))
	c.Set("arguments", rawjson.String(cleanArguments(rec.code)))
	c.Set("status", rawjson.String("completed"))
	return c.Bytes(), functionOutput(rec.callID, rec.output)
}

// sentOutputs is what the client itself says that the code put out.
func sentOutputs(item *rawjson.Object) string {
	outputs, ok := item.Arr("outputs")
	if !ok {
		return "[The output of this execution is no longer available.]"
	}
	var b strings.Builder
	for _, v := range outputs {
		o, err := rawjson.ParseLenient(v)
		if err != nil {
			continue
		}
		if o.Str("type") == "image" {
			b.WriteString("[An image was shown to the user.]\n")
			continue
		}
		b.WriteString(o.Str("logs"))
		if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
			b.WriteByte('\n')
		}
	}
	if b.Len() == 0 {
		return noOutput
	}
	return b.String()
}

// cleanArguments is the only form in which arguments go upstream: servers
// parse historical arguments and refuse all later turns for one bad string
// (decision 7; cases/reports.md 54).
func cleanArguments(code string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(struct {
		Code string `json:"code"`
	}{code})
	return strings.TrimSuffix(b.String(), "\n")
}

// functionOutput is a function_call_output with plain text: array forms are
// refused by some servers (cases/reports.md 55, 56).
func functionOutput(callID, text string) rawjson.Value {
	o := rawjson.New()
	o.Set("type", rawjson.String("function_call_output"))
	o.Set("call_id", rawjson.String(callID))
	o.Set("output", rawjson.String(text))
	return o.Bytes()
}

// historyCallID is the call_id of a call whose upstream's is not known: the
// same for the same item in every request, and never longer than OpenAI takes.
func historyCallID(rest string) string {
	switch id := "call_" + rest; {
	case rest == "":
		return mintID("call_")
	case len(id) > 64:
		sum := sha256.Sum256([]byte(rest))
		return "call_" + hex.EncodeToString(sum[:12])
	default:
		return id
	}
}
