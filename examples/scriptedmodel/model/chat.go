package model

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// messageKeys are the members that a message may have.
var messageKeys = strings.Fields("role content name refusal annotations audio tool_calls tool_call_id reasoning_content")

func (m *Model) createCompletion(w http.ResponseWriter, r *http.Request) {
	request, c, err := m.readCompletionRequest(w, r)
	if err != nil {
		writeError(w, err)
		return
	}
	limit := request.number("max_completion_tokens")
	if limit == 0 {
		limit = request.number("max_tokens")
	}
	done := newCompletion(request, play(c, limit))
	if !request.boolean("stream", false) {
		writeJSON(w, http.StatusOK, done.whole())
		return
	}
	var options fields
	_ = json.Unmarshal(request["stream_options"], &options)
	events := &completionStream{
		stream:    newStream(w, r, m.delay),
		head:      done.head("chat.completion.chunk"),
		usage:     options.boolean("include_usage", false),
		obfuscate: options.boolean("include_obfuscation", true),
	}
	events.write(done)
}

func (m *Model) readCompletionRequest(w http.ResponseWriter, r *http.Request) (fields, conversation, *apiError) {
	var c conversation
	request, err := m.read(w, r)
	if err != nil {
		return nil, c, err
	}
	if err := checkParams(request, completionParams); err != nil {
		return nil, c, err
	}
	if c.tools, err = readTools(request["tools"], true); err != nil {
		return nil, c, err
	}
	if c.choice, err = readChoice(request["tool_choice"], c.tools, true); err != nil {
		return nil, c, err
	}
	var messages []fields
	if json.Unmarshal(request["messages"], &messages) != nil || len(messages) == 0 {
		return nil, c, invalid("messages", "invalid_type", "Invalid type for 'messages': expected a list of messages that is not empty.")
	}
	return request, c, c.readMessages(messages)
}

