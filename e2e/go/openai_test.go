package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

// ask returns a prompt that makes the scripted model run blocks of Python.
func ask(words string, blocks ...string) string {
	var b strings.Builder
	b.WriteString(words + "\nPlease run:\n")
	for _, block := range blocks {
		b.WriteString("```python\n" + block + "\n```\n")
	}
	return b.String()
}

// send is one of the two ways to ask.
type send func(t *testing.T, client openai.Client, request responses.ResponseNewParams) (*responses.Response, error)

// bothWays runs a test by New and by NewStreaming, each on a gateway of its own.
func bothWays(t *testing.T, test func(t *testing.T, g *gateway, send send)) {
	t.Run("New", func(t *testing.T) { test(t, start(t), sendWhole) })
	t.Run("NewStreaming", func(t *testing.T) { test(t, start(t), sendStreaming) })
}

func sendWhole(t *testing.T, client openai.Client, request responses.ResponseNewParams) (*responses.Response, error) {
	return client.Responses.New(context.Background(), request)
}

func sendStreaming(t *testing.T, client openai.Client, request responses.ResponseNewParams) (*responses.Response, error) {
	t.Helper()
	stream := client.Responses.NewStreaming(context.Background(), request)
	defer stream.Close()
	var last *responses.Response
	var sequence, items int64
	var code strings.Builder
	for stream.Next() {
		event := stream.Current()
		if event.SequenceNumber != sequence {
			t.Errorf("%s has sequence_number %d, want %d", event.Type, event.SequenceNumber, sequence)
		}
		sequence++
		switch event.Type {
		case "response.output_item.added":
			if event.OutputIndex != items {
				t.Errorf("item at output_index %d, want %d", event.OutputIndex, items)
			}
			code.Reset()
		case "response.code_interpreter_call_code.delta":
			code.WriteString(event.Delta)
		case "response.output_item.done":
			items++
			if event.Item.Type == "code_interpreter_call" && event.Item.Code != code.String() {
				t.Errorf("the deltas add up to %q, the code is %q", code.String(), event.Item.Code)
			}
		case "response.completed", "response.incomplete", "response.failed":
			last = &event.Response
		}
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if last == nil {
		return nil, errors.New("the stream has no terminal event")
	}
	return last, nil
}

// must returns the response of a request that must succeed.
func must(t *testing.T, send send, client openai.Client, request responses.ResponseNewParams) *responses.Response {
	t.Helper()
	response, err := send(t, client, request)
	if err != nil {
		t.Fatal(err)
	}
	if response.Status != "completed" {
		t.Fatalf("status %s: %s", response.Status, response.RawJSON())
	}
	return response
}

// withTool is a request that has the code interpreter and wants its outputs.
func withTool(input responses.ResponseNewParamsInputUnion, more ...responses.ToolUnionParam) responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "scripted",
		Input: input,
		Tools: append([]responses.ToolUnionParam{{OfCodeInterpreter: &responses.ToolCodeInterpreterParam{
			Container: responses.ToolCodeInterpreterContainerUnionParam{
				OfCodeInterpreterToolAuto: &responses.ToolCodeInterpreterContainerCodeInterpreterContainerAutoParam{},
			},
		}}}, more...),
		Include: []responses.ResponseIncludable{responses.ResponseIncludableCodeInterpreterCallOutputs},
	}
}

func text(s string) responses.ResponseNewParamsInputUnion {
	return responses.ResponseNewParamsInputUnion{OfString: openai.String(s)}
}

func items(list ...responses.ResponseInputItemUnionParam) responses.ResponseNewParamsInputUnion {
	return responses.ResponseNewParamsInputUnion{OfInputItemList: list}
}

func user(s string) responses.ResponseInputItemUnionParam {
	return responses.ResponseInputItemParamOfMessage(s, responses.EasyInputMessageRoleUser)
}

func weather() responses.ToolUnionParam {
	return responses.ToolParamOfFunction("get_weather", map[string]any{"type": "object", "properties": map[string]any{}}, false)
}

// replay turns a response's output into input items, as the SDK's types do.
func replay(t *testing.T, response *responses.Response) []responses.ResponseInputItemUnionParam {
	t.Helper()
	var input []responses.ResponseInputItemUnionParam
	for _, item := range response.Output {
		switch item := item.AsAny().(type) {
		case responses.ResponseOutputMessage:
			p := item.ToParam()
			input = append(input, responses.ResponseInputItemUnionParam{OfOutputMessage: &p})
		case responses.ResponseFunctionToolCall:
			p := item.ToParam()
			input = append(input, responses.ResponseInputItemUnionParam{OfFunctionCall: &p})
		case responses.ResponseReasoningItem:
			p := item.ToParam()
			input = append(input, responses.ResponseInputItemUnionParam{OfReasoning: &p})
		case responses.ResponseCodeInterpreterToolCall:
			p := item.ToParam()
			input = append(input, responses.ResponseInputItemUnionParam{OfCodeInterpreterCall: &p})
		default:
			t.Fatalf("unexpected item %T", item)
		}
	}
	return input
}

