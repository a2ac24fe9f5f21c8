package interceptor

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
	"github.com/codeinterp/caddy-code-interpreter/sandbox"
)

// request is a client's request, validated, with what the upstream shall get.
type request struct {
	owner  sandbox.Owner
	client *rawjson.Object // as the client sent it
	base   *rawjson.Object // as every turn starts from; input and the like are set per turn

	stream       bool
	obfuscate    bool
	toolName     string          // the model-facing function's name, free among the client's
	taken        map[string]bool // names of the client's own tools
	hasTool      bool            // the native tool is among the tools
	showOutputs  bool
	showSecret   bool // the client asked for reasoning.encrypted_content
	stateless    bool // store: false
	conversation bool // the upstream keeps the items of every turn itself

	input             []rawjson.Value // items, history translated
	pending           string          // key of the record whose outputs the input begins with
	container         string          // explicit id
	historyContainers []string        // newest first

	maxToolCalls    int64 // -1: none
	maxOutputTokens int64 // -1: none
	toolChoice      rawjson.Value
}

// parseRequest validates a request and prepares the upstream's form of it.
func (i *Interceptor) parseRequest(r Request) (*request, error) {
	client, err := rawjson.Parse(r.Body)
	if err != nil {
		return nil, jsonError(err)
	}
	req := &request{owner: r.Owner, client: client, base: client.Clone(), maxToolCalls: -1, maxOutputTokens: -1}
	for _, step := range []func(*request) error{
		i.readScalars, i.rewriteTools, i.rewriteToolChoice, i.rewriteInclude, i.rewriteInput, i.rewriteChain,
	} {
		if err := step(req); err != nil {
			return nil, err
		}
	}
	if !i.Config.ForwardLiteLLMMetadata {
		req.base.Delete("litellm_metadata")
	}
	return req, nil
}

func jsonError(err error) *APIError {
	if errors.Is(err, rawjson.ErrDuplicate) {
		return badRequest("", "The request body names a key twice: %v. Send every key once.", err)
	}
	return badRequest("", "The request body is not valid JSON: %v.", err)
}

func (i *Interceptor) readScalars(req *request) error {
	c := req.client
	var ok bool
	if req.stream, ok = c.Bool("stream"); !ok && !rawjson.IsNull(c.Get("stream")) {
		return badRequest("stream", "Invalid type for 'stream': expected a boolean.")
	}
	if background, _ := c.Bool("background"); background {
		return badRequest("background", "'background' cannot be true together with the code_interpreter tool here: the code runs while the request is open. Send it without 'background'.")
	}
	req.obfuscate = true
	if o := c.Obj("stream_options"); o != nil {
		if v, ok := o.Bool("include_obfuscation"); ok {
			req.obfuscate = v
		}
	}
	if store, ok := c.Bool("store"); ok && !store {
		req.stateless = true
	}
	req.conversation = !rawjson.IsNull(c.Get("conversation"))
	var err error
	if req.maxToolCalls, err = limit(c, "max_tool_calls", 0); err != nil {
		return err
	}
	if req.maxOutputTokens, err = limit(c, "max_output_tokens", 1); err != nil {
		return err
	}
	return nil
}

// limit reads an optional whole number; -1 when it is absent.
func limit(c *rawjson.Object, name string, least int64) (int64, error) {
	v := c.Get(name)
	if rawjson.IsNull(v) {
		return -1, nil
	}
	n, ok := c.Int(name)
	if !ok || n < least {
		return 0, badRequest(name, "Invalid '%s': expected an integer of at least %d.", name, least)
	}
	return n, nil
}