// chatCall is an entry of a message's tool_calls.
type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// readMessages checks the messages and takes from them what the script needs.
func (c *conversation) readMessages(messages []fields) *apiError {
	calls := make(map[string]chatCall) // by call id
	var open []string                  // calls without their output yet
	for i, message := range messages {
		where := fmt.Sprintf("messages.[%d]", i)
		for key := range message {
			if !slices.Contains(messageKeys, key) {
				return invalid(where, "", fmt.Sprintf("Additional properties are not allowed ('%s' was unexpected) - '%s'", key, where))
			}
		}
		role, callID := message.text("role"), message.text("tool_call_id")
		if role != "tool" && len(open) > 0 {
			return noOutputs(where, open)
		}
		switch role {
		case "user":
			c.user, c.results = contentText(message["content"]), nil
		case "system", "developer":
		case "assistant":
			var made []chatCall
			if message.has("tool_calls") && json.Unmarshal(message["tool_calls"], &made) != nil {
				return invalid(where+".tool_calls", "invalid_type", "Invalid type for 'tool_calls'.")
			}
			for j, call := range made {
				at := fmt.Sprintf("%s.tool_calls[%d]", where, j)
				if call.ID == "" || call.Type != "function" || !functionName.MatchString(call.Function.Name) {
					return invalid(at, "invalid_value", fmt.Sprintf("Invalid '%s': a call needs an id, the type 'function' and a name.", at))
				}
				if err := checkArguments(at+".function.arguments", call.Function.Arguments); err != nil {
					return err
				}
				open = append(open, call.ID)
				calls[call.ID] = call
			}
		case "tool":
			at := slices.Index(open, callID)
			if at < 0 {
				return invalid(where+".role", "", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
			}
			open = slices.Delete(open, at, at+1)
			call := calls[callID].Function
			c.results = append(c.results, newResult(call.Name, call.Arguments, contentText(message["content"])))
		default:
			return invalid(where+".role", "invalid_value", fmt.Sprintf("Invalid value: '%s'.", role))
		}
	}
	if len(open) > 0 {
		return noOutputs("messages", open)
	}
	return nil
}

func noOutputs(where string, open []string) *apiError {
	return invalid(where, "", "An assistant message with 'tool_calls' must be followed by tool messages responding to each "+
		"'tool_call_id'. The following tool_call_ids did not have response messages: "+strings.Join(open, ", "))
}

// completion is an answer in the form of a chat completion.
type completion struct {
	id, model, finish      string
	created                int64
	texts                  []string
	reasoning              string
	calls                  []chatCall
	input, output, thought int
}

func newCompletion(request fields, said answer) *completion {
	done := &completion{
		id: newID("chatcmpl-"), created: time.Now().Unix(), model: request.text("model"), finish: "stop",
		input: tokens(string(request["messages"])) + tokens(string(request["tools"])), output: said.tokens.output,
		thought: said.tokens.reasoning,
	}
	for _, s := range said.steps {
		switch s.kind {
		case "reasoning":
			done.reasoning = s.text
		case "message":
			done.texts = append(done.texts, s.text)
		case "call":
			call := chatCall{ID: newCallID(), Type: "function"}
			call.Function.Name, call.Function.Arguments = s.name, s.args
			done.calls = append(done.calls, call)
			done.finish = "tool_calls"
		}
	}
	if said.cut {
		done.finish = "length"
	}
	return done
}

func (c *completion) head(kind string) object {
	return object{"id": c.id, "object": kind, "created": c.created, "model": c.model, "service_tier": "default", "system_fingerprint": "fp_scripted"}
}

func (c *completion) usage() object {
	return object{
		"prompt_tokens": c.input, "completion_tokens": c.output, "total_tokens": c.input + c.output,
		"prompt_tokens_details":     object{"cached_tokens": 0, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": c.thought, "audio_tokens": 0},
	}
}

func (c *completion) content() any {
	if len(c.texts) == 0 {
		return nil
	}
	return strings.Join(c.texts, "\n\n")
}

// whole returns the completion that is not streamed.
func (c *completion) whole() object {
	message := object{"role": "assistant", "content": c.content(), "refusal": nil, "annotations": []object{}}
	if len(c.calls) > 0 {
		message["tool_calls"] = c.calls
	}
	if c.reasoning != "" {
		message["reasoning_content"] = c.reasoning
	}
	body := c.head("chat.completion")
	body["choices"] = []object{{"index": 0, "message": message, "logprobs": nil, "finish_reason": c.finish}}
	body["usage"] = c.usage()
	return body
}

// completionStream writes a completion as chunks.
type completionStream struct {
	*stream
	head             object
	usage, obfuscate bool
}

func (s *completionStream) write(c *completion) {
	s.delta(object{"role": "assistant", "content": nil, "refusal": nil}, nil)
	for _, piece := range pieces(c.reasoning) {
		s.pause()
		s.delta(object{"reasoning_content": piece}, nil)
	}
	if text, ok := c.content().(string); ok {
		for _, piece := range pieces(text) {
			s.pause()
			s.delta(object{"content": piece}, nil)
		}
	}
	for i, call := range c.calls {
		s.delta(object{"tool_calls": []object{{"index": i, "id": call.ID, "type": call.Type,
			"function": object{"name": call.Function.Name, "arguments": ""}}}}, nil)
		for _, piece := range pieces(call.Function.Arguments) {
			s.pause()
			s.delta(object{"tool_calls": []object{{"index": i, "function": object{"arguments": piece}}}}, nil)
		}
	}
	s.delta(object{}, c.finish)
	if s.usage {
		s.chunk(with(with(s.head, "choices", []object{}), "usage", c.usage()))
	}
	s.send("", []byte("[DONE]"))
}

func (s *completionStream) delta(delta object, finish any) {
	chunk := with(s.head, "choices", []object{{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}})
	if s.usage {
		chunk["usage"] = nil
	}
	s.chunk(chunk)
}

// chunk pads the whole chunk to a length of 16n+1, as OpenAI's recordings.
func (s *completionStream) chunk(chunk object) {
	if s.obfuscate {
		chunk["obfuscation"] = ""
		missing := (1 - utf8.RuneCount(marshal(chunk))) & 15
		chunk["obfuscation"] = strings.Repeat("x", missing)
	}
	s.send("", marshal(chunk))
}
