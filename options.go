package codeinterp

import (
	"fmt"
	"path"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/codeinterp/caddy-code-interpreter/interceptor"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

const (
	defaultToolName = "run_python"
	// defaultToolDescription must be true of every provider: it is what the
	// model believes.
	defaultToolDescription = "Runs Python code in a stateful session, like a Jupyter notebook: variables, imports and files are kept from one call to the next. The value of the last expression, what was printed, and any traceback are returned; matplotlib figures are shown to the user. Files are kept under /mnt/data, the working directory. There is no internet access and no input()."

	outputsRequested = "requested"
	outputsAlways    = "always"

	// What a client is shown of one execution; the model's share is
	// max_output. An event with such outputs stays far below the line limits
	// of the SDKs (wire/openai.md 7).
	clientOutput     = 1 << 20
	clientImages     = 20
	clientImageBytes = 8 << 20
)

// unit is how an option's number is written and read.
type unit int

const (
	count unit = iota
	bytesize
	duration
)

// number is an option that holds a number: where it is kept, its default, and
// its range. A zero in JSON is the default, as everywhere in Caddy.
type number struct {
	name           string
	unit           unit
	value          *int64
	standard       int64
	least, largest int64
}

// numbers lists the options that hold a number, for the defaults, the range
// checks and the Caddyfile alike.
func (h *Handler) numbers() []number {
	const kib, mib, gib = 1 << 10, 1 << 20, 1 << 30
	const second, day = int64(time.Second), int64(24 * time.Hour)
	cpus := int64(2 * runtime.NumCPU())
	return []number{
		{"ttl", duration, (*int64)(&h.TTL), int64(20 * time.Minute), second, day},
		{"max_turns", count, &h.MaxTurns, 20, 2, 1000},
		{"max_executions", count, &h.MaxExecutions, 40, 1, 10_000},
		{"exec_timeout", duration, (*int64)(&h.ExecTimeout), 60 * second, int64(100 * time.Millisecond), day},
		{"request_timeout", duration, (*int64)(&h.RequestTimeout), int64(9*time.Minute + 30*time.Second), second, day},
		{"max_concurrent_executions", count, &h.MaxConcurrentExecutions, cpus, 1, 100_000},
		{"max_request_body", bytesize, &h.MaxRequestBody, 64 * mib, kib, gib},
		{"max_response", bytesize, &h.MaxResponse, 64 * mib, kib, gib},
		{"max_event", bytesize, &h.MaxEvent, 16 * mib, kib, gib},
		{"max_code", bytesize, &h.MaxCode, mib, kib, 64 * mib},
		{"max_output", bytesize, &h.MaxOutput, 64 * kib, 256, 16 * mib},
		{"sessions_per_identity", count, &h.SessionsPerIdentity, 10, 1, 100_000},
		{"max_containers", count, &h.MaxContainers, 256, 1, 100_000},
		{"keepalive", duration, (*int64)(&h.Keepalive), 10 * second, second, int64(time.Hour)},
	}
}

// check names the option, its range and the value that lies outside.
func (o number) check(v int64) error {
	if v >= o.least && v <= o.largest {
		return nil
	}
	return fmt.Errorf("%s must be between %s and %s, not %s", o.name, o.format(o.least), o.format(o.largest), o.format(v))
}

func (o number) format(v int64) string {
	switch o.unit {
	case duration:
		return time.Duration(v).String()
	case bytesize:
		if v < 0 {
			return fmt.Sprint(v)
		}
		return humanize.IBytes(uint64(v))
	default:
		return fmt.Sprint(v)
	}
}

func (h *Handler) setDefaults() {
	if h.Enabled == nil {
		on := true
		h.Enabled = &on
	}
	for _, o := range h.numbers() {
		if *o.value == 0 {
			*o.value = o.standard
		}
	}
	if h.Outputs == "" {
		h.Outputs = outputsRequested
	}
	if h.ToolName == "" {
		h.ToolName = defaultToolName
	}
	if h.ToolDescription == "" {
		h.ToolDescription = defaultToolDescription
	}
}

func (h *Handler) checkOutputs() error {
	if h.Outputs != outputsRequested && h.Outputs != outputsAlways {
		return fmt.Errorf("outputs must be %q or %q, not %q", outputsRequested, outputsAlways, h.Outputs)
	}
	return nil
}

var toolNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{2,59}$`)

func (h *Handler) checkToolName() error {
	if !toolNames.MatchString(h.ToolName) {
		return fmt.Errorf("tool_name must be 3 to 60 letters, digits, '_' or '-' and begin with a letter or '_', not %q", h.ToolName)
	}
	return nil
}

func (h *Handler) checkModels() error {
	for _, glob := range h.Models {
		if _, err := path.Match(flat(glob), ""); err != nil {
			return fmt.Errorf("models: %q is no glob: %w", glob, err)
		}
	}
	return nil
}

func (h *Handler) checkIdentity() error { return checkPlaceholder("identity", h.Identity) }
func (h *Handler) checkSession() error  { return checkPlaceholder("session", h.Session) }
func (h *Handler) checkProvider() error { return checkPlaceholder("provider", h.Provider) }

var placeholder = regexp.MustCompile(`\{[^{}\s]+\}`)

// checkPlaceholder refuses a text that is the same for every request: as an
// identity it would make one owner of all of them.
func checkPlaceholder(name, text string) error {
	if text == "" {
		return nil
	}
	rest := placeholder.ReplaceAllString(text, "")
	if rest == text || strings.ContainsAny(rest, "{}") {
		return fmt.Errorf("%s must hold a placeholder, such as {http.auth.user.id}, not %q", name, text)
	}
	return nil
}

func (h *Handler) interceptorConfig() interceptor.Config {
	return interceptor.Config{
		ToolName:               h.ToolName,
		ToolDescription:        h.ToolDescription,
		MaxTurns:               int(h.MaxTurns),
		MaxExecutions:          int(h.MaxExecutions),
		RequestTimeout:         time.Duration(h.RequestTimeout),
		MaxResponse:            h.MaxResponse,
		MaxEvent:               int(h.MaxEvent),
		MaxCode:                int(h.MaxCode),
		MaxOutput:              int(h.MaxOutput),
		AlwaysOutputs:          h.Outputs == outputsAlways,
		ForwardLiteLLMMetadata: h.ForwardLiteLLMMetadata,
		Keepalive:              time.Duration(h.Keepalive),
		Limits: sandbox.Limits{
			TTL:                     time.Duration(h.TTL),
			SessionsPerOwner:        int(h.SessionsPerIdentity),
			MaxContainers:           int(h.MaxContainers),
			MaxConcurrentExecutions: int(h.MaxConcurrentExecutions),
			ExecTimeout:             time.Duration(h.ExecTimeout),
			MaxOutput:               max(clientOutput, int(h.MaxOutput)),
			MaxImages:               clientImages,
			MaxImageBytes:           clientImageBytes,
		},
	}
}
