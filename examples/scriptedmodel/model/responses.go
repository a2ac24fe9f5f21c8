package model

import (
	"encoding/json"
	"net/http"
	"slices"
	"time"
)

// responseRequest is a checked POST /v1/responses.
type responseRequest struct {
	fields
	include      []string
	conversation conversation
	own, all     []json.RawMessage
	inputTokens  int
}

func (m *Model) createResponse(w http.ResponseWriter, r *http.Request) {
	request, err := m.readResponseRequest(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	said := play(request.conversation, request.number("max_output_tokens"))
	id := newID("resp_")
	output := outputItems(said, slices.Contains(request.include, "reasoning.encrypted_content"))
	started := request.response(id)
	finished := request.finished(started, said, output)

	m.store.keep(id, stored{
		response: marshal(finished), input: request.own, items: request.all,
	}, output, request.boolean("store", true))

	if !request.boolean("stream", false) {
		writeJSON(w, http.StatusOK, finished)
		return
	}
	var options fields
	_ = json.Unmarshal(request.fields["stream_options"], &options)
	events := &responseStream{
		stream:    newStream(w, r, m.delay),
		obfuscate: options.boolean("include_obfuscation", true),
	}
	events.write(started, output, finished)
}

func (m *Model) countTokens(w http.ResponseWriter, r *http.Request) {
	request, err := m.readResponseRequest(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, object{"object": "response.input_tokens", "input_tokens": request.inputTokens})
}

func (m *Model) readResponseRequest(w http.ResponseWriter, r *http.Request) (*responseRequest, *apiError) {
	raw, err := m.read(w, r)
	if err != nil {
		return nil, err
	}
	request := &responseRequest{fields: raw}
	if err := checkParams(raw, responseParams); err != nil {
		return nil, err
	}
	if raw.has("conversation") {
		return nil, invalid("conversation", "", "This stand-in for a model keeps no conversations.")
	}
	if request.include, err = checkInclude(raw["include"]); err != nil {
		return nil, err
	}
	c := &request.conversation
	if c.tools, err = readTools(raw["tools"], false); err != nil {
		return nil, err
	}
	if c.choice, err = readChoice(raw["tool_choice"], c.tools, false); err != nil {
		return nil, err
	}
	if request.own, request.all, err = m.readInput(raw); err != nil {
		return nil, err
	}
	c.user, c.results, err = m.readItems(request.all, len(request.all)-len(request.own))
	request.inputTokens = tokens(string(raw["instructions"])) + tokens(string(raw["tools"]))
	for _, item := range request.all {
		request.inputTokens += tokens(string(item))
	}
	return request, err
}

// response returns the response object as it is when the answer begins.
func (r *responseRequest) response(id string) object {
	response := object{
		"id": id, "object": "response", "created_at": time.Now().Unix(), "completed_at": nil,
		"status": "in_progress", "background": false, "error": nil, "incomplete_details": nil,
		"output": []object{}, "usage": nil,
	}
	defaults := object{
		"instructions": nil, "max_output_tokens": nil, "max_tool_calls": nil, "model": nil,
		"parallel_tool_calls": true, "previous_response_id": nil, "prompt_cache_key": nil,
		"reasoning": object{"effort": nil, "summary": nil}, "safety_identifier": nil,
		"service_tier": "default", "store": true, "temperature": 1.0,
		"text":        object{"format": object{"type": "text"}, "verbosity": "medium"},
		"tool_choice": "auto", "tools": []object{}, "top_logprobs": 0, "top_p": 1.0,
		"truncation": "disabled", "user": nil, "metadata": object{},
	}
	for key, value := range defaults {
		if r.has(key) {
			value = r.fields[key]
		}
		response[key] = value
	}
	return response
}

// finished returns the response object as it is at the end.
func (r *responseRequest) finished(started object, said answer, output []object) object {
	response := make(object, len(started))
	for key, value := range started {
		response[key] = value
	}
	response["status"], response["completed_at"] = "completed", time.Now().Unix()
	if said.cut {
		response["status"], response["completed_at"] = "incomplete", nil
		response["incomplete_details"] = object{"reason": "max_output_tokens"}
	}
	response["output"] = output
	response["usage"] = object{
		"input_tokens": r.inputTokens, "input_tokens_details": object{"cached_tokens": 0},
		"output_tokens":         said.tokens.output,
		"output_tokens_details": object{"reasoning_tokens": said.tokens.reasoning},
		"total_tokens":          r.inputTokens + said.tokens.output,
	}
	return response
}

// outputItems makes the items of an answer.
func outputItems(said answer, encrypted bool) []object {
	items := make([]object, 0, len(said.steps))
	for _, s := range said.steps {
		status := "completed"
		if s.cut {
			status = "incomplete"
		}
		switch s.kind {
		case "reasoning":
			item := object{"id": newID("rs_"), "type": "reasoning", "summary": []object{{"type": "summary_text", "text": s.text}}}
			if encrypted {
				item["encrypted_content"] = newID("gAAAA")
			}
			items = append(items, item)
		case "message":
			items = append(items, object{"id": newID("msg_"), "type": "message", "status": status, "role": "assistant",
				"content": []object{textPart(s.text)}})
		case "call":
			items = append(items, object{"id": newID("fc_"), "type": "function_call", "status": status,
				"call_id": newCallID(), "name": s.name, "arguments": s.args})
		}
	}
	return items
}

func textPart(text string) object {
	return object{"type": "output_text", "annotations": []object{}, "logprobs": []object{}, "text": text}
}

// responseStream writes a response as events.
type responseStream struct {
	*stream
	sequence  int
	obfuscate bool
}

func (s *responseStream) event(kind string, members object) {
	members["type"], members["sequence_number"] = kind, s.sequence
	s.sequence++
	s.send(kind, marshal(members))
}

func (s *responseStream) write(started object, output []object, finished object) {
	s.event("response.created", object{"response": started})
	s.event("response.in_progress", object{"response": started})
	for i, item := range output {
		switch item["type"] {
		case "reasoning":
			s.reasoning(i, item)
		case "message":
			s.message(i, item)
		case "function_call":
			s.call(i, item)
		}
	}
	s.event("response."+finished["status"].(string), object{"response": finished})
}

// added announces an item as the original will be, with some members empty.
func (s *responseStream) added(index int, item, empty object) {
	first := make(object, len(item))
	for key, value := range item {
		first[key] = value
	}
	for key, value := range empty {
		first[key] = value
	}
	s.event("response.output_item.added", object{"output_index": index, "item": first})
}

func (s *responseStream) done(index int, item object) {
	s.event("response.output_item.done", object{"output_index": index, "item": item})
}

// deltas streams a text as deltas of one kind; at says where they belong.
func (s *responseStream) deltas(kind, text string, at object) {
	for _, piece := range pieces(text) {
		s.pause()
		members := with(at, "delta", piece)
		if s.obfuscate {
			members["obfuscation"] = padding(piece)
		}
		s.event(kind, members)
	}
}

func (s *responseStream) reasoning(index int, item object) {
	summary := item["summary"].([]object)[0]
	text := summary["text"].(string)
	at := object{"item_id": item["id"], "output_index": index, "summary_index": 0}
	s.added(index, item, object{"summary": []object{}})
	s.event("response.reasoning_summary_part.added", with(at, "part", object{"type": "summary_text", "text": ""}))
	s.deltas("response.reasoning_summary_text.delta", text, at)
	s.event("response.reasoning_summary_text.done", with(at, "text", text))
	s.event("response.reasoning_summary_part.done", with(at, "part", summary))
	s.done(index, item)
}

func (s *responseStream) message(index int, item object) {
	part := item["content"].([]object)[0]
	text := part["text"].(string)
	at := object{"item_id": item["id"], "output_index": index, "content_index": 0}
	s.added(index, item, object{"status": "in_progress", "content": []object{}})
	s.event("response.content_part.added", with(at, "part", textPart("")))
	s.deltas("response.output_text.delta", text, with(at, "logprobs", []object{}))
	s.event("response.output_text.done", with(with(at, "logprobs", []object{}), "text", text))
	s.event("response.content_part.done", with(at, "part", part))
	s.done(index, item)
}

func (s *responseStream) call(index int, item object) {
	arguments := item["arguments"].(string)
	at := object{"item_id": item["id"], "output_index": index}
	s.added(index, item, object{"status": "in_progress", "arguments": ""})
	s.deltas("response.function_call_arguments.delta", arguments, at)
	s.event("response.function_call_arguments.done", with(at, "arguments", arguments))
	s.done(index, item)
}

// with returns a copy of an object with one more member.
func with(o object, key string, value any) object {
	longer := make(object, len(o)+3)
	for k, v := range o {
		longer[k] = v
	}
	longer[key] = value
	return longer
}
