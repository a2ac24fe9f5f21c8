package interceptor

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// Statuses of a code_interpreter_call (decision 16).
const (
	statusInProgress = "in_progress"
	statusCompleted  = "completed"
	statusFailed     = "failed"
	statusIncomplete = "incomplete"
)

// call is one call of our function: the upstream's function_call and the
// client's code_interpreter_call in one.
type call struct {
	pieces   pieceReader
	reader   codeReader
	code     strings.Builder // what of the code has been read
	tooLong  bool            // the code passes max_code; the rest is dropped
	complete string          // the upstream's final arguments
	final    bool            // complete is set
	callID   string          // the upstream's, or minted once
	itemID   string          // the upstream's item id

	status  string
	ran     bool // running was shown
	outputs []sandbox.Output
}

// push reads the next piece of the arguments and returns the new code.
func (c *call) push(piece string, maxCode int) string {
	return c.add(c.reader.push(piece), maxCode)
}

// add takes code that was read, as far as it fits.
func (c *call) add(code string, maxCode int) string {
	if c.tooLong {
		return ""
	}
	if fits := maxCode - c.code.Len(); len(code) > fits {
		c.tooLong = true
		for fits > 0 && !utf8.RuneStart(code[fits]) {
			fits--
		}
		code = code[:fits]
	}
	c.code.WriteString(code)
	return code
}

// finish takes the complete arguments and returns the code that no piece
// brought: some upstreams send no deltas at all (wire/openai.md 4.3).
func (c *call) finish(arguments string, maxCode int) string {
	if c.final {
		return ""
	}
	c.complete, c.final = arguments, true
	var whole codeReader
	if rest, extends := strings.CutPrefix(whole.push(arguments), c.code.String()); extends {
		return c.add(rest, maxCode)
	}
	return ""
}

// runnable says whether the arguments hold code to run, and that code.
func (c *call) runnable() (string, bool) {
	if c.tooLong || !c.final {
		return "", false
	}
	code, ok := readArguments(c.complete)
	return code, ok && code == c.code.String()
}

// item is the code_interpreter_call as the client sees it.
func (c *call) item(id, containerID string, showOutputs bool) *rawjson.Object {
	o := rawjson.New()
	o.Set("id", rawjson.String(id))
	o.Set("type", rawjson.String("code_interpreter_call"))
	o.Set("status", rawjson.String(c.status))
	code := ""
	if c.status != statusInProgress {
		code = c.code.String()
	}
	o.Set("code", rawjson.String(code))
	o.Set("container_id", rawjson.String(containerID))
	o.Set("outputs", rawjson.Null)
	if showOutputs {
		o.Set("outputs", outputsValue(c.outputs))
	}
	return o
}

// outputsValue is the outputs member: logs and images in the order in which
// the code made them.
func outputsValue(outputs []sandbox.Output) rawjson.Value {
	values := []rawjson.Value{}
	for _, out := range outputs {
		o := rawjson.New()
		if out.Kind == sandbox.Image {
			o.Set("type", rawjson.String("image"))
			o.Set("url", rawjson.String("data:"+out.MIME+";base64,"+base64.StdEncoding.EncodeToString(out.Data)))
		} else {
			o.Set("type", rawjson.String("logs"))
			o.Set("logs", rawjson.String(out.Text))
		}
		values = append(values, o.Bytes())
	}
	return rawjson.Array(values)
}

// clientID is the id under which a call of ours shows: its fc_ id with the
// prefix exchanged, so that history finds back without a store (decision 8).
func clientID(upstreamID string) string {
	rest := strings.TrimPrefix(upstreamID, "fc_")
	if rest == "" {
		return mintID("ci_")
	}
	return "ci_" + rest
}

// mintID makes an id in OpenAI's form.
func mintID(prefix string) string {
	n := 24
	if prefix == "call_" {
		n = 12
	}
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return prefix + hex.EncodeToString(b)
}

const padding = "aZ4kQ9xT2mB7nVcL"

// obfuscation pads a delta to a multiple of 16 characters, as OpenAI does
// (wire/openai.md 0.5).
func obfuscation(delta string) string {
	return padding[:(16-utf8.RuneCountInString(delta)%16)%16]
}
