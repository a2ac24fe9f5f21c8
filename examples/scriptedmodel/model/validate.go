package model

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// responseParams are the parameters of POST /v1/responses. Those that the
// model's host would have to act on, such as background, are not among them.
var responseParams = strings.Fields(`
	conversation include input instructions max_output_tokens max_tool_calls metadata model
	parallel_tool_calls previous_response_id prompt_cache_key prompt_cache_retention reasoning
	safety_identifier service_tier store stream stream_options temperature text tool_choice tools
	top_logprobs top_p truncation user`)

// completionParams are the parameters of POST /v1/chat/completions.
var completionParams = strings.Fields(`
	frequency_penalty logit_bias logprobs max_completion_tokens max_tokens messages metadata model n
	parallel_tool_calls presence_penalty prompt_cache_key reasoning_effort response_format
	safety_identifier seed service_tier stop store stream stream_options temperature tool_choice tools
	top_logprobs top_p user verbosity`)

// includable is what a request may ask for with "include".
var includable = []string{"reasoning.encrypted_content", "message.output_text.logprobs", "message.input_image.image_url"}

// functionName is what functions may be called.
var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkParams(request fields, known []string) *apiError {
	for name := range request {
		if !slices.Contains(known, name) {
			return invalid(name, "unknown_parameter", fmt.Sprintf("Unknown parameter: '%s'.", name))
		}
	}
	if request.text("model") == "" {
		return invalid("model", "missing_required_parameter", "Missing required parameter: 'model'.")
	}
	return nil
}

// readTools reads the functions of a request. In chat completions their
// members stand under "function".
func readTools(raw json.RawMessage, chat bool) ([]tool, *apiError) {
	var entries []fields
	if len(raw) > 0 && json.Unmarshal(raw, &entries) != nil {
		return nil, invalid("tools", "invalid_type", "Invalid type for 'tools': expected an array of objects.")
	}
	var tools []tool
	for i, entry := range entries {
		if kind := entry.text("type"); kind != "function" {
			at := fmt.Sprintf("tools[%d].type", i)
			return nil, invalid(at, "invalid_value",
				fmt.Sprintf("Invalid value: '%s'. Supported values are: 'function'.", kind))
		}
		function, at := entry, fmt.Sprintf("tools[%d]", i)
		if chat {
			function = nil
			_ = json.Unmarshal(entry["function"], &function)
			at += ".function"
		}
		name := function.text("name")
		if !functionName.MatchString(name) {
			return nil, invalid(at+".name", "invalid_value",
				fmt.Sprintf("Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '%s'.", at, functionName))
		}
		if slices.ContainsFunc(tools, func(t tool) bool { return t.name == name }) {
			return nil, invalid(at+".name", "invalid_value", fmt.Sprintf("Function names must be unique: '%s' is declared twice.", name))
		}
		var schema struct{ Properties fields }
		_ = json.Unmarshal(function["parameters"], &schema)
		tools = append(tools, tool{name: name, takesCode: schema.Properties.has("code")})
	}
	return tools, nil
}

// readChoice reads tool_choice, whose names must be among the tools.
func readChoice(raw json.RawMessage, tools []tool, chat bool) (choice, *apiError) {
	if len(raw) == 0 || string(raw) == "null" {
		return choice{mode: "auto"}, nil
	}
	var mode string
	if json.Unmarshal(raw, &mode) == nil {
		if !slices.Contains([]string{"none", "auto", "required"}, mode) {
			return choice{}, invalid("tool_choice", "invalid_value",
				fmt.Sprintf("Invalid value: '%s'. Supported values are: 'none', 'auto', and 'required'.", mode))
		}
		if mode == "required" && len(tools) == 0 {
			return choice{}, invalid("tool_choice", "", "Tool choice 'required' must be specified with 'tools' parameter.")
		}
		return choice{mode: mode}, nil
	}

	var named fields
	_ = json.Unmarshal(raw, &named)
	switch kind := named.text("type"); kind {
	case "function":
		name, err := chosenName(named, tools, chat)
		return choice{mode: "required", names: []string{name}}, err
	case "allowed_tools":
		if chat {
			inner := named["allowed_tools"]
			named = nil
			_ = json.Unmarshal(inner, &named)
		}
		allowed := choice{mode: named.text("mode"), names: []string{}}
		var entries []fields
		_ = json.Unmarshal(named["tools"], &entries)
		for _, entry := range entries {
			name, err := chosenName(entry, tools, chat)
			if err != nil {
				return choice{}, err
			}
			allowed.names = append(allowed.names, name)
		}
		return allowed, nil
	default:
		return choice{}, invalid("tool_choice.type", "invalid_value",
			fmt.Sprintf("Invalid value: '%s'. Supported values are: 'function' and 'allowed_tools'.", kind))
	}
}

func chosenName(entry fields, tools []tool, chat bool) (string, *apiError) {
	if kind := entry.text("type"); kind != "function" {
		return "", invalid("tool_choice", "invalid_value", fmt.Sprintf("Tool choice '%s' not found in 'tools' parameter.", kind))
	}
	if chat {
		inner := entry["function"]
		entry = nil
		_ = json.Unmarshal(inner, &entry)
	}
	name := entry.text("name")
	if !slices.ContainsFunc(tools, func(t tool) bool { return t.name == name }) {
		return "", invalid("tool_choice", "", fmt.Sprintf("Tool choice 'function' not found in 'tools' parameter: '%s'.", name))
	}
	return name, nil
}

// checkInclude refuses what only the host of a tool could give.
func checkInclude(raw json.RawMessage) ([]string, *apiError) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var include []string
	if json.Unmarshal(raw, &include) != nil {
		return nil, invalid("include", "invalid_type", "Invalid type for 'include': expected an array of strings.")
	}
	for i, value := range include {
		if !slices.Contains(includable, value) {
			return nil, invalid(fmt.Sprintf("include[%d]", i), "invalid_value",
				fmt.Sprintf("Invalid value: '%s'. Supported values are: '%s'.", value, strings.Join(includable, "', '")))
		}
	}
	return include, nil
}

// checkArguments refuses historical arguments that are not a JSON object, as
// Ollama and vLLM do.
func checkArguments(at, arguments string) *apiError {
	var any fields
	if json.Unmarshal([]byte(arguments), &any) != nil || any == nil {
		return invalid(at, "invalid_value", fmt.Sprintf("Invalid '%s': the arguments of a call must be a JSON object.", at))
	}
	return nil
}

// contentText joins the texts of a content or output, which is a string or a
// list of parts. Pictures show as "[image]".
func contentText(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []fields
	_ = json.Unmarshal(raw, &parts)
	var texts []string
	for _, part := range parts {
		if strings.Contains(part.text("type"), "image") {
			texts = append(texts, "[image]")
		} else {
			texts = append(texts, part.text("text"))
		}
	}
	return strings.Join(texts, "\n")
}
