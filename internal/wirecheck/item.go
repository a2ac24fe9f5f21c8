package wirecheck

// item is the open item.
type item struct {
	id, kind string
	added    object
	content  parts
	summary  parts
	code     text // of a code_interpreter_call
	step     step // of a code_interpreter_call
	input    text // of a function_call and its like
}

// scope says which item an event belongs to, and how it is checked further.
type scope struct {
	kinds []string
	check func(*checker, object)
}

func in(kinds ...string) scope { return scope{kinds: kinds} }

func (s scope) by(check func(*checker, object)) scope {
	s.check = check
	return s
}

// scopes are the events of items that openai-node knows; it throws on others.
var scopes = map[string]scope{
	"response.content_part.added":           in("message", "reasoning").by((*checker).contentPartAdded),
	"response.content_part.done":            in("message", "reasoning").by((*checker).contentPartDone),
	"response.output_text.delta":            in("message").by((*checker).contentDelta),
	"response.output_text.done":             in("message").by((*checker).contentText),
	"response.output_text.annotation.added": in("message").by((*checker).annotation),
	"response.refusal.delta":                in("message").by((*checker).contentDelta),
	"response.refusal.done":                 in("message").by((*checker).contentText),
	"response.reasoning_text.delta":         in("reasoning").by((*checker).contentDelta),
	"response.reasoning_text.done":          in("reasoning").by((*checker).contentText),

	"response.reasoning_summary_part.added": in("reasoning").by((*checker).summaryPartAdded),
	"response.reasoning_summary_part.done":  in("reasoning").by((*checker).summaryPartDone),
	"response.reasoning_summary_text.delta": in("reasoning").by((*checker).summaryDelta),
	"response.reasoning_summary_text.done":  in("reasoning").by((*checker).summaryText),

	"response.code_interpreter_call.in_progress":  in("code_interpreter_call").by((*checker).callInProgress),
	"response.code_interpreter_call_code.delta":   in("code_interpreter_call").by((*checker).codeDelta),
	"response.code_interpreter_call_code.done":    in("code_interpreter_call").by((*checker).codeDone),
	"response.code_interpreter_call.interpreting": in("code_interpreter_call").by((*checker).callInterpreting),
	"response.code_interpreter_call.completed":    in("code_interpreter_call").by((*checker).callCompleted),

	"response.function_call_arguments.delta": in("function_call").by((*checker).inputDelta),
	"response.function_call_arguments.done":  in("function_call").by((*checker).argumentsDone),
	"response.mcp_call_arguments.delta":      in("mcp_call").by((*checker).inputDelta),
	"response.mcp_call_arguments.done":       in("mcp_call").by((*checker).argumentsDone),
	"response.custom_tool_call_input.delta":  in("custom_tool_call").by((*checker).inputDelta),
	"response.custom_tool_call_input.done":   in("custom_tool_call").by((*checker).customInputDone),

	"response.web_search_call.in_progress":         in("web_search_call"),
	"response.web_search_call.searching":           in("web_search_call"),
	"response.web_search_call.completed":           in("web_search_call"),
	"response.file_search_call.in_progress":        in("file_search_call"),
	"response.file_search_call.searching":          in("file_search_call"),
	"response.file_search_call.completed":          in("file_search_call"),
	"response.image_generation_call.in_progress":   in("image_generation_call"),
	"response.image_generation_call.generating":    in("image_generation_call"),
	"response.image_generation_call.partial_image": in("image_generation_call"),
	"response.image_generation_call.completed":     in("image_generation_call"),
	"response.mcp_call.in_progress":                in("mcp_call"),
	"response.mcp_call.completed":                  in("mcp_call"),
	"response.mcp_call.failed":                     in("mcp_call"),
	"response.mcp_list_tools.in_progress":          in("mcp_list_tools"),
	"response.mcp_list_tools.completed":            in("mcp_list_tools"),
	"response.mcp_list_tools.failed":               in("mcp_list_tools"),
}

func (c *checker) itemEvent(typ string, m object) {
	switch typ {
	case "response.output_item.added":
		c.itemAdded(m)
		return
	case "response.output_item.done":
		c.itemDone(m)
		return
	}
	s, known := scopes[typ]
	if !known {
		c.failf("unknown event type")
		return
	}
	if c.open == nil {
		c.failf("no item is open")
		return
	}
	if id := m.str("item_id"); id != c.open.id {
		c.failf("item_id is %q, the open item is %q", id, c.open.id)
	}
	c.outputIndex(m)
	for _, kind := range s.kinds {
		if kind == c.open.kind {
			if s.check != nil {
				s.check(c, m)
			}
			return
		}
	}
	c.failf("is not an event of a %s item", c.open.kind)
}

func (c *checker) outputIndex(m object) {
	if !m.is("output_index", len(c.output)) {
		c.failf("output_index is %v, not %d", m["output_index"], len(c.output))
	}
}

func (c *checker) itemAdded(m object) {
	if c.open != nil {
		c.failf("item %q overlaps: it is not done", c.open.id)
		c.output = append(c.output, c.open.added)
	}
	c.outputIndex(m)
	added := m.obj("item")
	c.unique("item id", added.str("id"))
	c.open = &item{
		id: added.str("id"), kind: added.str("type"), added: added,
		content: parts{index: "content_index"}, summary: parts{index: "summary_index"},
	}
	switch c.open.kind {
	case "":
		c.failf("item has no type")
	case "message":
		c.begins(added, "status", "in_progress")
		c.begins(added, "role", "assistant")
		if !added.isEmptyList("content") {
			c.failf("content of an added message is not []")
		}
	case "reasoning":
		if !added.isEmptyList("summary") {
			c.failf("summary of an added reasoning item is not []")
		}
	case "function_call", "custom_tool_call":
		c.functionAdded(added)
	case "code_interpreter_call":
		c.callAdded(added)
	}
}

// begins checks a member of an added item.
func (c *checker) begins(added object, key, want string) {
	if got, ok := added[key].(string); !ok || got != want {
		c.failf("%s of an added %s is %v, not %q", key, c.open.kind, added[key], want)
	}
}

func (c *checker) itemDone(m object) {
	if c.open == nil {
		c.failf("no item is open")
		return
	}
	c.outputIndex(m)
	done := m.obj("item")
	for _, key := range []string{"id", "type", "call_id", "name", "container_id", "role"} {
		if done.str(key) != c.open.added.str(key) || done.has(key) != c.open.added.has(key) {
			c.failf("%s of the done item is %v, added was %v", key, done[key], c.open.added[key])
		}
	}
	switch c.open.kind {
	case "message":
		c.doneStatus(done)
		c.partsDone(&c.open.content, done, "content")
	case "reasoning":
		c.partsDone(&c.open.content, done, "content")
		c.partsDone(&c.open.summary, done, "summary")
	case "function_call", "mcp_call":
		c.inputItemDone(done, "arguments")
	case "custom_tool_call":
		c.inputItemDone(done, "input")
	case "code_interpreter_call":
		c.callDone(done)
	}
	c.output = append(c.output, done)
	c.open = nil
}

func (c *checker) doneStatus(done object) {
	switch done.str("status") {
	case "completed", "incomplete", "failed":
	default:
		c.failf("status of a done %s is %v", c.open.kind, done["status"])
	}
}
