package wirecheck

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// stream is a recording to spoil.
type stream struct {
	t      *testing.T
	events []Event
}

// find returns the index of the nth event of a type, counted from 0; from the
// end when negative.
func (s *stream) find(typ string, nth int) int {
	s.t.Helper()
	var at []int
	for i, e := range s.events {
		if e.Type == typ {
			at = append(at, i)
		}
	}
	if nth < 0 {
		nth += len(at)
	}
	if nth < 0 || nth >= len(at) {
		s.t.Fatalf("there are %d events %s", len(at), typ)
	}
	return at[nth]
}

func (s *stream) edit(i int, f func(object)) {
	s.t.Helper()
	m, err := decode(s.events[i].Data)
	if err != nil {
		s.t.Fatal(err)
	}
	f(m)
	data, err := json.Marshal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	s.events[i].Data = data
}

func (s *stream) set(typ string, nth int, path string, v any) {
	s.edit(s.find(typ, nth), func(m object) { put(m, path, v) })
}

type absent struct{}

// put sets what a path like item.outputs.0.type leads to.
func put(m object, path string, v any) {
	var at any = map[string]any(m)
	steps := strings.Split(path, ".")
	for _, step := range steps[:len(steps)-1] {
		at = member(at, step)
	}
	o := at.(map[string]any)
	if last := steps[len(steps)-1]; v == (absent{}) {
		delete(o, last)
	} else {
		o[last] = v
	}
}

func member(v any, step string) any {
	if list, ok := v.([]any); ok {
		n, _ := strconv.Atoi(step)
		return list[n]
	}
	return v.(map[string]any)[step]
}

// renumber makes sequence numbers right after events were moved, so that they
// are not what the checker finds.
func (s *stream) renumber() {
	for i, e := range s.events {
		if !mustDecode(e).is("sequence_number", i) {
			s.edit(i, func(m object) { m["sequence_number"] = i })
		}
	}
}

func (s *stream) drop(typ string, nth int) {
	i := s.find(typ, nth)
	s.events = slices.Delete(s.events, i, i+1)
	s.renumber()
}

func (s *stream) insert(i int, events ...Event) {
	s.events = slices.Insert(s.events, i, events...)
	s.renumber()
}

func (s *stream) swap(i, j int) {
	s.events[i], s.events[j] = s.events[j], s.events[i]
	s.renumber()
}

const (
	created     = "response.created"
	inProgressT = "response.in_progress"
	completed   = "response.completed"
	added       = "response.output_item.added"
	done        = "response.output_item.done"
	partAdded   = "response.content_part.added"
	partDone    = "response.content_part.done"
	textDelta   = "response.output_text.delta"
	textDone    = "response.output_text.done"
	annotation  = "response.output_text.annotation.added"
	callStarts  = "response.code_interpreter_call.in_progress"
	codeDelta   = "response.code_interpreter_call_code.delta"
	codeDone    = "response.code_interpreter_call_code.done"
	interprets  = "response.code_interpreter_call.interpreting"
	callEnds    = "response.code_interpreter_call.completed"
	argsDelta   = "response.function_call_arguments.delta"
	argsDone    = "response.function_call_arguments.done"
	summaryPart = "response.reasoning_summary_part.added"
	summaryDone = "response.reasoning_summary_text.done"
)

func mustDecode(e Event) object {
	m, err := decode(e.Data)
	if err != nil {
		panic(err)
	}
	return m
}
