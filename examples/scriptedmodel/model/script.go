package model

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// conversation is what the script looks at, in either protocol.
type conversation struct {
	tools   []tool
	choice  choice
	user    string   // the last user message
	results []result // what tools put out since then, in order
}

// tool is a function that the request declares.
type tool struct {
	name      string
	takesCode bool
}

// choice is a request's tool_choice: whether there may or must be a call, and
// which tools may be called (all, when names is nil).
type choice struct {
	mode  string // "none", "auto" or "required"
	names []string
}

// result is the output of one call. A call that has code counts as one of the
// code tool, also when the request no longer declares that.
type result struct {
	tool    string
	hasCode bool
	output  string
}

// newResult returns the output of a call.
func newResult(name, arguments, output string) result {
	var members fields
	_ = json.Unmarshal([]byte(arguments), &members)
	return result{name, members.has("code"), output}
}

// step is one output item of an answer.
type step struct {
	kind string // "reasoning", "message" or "call"
	text string // the reasoning or the message
	name string // of the called function
	args string // its arguments, JSON
	cut  bool   // ended by the token limit
}

// answer is what the model says in one turn.
type answer struct {
	steps  []step
	cut    bool
	tokens struct{ output, reasoning int }
}

// fence is a Python block, or one that names no language.
var fence = regexp.MustCompile("(?ms)^[ \t]*```[ \t]*(?:python3?|py)?[ \t]*\r?\n(.*?)^[ \t]*```[ \t]*$")

// directive is a word in brackets at the start of the message.
var directive = regexp.MustCompile(`^\s*\[([a-z]+)(?: +([A-Za-z0-9_-]+))?\]`)

// play returns the answer to a conversation.
func play(c conversation, limit int) answer {
	words, rest := directives(c.user)
	var blocks []string
	for _, match := range fence.FindAllStringSubmatch(rest, -1) {
		blocks = append(blocks, match[1])
	}

	var steps []step
	if calls := c.calls(words, blocks); len(calls) > 0 {
		if _, ok := words["reasoning"]; ok {
			steps = append(steps, step{kind: "reasoning", text: "The user wants this code to be run."})
		}
		if _, ok := words["text"]; ok {
			steps = append(steps, step{kind: "message", text: "I'll run this code."})
		}
		steps = append(steps, calls...)
	} else {
		steps = []step{{kind: "message", text: c.message(rest, len(blocks) > 0)}}
	}
	return cutOff(steps, limit)
}

// directives takes the words in brackets off the start of a message.
func directives(message string) (words map[string]string, rest string) {
	words = make(map[string]string)
	rest = message
	for {
		match := directive.FindStringSubmatch(rest)
		if match == nil {
			return words, strings.TrimLeft(rest, " \t\r\n")
		}
		words[match[1]] = match[2]
		rest = rest[len(match[0]):]
	}
}

// calls returns the calls of this turn.
func (c conversation) calls(words map[string]string, blocks []string) []step {
	if c.choice.mode == "none" {
		return nil
	}
	code, hasCode := c.find(func(t tool) bool { return t.takesCode })

	var made int // calls of the code tool since the user's message
	var last string
	for _, r := range c.results {
		if r.hasCode {
			made++
			last = r.output
		}
	}
	var calls []step
	if hasCode {
		for _, block := range next(words, blocks, made, last) {
			calls = append(calls, codeCall(code, block))
		}
	}
	if name := words["mixed"]; name != "" && len(c.results) == 0 {
		if f, ok := c.find(func(t tool) bool { return t.name == name }); ok {
			calls = append(calls, step{kind: "call", name: f.name, args: "{}"})
		}
	}
	if len(calls) > 0 || c.choice.mode != "required" {
		return calls
	}
	// Something must be called although the script has nothing to call.
	if hasCode {
		return []step{codeCall(code, "print('told to call')\n")}
	}
	if t, ok := c.find(func(tool) bool { return true }); ok {
		return []step{{kind: "call", name: t.name, args: "{}"}}
	}
	return nil
}

// find returns the first tool that tool_choice allows and that fits.
func (c conversation) find(fits func(tool) bool) (tool, bool) {
	for _, t := range c.tools {
		if fits(t) && (c.choice.names == nil || slices.Contains(c.choice.names, t.name)) {
			return t, true
		}
	}
	return tool{}, false
}

// next returns the blocks to call in this turn, when made were called before
// and the last of them put out last.
func next(words map[string]string, blocks []string, made int, last string) []string {
	has := func(word string) bool { _, ok := words[word]; return ok }
	switch {
	case len(blocks) == 0:
		return nil
	case has("loop"):
		return blocks[:1]
	case has("parallel") && made == 0:
		return blocks
	case has("repair") && made > 0 && !strings.Contains(last, "Error") && !strings.Contains(last, "Traceback"):
		return nil
	case made < len(blocks):
		return blocks[made : made+1]
	}
	return nil
}

func codeCall(t tool, code string) step {
	return step{kind: "call", name: t.name, args: string(marshal(object{"code": code}))}
}

// message returns the text of a turn without a call.
func (c conversation) message(said string, hasBlock bool) string {
	if len(c.results) == 0 {
		if hasBlock {
			return "There is no tool that I may run this code with."
		}
		return "You said: " + said
	}
	var code, others []string
	for _, r := range c.results {
		if r.hasCode {
			code = append(code, strings.TrimRight(r.output, "\n"))
		} else {
			others = append(others, r.tool+" returned:\n"+r.output)
		}
	}
	if len(code) > 0 {
		others = append([]string{"The code printed:\n" + strings.Join(code, "\n")}, others...)
	}
	return strings.Join(others, "\n")
}

// cutOff counts tokens and drops what is over the limit, unless it is 0.
func cutOff(steps []step, limit int) answer {
	var a answer
	for _, s := range steps {
		whole := &s.text
		if s.kind == "call" {
			whole = &s.args
		}
		used := tokens(*whole)
		if limit > 0 && a.tokens.output+used > limit {
			used = limit - a.tokens.output
			*whole = string([]rune(*whole)[:used*4])
			s.cut, a.cut = true, true
		}
		a.tokens.output += used
		if s.kind == "reasoning" {
			a.tokens.reasoning += used
		}
		a.steps = append(a.steps, s)
		if a.cut {
			break
		}
	}
	return a
}
