package interceptor

import (
	"context"
	"errors"
	"net/http"

	"github.com/codeinterp/caddy-code-interpreter/internal/rawjson"
)

// forwardOnce serves the paths beside the loop (input_tokens, compact): the
// request is rewritten like a turn's and sent once, and calls of ours in the
// answer's output become what the client knows them as.
func (i *Interceptor) forwardOnce(ctx context.Context, w http.ResponseWriter, up Upstream, req *request) error {
	req.maxToolCalls, req.maxOutputTokens = -1, -1
	ex := i.newExchange(req, nil, up)
	ex.turns = 1
	return i.translate(ctx, w, req, "output", func(ctx context.Context, answer Answer) error {
		return up.Turn(ctx, ex.body(false), answer)
	})
}

// translate passes one upstream answer on, with the calls of ours in the list
// that the member holds as the client knows them.
func (i *Interceptor) translate(ctx context.Context, w http.ResponseWriter, req *request, member string,
	forward func(ctx context.Context, answer Answer) error,
) error {
	r := &turnReader{ex: i.newExchange(req, nil, nil), turn: &turn{}}
	err := forward(ctx, r)
	if err == nil {
		r.turn.raw, err = r.decoded()
	}
	switch {
	case ctx.Err() != nil || errors.Is(err, ErrClientGone):
		w.WriteHeader(499)
		return nil
	case err != nil && isOurs(err):
		turnError(err).Write(w)
		return nil
	case err != nil:
		return err
	}
	if o, err := rawjson.ParseLenient(r.turn.raw); err == nil && o.Has(member) {
		o.Set(member, rawjson.Array(publicItems(o, member, req.toolName)))
		r.turn.raw = o.Bytes()
	}
	writeRefusal(w, r.turn, req.toolName)
	return nil
}

func publicItems(o *rawjson.Object, member, toolName string) []rawjson.Value {
	items, _ := o.Arr(member)
	outputs := map[string]string{}
	for _, v := range items {
		if item, err := rawjson.ParseLenient(v); err == nil && item.Str("type") == "function_call_output" {
			outputs[item.Str("call_id")] = item.Str("output")
		}
	}
	ours := map[string]bool{}
	out := []rawjson.Value{}
	for _, v := range items {
		item, err := rawjson.ParseLenient(v)
		switch {
		case err == nil && item.Str("type") == "function_call" && item.Str("name") == toolName:
			id := item.Str("call_id")
			ours[id] = true
			c := &call{status: statusCompleted}
			c.finish(item.Str("arguments"), len(item.Str("arguments")))
			shown := c.item(clientID(item.Str("id")), "", false)
			if text, ok := outputs[id]; ok {
				logs := rawjson.New()
				logs.Set("type", rawjson.String("logs"))
				logs.Set("logs", rawjson.String(text))
				shown.Set("outputs", rawjson.Array([]rawjson.Value{logs.Bytes()}))
			}
			out = append(out, shown.Bytes())
		case err == nil && item.Str("type") == "function_call_output" && ours[item.Str("call_id")]:
		default:
			out = append(out, v)
		}
	}
	return out
}