func kinds(response *responses.Response) string {
	var names []string
	for _, item := range response.Output {
		names = append(names, item.Type)
	}
	return strings.Join(names, " ")
}

func wantKinds(t *testing.T, response *responses.Response, want string) {
	t.Helper()
	if got := kinds(response); got != want {
		t.Fatalf("got items %s, want %s", got, want)
	}
}

// wantCall checks a code_interpreter_call item.
func wantCall(t *testing.T, item responses.ResponseOutputItemUnion, code, logs string) {
	t.Helper()
	call := item.AsCodeInterpreterCall()
	if !strings.HasPrefix(call.ID, "ci_") || !strings.HasPrefix(call.ContainerID, "cntr_") || call.Status != "completed" {
		t.Errorf("id %q, container %q, status %q", call.ID, call.ContainerID, call.Status)
	}
	if call.Code != code+"\n" {
		t.Errorf("code %q, want %q", call.Code, code+"\n")
	}
	var got strings.Builder
	for _, output := range call.Outputs {
		got.WriteString(output.Logs)
	}
	if got.String() != logs {
		t.Errorf("logs %q, want %q", got.String(), logs)
	}
}

func wantText(t *testing.T, response *responses.Response, parts ...string) {
	t.Helper()
	got := response.OutputText()
	for _, part := range parts {
		if !strings.Contains(got, part) {
			t.Errorf("text %q lacks %q", got, part)
		}
	}
}

func TestPlainAnswer(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateway, send send) {
		response := must(t, send, g.client(apiKey), withTool(text("hello")))
		wantKinds(t, response, "message")
		wantText(t, response, "You said: hello")
		if len(response.Tools) != 1 || response.Tools[0].Type != "code_interpreter" {
			t.Errorf("tools are not as sent: %s", response.RawJSON())
		}
	})
}

func TestCallAndAnswer(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateway, send send) {
		response := must(t, send, g.client(apiKey), withTool(text(ask("", "print(6*7)"))))
		wantKinds(t, response, "code_interpreter_call message")
		wantCall(t, response.Output[0], "print(6*7)", "42\n")
		wantText(t, response, "The code printed:\n42")
		if u := response.Usage; u.OutputTokens == 0 || u.TotalTokens != u.InputTokens+u.OutputTokens {
			t.Errorf("usage %s", u.RawJSON())
		}
	})
}

func TestTwoRoundsShareTheInterpreter(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateway, send send) {
		response := must(t, send, g.client(apiKey), withTool(text(ask("[reasoning] [text]", "x = 20", "print(x + 1)"))))
		wantKinds(t, response, "reasoning message code_interpreter_call reasoning message code_interpreter_call message")
		wantCall(t, response.Output[5], "print(x + 1)", "21\n")
		if response.Output[2].ContainerID != response.Output[5].ContainerID {
			t.Error("two rounds, two containers")
		}
	})
}

func TestModelRepairsAnError(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateway, send send) {
		response := must(t, send, g.client(apiKey), withTool(text(ask("[repair]", "print(1/0)", "print(1/2)", "print('never')"))))
		wantKinds(t, response, "code_interpreter_call code_interpreter_call message")
		wantText(t, response, "ZeroDivisionError", "0.5")
	})
}

func TestSessionBelongsToItsKey(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateway, send send) {
		session := func(code string) responses.ResponseNewParams {
			request := withTool(text(ask("", code)))
			request.Metadata = shared.Metadata{"session_id": "a session"}
			return request
		}
		first := must(t, send, g.client(apiKey), session("kept = 'still here'"))
		second := must(t, send, g.client(apiKey), session("print(kept)"))
		wantCall(t, second.Output[0], "print(kept)", "still here\n")
		if first.Output[0].ContainerID != second.Output[0].ContainerID {
			t.Error("one session, two containers")
		}
		third := must(t, send, g.client(otherKey), session("print(kept)"))
		wantText(t, third, "NameError")
	})
}

