package interceptor

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"strings"
	"unicode/utf8"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

const noOutput = "[The code ran and put out nothing.]"

// Tool outputs for calls that were not run. They tell the model what to do
// next (decision 25; cases/reports.md 4).
const (
	badArguments  = `[The call was not run: its arguments must be a JSON object of the form {"code": "<Python code>"}. Call again with that.]`
	codeTooLong   = "[The call was not run: the code is longer than this interpreter takes. Send less code, in several calls.]"
	notOffered    = "[The call was not run: this function is not available for this request. Answer with what you have.]"
	limitReached  = "[The call was not run: this request's limit of code executions is reached. Answer with what you have.]"
	sandboxBusy   = "[The call was not run: the code interpreter is busy. Try again.]"
	sandboxFailed = "[The code interpreter failed and could not run the code. Tell the user, or try once more.]"
)

// resultText is what the model reads of an execution.
func resultText(r sandbox.Report, limits sandbox.Limits, maxOutput int) string {
	var b strings.Builder
	if r.StateLost {
		b.WriteString("[The interpreter was started anew: variables and files of earlier calls are gone.]\n")
	}
	empty := b.Len()
	for _, out := range r.Outputs {
		if out.Kind == sandbox.Image {
			b.WriteString(imageNote(out))
		} else {
			b.WriteString(out.Text)
		}
		if out.Kind != sandbox.Text && !strings.HasSuffix(out.Text, "\n") {
			b.WriteByte('\n')
		}
	}
	text := truncate(b.String(), maxOutput)
	note := endNote(r, limits)
	switch {
	case note != "" && text != "" && !strings.HasSuffix(text, "\n"):
		return text + "\n" + note
	case note == "" && b.Len() == empty:
		return text + noOutput
	default:
		return text + note
	}
}

// endNote says how an execution ended that did not simply run to its end.
func endNote(r sandbox.Report, limits sandbox.Limits) string {
	state := " Variables and files of earlier calls are still there."
	if r.Lost {
		state = " The interpreter's state is lost: variables and files of earlier calls are gone."
	}
	switch {
	case r.TimedOut:
		return fmt.Sprintf("[The code was stopped: it ran longer than %v.%s]", limits.ExecTimeout, state)
	case r.Flooded:
		return "[The code was stopped: it put out too much." + state + "]"
	case r.Outcome == sandbox.Died:
		return "[" + upperFirst(r.Detail) + "." + state + "]"
	case r.Outcome == sandbox.OutOfMemory:
		return "[The code ran out of memory." + state + "]"
	case r.Outcome == sandbox.Interrupted:
		return "[The code was interrupted." + state + "]"
	case r.Outcome == sandbox.Raised && len(r.Outputs) == 0:
		return "[" + r.Detail + "]"
	default:
		return ""
	}
}

func upperFirst(s string) string {
	if s == "" {
		return "The interpreter died"
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// imageNote stands for a picture: base64 would flood the model's context
// (cases/reports.md 79).
func imageNote(out sandbox.Output) string {
	size := ""
	if c, err := png.DecodeConfig(bytes.NewReader(out.Data)); err == nil {
		size = fmt.Sprintf(", %dx%d pixels", c.Width, c.Height)
	}
	return fmt.Sprintf("[An image was made and is available to the user: %s%s, %d bytes.]", out.MIME, size, len(out.Data))
}

// truncate keeps the head and the tail of a text, cut between runes.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, tail := n/2, len(s)-n/2
	for head > 0 && !utf8.RuneStart(s[head]) {
		head--
	}
	for tail < len(s) && !utf8.RuneStart(s[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n… %d bytes omitted …\n%s", s[:head], tail-head, s[tail:])
}

// failureText is what the model reads when an execution could not be made.
func failureText(err error) string {
	if errors.Is(err, sandbox.ErrBusy) {
		return sandboxBusy
	}
	return sandboxFailed
}
