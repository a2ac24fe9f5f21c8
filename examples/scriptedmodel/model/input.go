package model

import (
	"encoding/json"
	"fmt"
	"slices"
)

// itemKeys are the item types that the model takes, with the members that an
// item may have beside type, id and status.
var itemKeys = map[string][]string{
	"message":              {"role", "content", "phase"},
	"reasoning":            {"summary", "content", "encrypted_content"},
	"function_call":        {"call_id", "name", "arguments", "namespace"},
	"function_call_output": {"call_id", "output"},
}

// readInput returns the request's own items and, with the conversation before
// them, all items.
func (m *Model) readInput(request fields) (own, all []json.RawMessage, err *apiError) {
	if previous := request.text("previous_response_id"); previous != "" {
		response, ok := m.store.get(previous)
		if !ok {
			return nil, nil, invalid("previous_response_id", "previous_response_not_found",
				fmt.Sprintf("Previous response with id '%s' not found.", previous))
		}
		all = slices.Clone(response.items)
	}

	var text string
	if json.Unmarshal(request["input"], &text) == nil {
		own = []json.RawMessage{marshal(object{"type": "message", "role": "user", "content": text})}
	} else if json.Unmarshal(request["input"], &own) != nil {
		return nil, nil, invalid("input", "invalid_type", "Invalid type for 'input': expected a string or an array of items.")
	}
	for i, raw := range own {
		var item fields
		if json.Unmarshal(raw, &item) != nil {
			return nil, nil, invalid(fmt.Sprintf("input[%d]", i), "invalid_type", "Invalid type: expected an object.")
		}
		if item.text("type") == "item_reference" {
			id := item.text("id")
			known, ok := m.store.item(id)
			if !ok {
				return nil, nil, unknownItem(id)
			}
			own[i] = known
		}
	}
	return own, append(all, own...), nil
}

func unknownItem(id string) *apiError {
	e := invalid("input", "", fmt.Sprintf("Item with id '%s' not found. Items are not persisted when `store` is set to false. "+
		"Try again with `store` set to true, or remove this item from your input.", id))
	e.Status = 404
	return e
}

// readItems checks all items of a conversation and takes from them what the
// script needs. at is where the request's own items begin.
func (m *Model) readItems(all []json.RawMessage, at int) (user string, results []result, err *apiError) {
	items := make([]fields, len(all))
	for i, raw := range all {
		where := fmt.Sprintf("input[%d]", i-at)
		_ = json.Unmarshal(raw, &items[i])
		if err := checkItem(items[i], where); err != nil {
			return "", nil, err
		}
	}
	if err := m.checkLinks(items); err != nil {
		return "", nil, err
	}

	calls := make(map[string]fields) // by call id
	for _, item := range items {
		switch kindOf(item) {
		case "message":
			if item.text("role") == "user" {
				user, results = contentText(item["content"]), nil
			}
		case "function_call":
			calls[item.text("call_id")] = item
		case "function_call_output":
			call := calls[item.text("call_id")]
			results = append(results, newResult(call.text("name"), call.text("arguments"), contentText(item["output"])))
		}
	}
	return user, results, nil
}

func kindOf(item fields) string {
	if kind := item.text("type"); kind != "" || !item.has("role") {
		return kind
	}
	return "message"
}

// checkItem checks an item by itself.
func checkItem(item fields, where string) *apiError {
	kind := kindOf(item)
	keys, ok := itemKeys[kind]
	if !ok {
		return invalid(where, "invalid_value", fmt.Sprintf("Invalid value: '%s'. Supported values are: "+
			"'message', 'reasoning', 'function_call', 'function_call_output', and 'item_reference'.", kind))
	}
	for key := range item {
		if !slices.Contains(keys, key) && key != "type" && key != "id" && key != "status" {
			return invalid(where+"."+key, "unknown_parameter", fmt.Sprintf("Unknown parameter: '%s.%s'.", where, key))
		}
	}
	switch kind {
	case "message":
		if !slices.Contains([]string{"user", "assistant", "system", "developer"}, item.text("role")) {
			return invalid(where+".role", "invalid_value", fmt.Sprintf("Invalid value: '%s'.", item.text("role")))
		}
	case "function_call":
		if !functionName.MatchString(item.text("name")) {
			return invalid(where+".name", "invalid_value", fmt.Sprintf("Invalid '%s.name'.", where))
		}
		if item.text("call_id") == "" {
			return invalid(where+".call_id", "missing_required_parameter", fmt.Sprintf("Missing required parameter: '%s.call_id'.", where))
		}
		return checkArguments(where+".arguments", item.text("arguments"))
	case "function_call_output":
		if !item.has("output") {
			return invalid(where+".output", "missing_required_parameter", fmt.Sprintf("Missing required parameter: '%s.output'.", where))
		}
	}
	return nil
}

// checkLinks checks what items owe to each other: ids are unique, each call
// has one output after it, and reasoning stands before its item.
func (m *Model) checkLinks(items []fields) *apiError {
	ids := make(map[string]bool)
	open := make(map[string]bool) // call id → waits for its output
	var calls []string
	for i, item := range items {
		kind, id, callID := kindOf(item), item.text("id"), item.text("call_id")
		if id != "" && ids[id] {
			return invalid("input", "", fmt.Sprintf("Duplicate item found with id %s. Remove duplicate items from your input and try again.", id))
		}
		switch kind {
		case "function_call":
			if _, ok := open[callID]; ok {
				return invalid("input", "", fmt.Sprintf("Duplicate function call with call_id %s.", callID))
			}
			open[callID] = true
			calls = append(calls, callID)
		case "function_call_output":
			if !open[callID] {
				return invalid("input", "", fmt.Sprintf("No tool call found for function call output with call_id %s.", callID))
			}
			open[callID] = false
		case "reasoning":
			if err := m.checkReasoning(items, i); err != nil {
				return err
			}
		}
		if needed := m.store.reasoningOf(id); kind != "reasoning" && needed != "" && !ids[needed] {
			return invalid("input", "", fmt.Sprintf("Item '%s' of type '%s' was provided without its required 'reasoning' item: '%s'.", id, kind, needed))
		}
		ids[id] = true
	}
	for _, callID := range calls {
		if open[callID] {
			return invalid("input", "", fmt.Sprintf("No tool output found for function call %s.", callID))
		}
	}
	return nil
}

func (m *Model) checkReasoning(items []fields, i int) *apiError {
	id := items[i].text("id")
	if _, ok := m.store.item(id); !ok && !items[i].has("encrypted_content") && !items[i].has("content") {
		return unknownItem(id)
	}
	if i+1 < len(items) {
		next := items[i+1]
		needed := m.store.reasoningOf(next.text("id"))
		if (kindOf(next) == "function_call" || next.text("role") == "assistant") && (needed == "" || needed == id) {
			return nil
		}
	}
	return invalid("input", "", fmt.Sprintf("Item '%s' of type 'reasoning' was provided without its required following item.", id))
}