// rewriteTools puts one function tool in the place of the first native entry
// and leaves every other tool byte for byte (cases/reports.md 57).
func (i *Interceptor) rewriteTools(req *request) error {
	tools, _ := req.client.Arr("tools")
	req.taken = map[string]bool{}
	parsed := make([]*rawjson.Object, len(tools))
	for n, t := range tools {
		if t.Kind() != '{' {
			continue
		}
		o, err := rawjson.ParseLenient(t)
		if err != nil {
			return jsonError(err)
		}
		parsed[n] = o
		req.taken[o.Str("name")] = true
		if f := o.Obj("function"); f != nil {
			req.taken[f.Str("name")] = true
		}
	}
	req.toolName = freeName(i.Config.ToolName, req.taken)
	var out []rawjson.Value
	for n, t := range tools {
		if parsed[n] == nil || parsed[n].Str("type") != "code_interpreter" {
			if parsed[n] != nil && parsed[n].Str("type") == "container" {
				return badRequest(fmt.Sprintf("tools[%d].type", n), "Unknown tool type 'container'. Name the container inside the tool: {\"type\":\"code_interpreter\",\"container\":\"cntr_…\"}.")
			}
			out = append(out, t)
			continue
		}
		id, err := containerOf(parsed[n], n)
		if err != nil {
			return err
		}
		if req.hasTool {
			if id != req.container {
				return badRequest(fmt.Sprintf("tools[%d].container", n), "Two code_interpreter tools name different containers. Send one.")
			}
			continue
		}
		req.hasTool, req.container = true, id
		out = append(out, i.functionTool(req.toolName))
	}
	if req.hasTool {
		req.base.Set("tools", rawjson.Array(out))
	}
	return nil
}

// aliases are what models call the function that they know from training,
// whatever its name is.
var aliases = map[string]bool{"python": true, "code_interpreter": true, "run_python": true, "execute_python": true}

// calls reports whether a model that calls the name means our function: also
// under an alias that the client did not declare, and with the leftovers of a
// chat template around it (decision 6).
func (req *request) calls(name string) bool {
	if name == req.toolName || !req.hasTool || req.taken[name] {
		return name == req.toolName
	}
	name, _, _ = strings.Cut(strings.TrimSpace(name), "<|")
	for _, prefix := range []string{"functions.", "default_api."} {
		name = strings.TrimPrefix(name, prefix)
	}
	name, _, _ = strings.Cut(name, ":") // functions.name:0
	return name == req.toolName || aliases[name] && !req.taken[name]
}

func freeName(name string, taken map[string]bool) string {
	free := name
	for n := 2; taken[free]; n++ {
		free = name + "_" + strconv.Itoa(n)
	}
	return free
}

func (i *Interceptor) functionTool(name string) rawjson.Value {
	o := rawjson.New()
	o.Set("type", rawjson.String("function"))
	o.Set("name", rawjson.String(name))
	o.Set("description", rawjson.String(i.Config.ToolDescription))
	o.Set("parameters", rawjson.Value(`{"type":"object","properties":{"code":{"type":"string","description":"The Python code to run."}},"required":["code"],"additionalProperties":false}`))
	o.Set("strict", rawjson.Bool(true))
	return o.Bytes()
}

// containerOf reads the tool's container: "" for auto, else an explicit id.
func containerOf(tool *rawjson.Object, n int) (string, error) {
	at := fmt.Sprintf("tools[%d].container", n)
	v := tool.Get("container")
	if rawjson.IsNull(v) {
		e := badRequest(at, "Missing required parameter: '%s'.", at)
		e.Code = "missing_required_parameter"
		return "", e
	}
	if id, ok := rawjson.Unquote(v); ok {
		if id == "" || len(id) > 64 {
			return "", badRequest(at, "Invalid '%s': expected a container id of at most 64 characters.", at)
		}
		return id, nil
	}
	o := tool.Obj("container")
	if o == nil || o.Str("type") != "auto" {
		return "", badRequest(at, "Invalid '%s': expected a container id or an object with type 'auto'.", at)
	}
	for _, name := range o.Names() {
		value := o.Get(name)
		switch name {
		case "type":
		case "file_ids":
			if ids, ok := o.Arr(name); rawjson.IsNull(value) || ok && len(ids) == 0 {
				continue
			}
			return "", unsupported(at, name)
		case "memory_limit", "network_policy":
			if rawjson.IsNull(value) {
				continue
			}
			return "", unsupported(at, name)
		default:
			e := badRequest(at+"."+name, "Unknown parameter: '%s.%s'.", at, name)
			e.Code = "unknown_parameter"
			return "", e
		}
	}
	return "", nil
}

func unsupported(at, name string) *APIError {
	e := badRequest(at+"."+name, "'%s.%s' is not supported by this code interpreter yet. Send the request without it.", at, name)
	e.Code = "unsupported_parameter"
	return e
}

