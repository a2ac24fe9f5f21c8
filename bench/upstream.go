package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
)

// streamEvents is how many deltas the streamed answer has.
const streamEvents = 2000

// startUpstream serves the least that an upstream can: it reads the body and
// writes an answer that was made before.
func startUpstream() *httptest.Server {
	completion := []byte(`{"id":"chatcmpl-bench","object":"chat.completion","created":1,"model":"bench","choices":[{"index":0,` +
		`"message":{"role":"assistant","content":"Good day."},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	frames := streamFrames()

	mux := http.NewServeMux()
	whole := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(completion)))
		_, _ = w.Write(completion)
	}
	mux.HandleFunc("POST /v1/chat/completions", whole)
	mux.HandleFunc("POST /whole/responses", whole)
	// Each event goes out by itself, as from a model.
	mux.HandleFunc("POST /v1/responses", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		flusher := http.NewResponseController(w)
		for _, frame := range frames {
			_, _ = w.Write(frame)
			_ = flusher.Flush()
		}
	})
	return httptest.NewServer(mux)
}

// streamFrames makes the events of a message of streamEvents deltas.
func streamFrames() [][]byte {
	var frames [][]byte
	event := func(kind, members string) {
		frames = append(frames, fmt.Appendf(nil, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d,%s}\n\n", kind, kind, len(frames), members))
	}
	response := func(status, output, usage string) string {
		return `"response":{"id":"resp_bench","object":"response","created_at":1,"status":"` + status +
			`","model":"bench","output":[` + output + `],"parallel_tool_calls":true,"tool_choice":"auto","tools":[],"usage":` + usage + `}`
	}
	const at = `"item_id":"msg_bench","output_index":0,"content_index":0,`
	text := strings.Repeat(" word", streamEvents)
	part := `{"type":"output_text","annotations":[],"logprobs":[],"text":"` + text + `"}`
	item := `{"id":"msg_bench","type":"message","status":"completed","role":"assistant","content":[` + part + `]}`

	event("response.created", response("in_progress", "", "null"))
	event("response.in_progress", response("in_progress", "", "null"))
	event("response.output_item.added", `"output_index":0,"item":{"id":"msg_bench","type":"message","status":"in_progress","role":"assistant","content":[]}`)
	event("response.content_part.added", at+`"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
	for range streamEvents {
		event("response.output_text.delta", at+`"delta":" word","logprobs":[],"obfuscation":"abcdefghijk"`)
	}
	event("response.output_text.done", at+`"text":"`+text+`","logprobs":[]`)
	event("response.content_part.done", at+`"part":`+part)
	event("response.output_item.done", `"output_index":0,"item":`+item)
	event("response.completed", response("completed", item, `{"input_tokens":1,"output_tokens":2000,"total_tokens":2001}`))
	return frames
}

// chatBody makes a chat request of a size, with the text of a conversation:
// words, JSON escapes and code, as real ones have.
func chatBody(size int) []byte {
	const passage = "The quick brown fox (see \"Fables\", p. 12) jumps over the lazy dog.\n\tfor i in range(10): print(i_count, x_2)\n"
	messages := []map[string]string{{"role": "system", "content": "You are a helpful assistant."}}
	for length := 0; length < size; length += 1 << 10 {
		role := []string{"user", "assistant"}[len(messages)%2]
		messages = append(messages, map[string]string{"role": role, "content": strings.Repeat(passage, 9)})
	}
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(map[string]any{"model": "bench", "messages": messages, "temperature": 0.7})
	return b.Bytes()
}

func toolBody() []byte {
	return []byte(`{"model":"bench","input":"Say two thousand words.","stream":true,"tools":[{"type":"code_interpreter","container":{"type":"auto"}}]}`)
}
