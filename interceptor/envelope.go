package interceptor

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// fallbacks fill the members that sparse upstreams leave out, so that every
// response has OpenAI's keys (wire/openai.md 2.4). A member that the client
// sent is echoed in preference.
var fallbacks = []struct {
	name  string
	value rawjson.Value
}{
	{"object", rawjson.Value(`"response"`)},
	{"background", rawjson.Value(`false`)},
	{"error", rawjson.Null},
	{"incomplete_details", rawjson.Null},
	{"instructions", rawjson.Null},
	{"max_output_tokens", rawjson.Null},
	{"max_tool_calls", rawjson.Null},
	{"parallel_tool_calls", rawjson.Value(`true`)},
	{"previous_response_id", rawjson.Null},
	{"prompt_cache_key", rawjson.Null},
	{"reasoning", rawjson.Value(`{"effort":null,"summary":null}`)},
	{"safety_identifier", rawjson.Null},
	{"service_tier", rawjson.Value(`"auto"`)},
	{"store", rawjson.Value(`true`)},
	{"temperature", rawjson.Value(`1.0`)},
	{"text", rawjson.Value(`{"format":{"type":"text"},"verbosity":"medium"}`)},
	{"tool_choice", rawjson.Value(`"auto"`)},
	{"tools", rawjson.Value(`[]`)},
	{"top_logprobs", rawjson.Value(`0`)},
	{"top_p", rawjson.Value(`1.0`)},
	{"truncation", rawjson.Value(`"disabled"`)},
	{"usage", rawjson.Null},
	{"user", rawjson.Null},
	{"metadata", rawjson.Value(`{}`)},
}

// standard are the members of OpenAI's response object.
var standard = func() map[string]bool {
	names := map[string]bool{"id": true, "created_at": true, "completed_at": true, "model": true, "status": true, "output": true, "prompt": true}
	for _, f := range fallbacks {
		names[f.name] = true
	}
	return names
}()

// ours are the members that are always shown as the client sent them, or as
// their default: the upstream was told something else (cases/litellm.md B8).
var ours = map[string]bool{
	"tools": true, "tool_choice": true, "max_tool_calls": true, "max_output_tokens": true, "previous_response_id": true,
}

// envelope makes the client's response object of an upstream's: one id, one
// time, one model over all turns, and the client's own parameters.
func (ex *exchange) envelope(upstream *rawjson.Object, status string) *rawjson.Object {
	o := upstream.Clone()
	for _, name := range o.Names() {
		if v := o.Get(name); !standard[name] && bytes.Contains(v, []byte(ex.req.toolName)) {
			o.Delete(name) // a vendor's member that shows what the upstream was told
		}
	}
	o.Set("id", ex.constant("id", '"', func() rawjson.Value { return rawjson.String(mintID("resp_")) }))
	o.Set("created_at", ex.constant("created_at", '0', func() rawjson.Value { return rawjson.Int(ex.created) }))
	o.Set("model", ex.constant("model", '"', func() rawjson.Value { return ex.req.client.Get("model") }))
	o.Set("status", rawjson.String(status))
	for _, f := range fallbacks {
		sent := ex.req.client.Get(f.name)
		switch {
		case ours[f.name] && rawjson.IsNull(sent):
			o.Set(f.name, f.value)
		case ours[f.name], !o.Has(f.name) && !rawjson.IsNull(sent):
			o.Set(f.name, sent)
		case !o.Has(f.name):
			o.Set(f.name, f.value)
		}
	}
	o.Delete("output_text") // an SDK's own convenience, stale after a merge
	return o
}

// constant is a member that stays as the first response object had it, if that
// was of its kind.
func (ex *exchange) constant(name string, kind jsontext.Kind, fallback func() rawjson.Value) rawjson.Value {
	if v, ok := ex.constants[name]; ok {
		return v
	}
	var v rawjson.Value
	if ex.first != nil {
		v = ex.first.Get(name)
	}
	if v.Kind() != kind || string(v) == `""` {
		v = fallback()
	}
	ex.constants[name] = v
	return v
}

// opening is the response object of response.created and in_progress.
func (ex *exchange) opening() rawjson.Value {
	o := ex.envelope(ex.first, statusInProgress)
	o.Set("output", rawjson.Value(`[]`))
	o.Set("usage", rawjson.Null)
	o.Set("error", rawjson.Null)
	o.Set("incomplete_details", rawjson.Null)
	return o.Bytes()
}

// final is the response object at the end.
func (ex *exchange) final(t *turn, status string, failure *APIError) []byte {
	base := t.response
	if base == nil {
		base = ex.first
	}
	if base == nil {
		base = rawjson.New()
	}
	o := ex.envelope(base, status)
	output := make([]rawjson.Value, len(ex.output))
	for n, item := range ex.output {
		output[n] = item.Bytes()
	}
	o.Set("output", rawjson.Array(output))
	o.Set("usage", rawjson.Null)
	if ex.usage != nil {
		o.Set("usage", ex.usage)
	}
	if failure != nil {
		e := rawjson.New()
		e.Set("code", rawjson.String(failure.Code))
		e.Set("message", rawjson.String(failure.Message))
		o.Set("error", e.Bytes())
	}
	ex.shown = o.Bytes()
	return ex.shown
}

// show prepares an item that is not our call for the client: an id that is
// neither empty nor repeated, and no secret that it did not ask for.
func (ex *exchange) show(it *item, o *rawjson.Object) *rawjson.Object {
	if it.shownID == "" {
		it.shownID = ex.freeID(it.id, itemPrefix(it.typ))
	}
	if o.Str("id") != it.shownID {
		o.Set("id", rawjson.String(it.shownID))
	}
	ex.showName(it, o)
	if it.typ == "reasoning" && !ex.req.showSecret {
		o.Delete("encrypted_content")
	}
	return o
}

// showName hides the internal name in one that the model made up of it.
func (ex *exchange) showName(it *item, o *rawjson.Object) {
	if it.name == "" || !o.Has("name") {
		return
	}
	name := it.name
	if !ex.req.taken[name] {
		name = publicName(name, ex.req.toolName)
	}
	if o.Str("name") != name {
		o.Set("name", rawjson.String(name))
	}
}

// showCall is the same for a call of ours.
func (ex *exchange) showCall(it *item) *rawjson.Object {
	if it.shownID == "" {
		it.shownID = ex.freeID(clientID(it.id), "ci_")
	}
	return it.call.item(it.shownID, ex.lease.ID(), ex.req.showOutputs)
}

// freeID takes the id, or mints another when it is empty or was seen before
// (decision 8).
func (ex *exchange) freeID(id, prefix string) string {
	if id == "" || ex.ids[id] || strings.Contains(id, ex.req.toolName) {
		id = mintID(prefix)
	}
	ex.ids[id] = true
	return id
}

func itemPrefix(typ string) string {
	switch typ {
	case "message":
		return "msg_"
	case "reasoning":
		return "rs_"
	case "function_call":
		return "fc_"
	default:
		return strings.TrimSuffix(typ, "_call") + "_"
	}
}