// rewriteToolChoice names the function where the client named the tool. A
// client's own function that is called code_interpreter is left alone
// (cases/litellm.md A10).
func (i *Interceptor) rewriteToolChoice(req *request) error {
	if !req.hasTool {
		return nil
	}
	req.toolChoice = req.client.Get("tool_choice")
	o := req.client.Obj("tool_choice")
	if o == nil {
		return nil
	}
	forced := rawjson.New()
	forced.Set("type", rawjson.String("function"))
	forced.Set("name", rawjson.String(req.toolName))
	switch {
	case isNativeChoice(o):
		req.toolChoice = forced.Bytes()
	case o.Str("type") == "allowed_tools":
		entries, _ := o.Arr("tools")
		out := make([]rawjson.Value, len(entries))
		for n, e := range entries {
			out[n] = e
			if entry, err := rawjson.ParseLenient(e); err == nil && isNativeChoice(entry) {
				out[n] = forced.Bytes()
			}
		}
		o.Set("tools", rawjson.Array(out))
		req.toolChoice = o.Bytes()
	}
	req.base.Set("tool_choice", req.toolChoice)
	return nil
}

func isNativeChoice(o *rawjson.Object) bool {
	return o.Str("type") == "code_interpreter" ||
		o.Str("type") == "hosted_tool" && o.Str("name") == "code_interpreter"
}

// laterChoice is the tool_choice of every turn after the first: what was
// forced once is free from then on (decision 15; cases/reports.md 61).
func (req *request) laterChoice() rawjson.Value {
	if s, ok := rawjson.Unquote(req.toolChoice); ok {
		if s == "required" {
			return rawjson.String("auto")
		}
		return req.toolChoice
	}
	o, err := rawjson.ParseLenient(req.toolChoice)
	switch {
	case rawjson.IsNull(req.toolChoice) || err != nil:
		return req.toolChoice
	case o.Str("type") == "allowed_tools":
		o.Set("mode", rawjson.String("auto"))
		return o.Bytes()
	default:
		return rawjson.String("auto")
	}
}

const (
	includeOutputs = "code_interpreter_call.outputs"
	includeSecret  = "reasoning.encrypted_content"
)

// rewriteInclude keeps what is ours from the upstream, and asks for encrypted
// reasoning when nothing is stored, since later turns need it (decision 12).
func (i *Interceptor) rewriteInclude(req *request) error {
	req.showOutputs = i.Config.AlwaysOutputs
	entries, _ := req.client.Arr("include")
	var out []rawjson.Value
	for _, e := range entries {
		switch s, _ := rawjson.Unquote(e); s {
		case includeOutputs:
			req.showOutputs = true
			continue
		case includeSecret:
			req.showSecret = true
		}
		out = append(out, e)
	}
	if req.stateless && !req.showSecret && req.hasTool {
		out = append(out, rawjson.String(includeSecret))
	}
	switch {
	case len(out) > 0:
		req.base.Set("include", rawjson.Array(out))
	case len(entries) > 0:
		req.base.Delete("include")
	}
	return nil
}

// rewriteChain follows a previous_response_id that names a record of ours to
// the last upstream response, and puts the outputs which that has not seen
// before the new input (decision 11). The same goes for a conversation whose
// last response left calls of ours open.
func (i *Interceptor) rewriteChain(req *request) error {
	id := req.client.Str("previous_response_id")
	if key := req.conversationKey(); key != "" {
		id, req.pending = key, key
	}
	if id == "" {
		return nil
	}
	rec, ok := i.Records.Response(req.owner, id)
	if !ok {
		return nil
	}
	if req.pending == "" {
		req.base.Set("previous_response_id", rawjson.String(rec.upstreamID))
	}
	req.input = append(append([]rawjson.Value{}, rec.unseen...), req.input...)
	req.historyContainers = append(req.historyContainers, rec.container)
	return nil
}

// conversationKey is the key of a conversation's record, which no response's
// id is like.
func (req *request) conversationKey() string {
	id := req.client.Str("conversation")
	if o := req.client.Obj("conversation"); o != nil {
		id = o.Str("id")
	}
	if id == "" {
		return ""
	}
	return "conversation " + id
}