func TestMixedTurn(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateway, send send) {
		prompt := ask("[reasoning] [mixed get_weather]", "print('from the code')")
		first := must(t, send, g.client(apiKey), withTool(text(prompt), weather()))
		wantKinds(t, first, "reasoning code_interpreter_call function_call")
		wantCall(t, first.Output[1], "print('from the code')", "from the code\n")

		call := first.Output[2].AsFunctionCall()
		if call.Name != "get_weather" {
			t.Fatalf("the client's call is %s", call.RawJSON())
		}
		output := responses.ResponseInputItemUnionParam{OfFunctionCallOutput: &responses.ResponseInputItemFunctionCallOutputParam{
			CallID: openai.String(call.CallID),
			Output: responses.ResponseInputItemFunctionCallOutputOutputUnionParam{OfString: openai.String("sunny")},
		}}
		t.Run("previous_response_id", func(t *testing.T) {
			request := withTool(items(output), weather())
			request.PreviousResponseID = openai.String(first.ID)
			wantText(t, must(t, send, g.client(apiKey), request), "from the code", "get_weather returned:\nsunny")
		})
		t.Run("whole items", func(t *testing.T) {
			history := append([]responses.ResponseInputItemUnionParam{user(prompt)}, replay(t, first)...)
			request := withTool(items(append(history, output)...), weather())
			wantText(t, must(t, send, g.client(apiKey), request), "from the code", "get_weather returned:\nsunny")
		})
	})
}

func TestHistory(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateway, send send) {
		prompt := ask("[reasoning]", "z = 8", "print(z)")
		first := must(t, send, g.client(apiKey), withTool(text(prompt)))
		t.Run("previous_response_id", func(t *testing.T) {
			request := withTool(text("and now?"))
			request.PreviousResponseID = openai.String(first.ID)
			wantText(t, must(t, send, g.client(apiKey), request), "You said: and now?")
		})
		t.Run("whole items", func(t *testing.T) {
			history := append([]responses.ResponseInputItemUnionParam{user(prompt)}, replay(t, first)...)
			wantText(t, must(t, send, g.client(apiKey), withTool(items(append(history, user("and now?"))...))), "You said: and now?")
		})
		t.Run("whole items, unstored", func(t *testing.T) {
			unstored := func(input responses.ResponseNewParamsInputUnion) responses.ResponseNewParams {
				request := withTool(input)
				request.Store = openai.Bool(false)
				request.Include = append(request.Include, responses.ResponseIncludableReasoningEncryptedContent)
				return request
			}
			first := must(t, send, g.client(apiKey), unstored(text(prompt)))
			history := append([]responses.ResponseInputItemUnionParam{user(prompt)}, replay(t, first)...)
			wantText(t, must(t, send, g.client(apiKey), unstored(items(append(history, user("and now?"))...))), "You said: and now?")
		})
	})
}

// Every forced choice must be relaxed after the first turn, or the scripted
// model calls for ever.
func TestForcedChoiceEnds(t *testing.T) {
	bothWays(t, func(t *testing.T, g *gateway, send send) {
		request := withTool(text(ask("", "print(4)")))
		request.ToolChoice = responses.ResponseNewParamsToolChoiceUnion{
			OfToolChoiceMode: param.NewOpt(responses.ToolChoiceOptionsRequired),
		}
		response := must(t, send, g.client(apiKey), request)
		wantKinds(t, response, "code_interpreter_call message")
	})
}

func TestUpstreamErrorIsPassedOn(t *testing.T) {
	g := start(t)
	client := g.client(apiKey)
	_, err := client.Responses.New(context.Background(), withTool(text("hello")), option.WithJSONSet("no_such_parameter", 1))
	var failure *openai.Error
	if !errors.As(err, &failure) || failure.StatusCode != 400 || failure.Param != "no_such_parameter" {
		t.Errorf("got %v", err)
	}
}

func TestTwelveRequestsAtOnce(t *testing.T) {
	g := start(t)
	client := g.client(apiKey)
	var group sync.WaitGroup
	for i := range 12 {
		group.Go(func() {
			response, err := client.Responses.New(context.Background(), withTool(text(ask("", fmt.Sprintf("print('number', %d)", i)))))
			if err != nil {
				t.Error(err)
				return
			}
			wantText(t, response, fmt.Sprintf("number %d", i))
		})
	}
	group.Wait()
}

func TestChatWithoutTheToolPassesThrough(t *testing.T) {
	g := start(t)
	client := g.client(apiKey)
	request := openai.ChatCompletionNewParams{Model: "scripted", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")}}
	whole, err := client.Chat.Completions.New(context.Background(), request)
	if err != nil || whole.Choices[0].Message.Content != "You said: hello" {
		t.Errorf("got %v %v", whole, err)
	}
	stream := client.Chat.Completions.NewStreaming(context.Background(), request)
	var sum openai.ChatCompletionAccumulator
	for stream.Next() {
		sum.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil || sum.Choices[0].Message.Content != "You said: hello" {
		t.Errorf("got %v %v", sum.Choices, err)
	}
}
