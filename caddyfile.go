package codeinterp

import (
	"strconv"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
	"github.com/caddyserver/caddy/v2/caddyconfig/httpcaddyfile"
	"github.com/caddyserver/caddy/v2/modules/caddyhttp"
	"github.com/dustin/go-humanize"
)

const directive = "code_interpreter"

func init() {
	httpcaddyfile.RegisterHandlerDirective(directive, parseCaddyfile)
	// Inside encode, which compresses our answer once, and intercept, which
	// sees only the final one; outside everything that runs once per turn.
	httpcaddyfile.RegisterDirectiveOrder(directive, httpcaddyfile.After, "intercept")
}

func parseCaddyfile(h httpcaddyfile.Helper) (caddyhttp.MiddlewareHandler, error) {
	handler := new(Handler)
	return handler, handler.UnmarshalCaddyfile(h.Dispenser)
}

// UnmarshalCaddyfile sets up the handler from Caddyfile tokens. Syntax:
//
//	code_interpreter [<matcher>] {
//		enabled true|false
//		sandbox <provider> {
//			...
//		}
//		ttl                       <duration>
//		max_turns                 <count>
//		max_executions            <count>
//		exec_timeout              <duration>
//		request_timeout           <duration>
//		max_concurrent_executions <count>
//		max_request_body          <size>
//		max_response              <size>
//		max_event                 <size>
//		max_code                  <size>
//		max_output                <size>
//		sessions_per_identity     <count>
//		max_containers            <count>
//		identity                  <placeholder>
//		session                   <placeholder>
//		models                    <glob...>
//		enabled_providers         <name...>
//		provider                  <placeholder>
//		outputs                   requested|always
//		tool_name                 <name>
//		tool_description          <text>
//		keepalive                 <duration>
//		forward_litellm_metadata
//	}
func (h *Handler) UnmarshalCaddyfile(d *caddyfile.Dispenser) error {
	d.Next() // consume the directive's name
	if d.NextArg() {
		return d.ArgErr()
	}
	seen := map[string]bool{}
	for nesting := d.Nesting(); d.NextBlock(nesting); {
		name := d.Val()
		list := name == "models" || name == "enabled_providers"
		if seen[name] && !list {
			return d.Errf("%s already specified", name)
		}
		seen[name] = true
		if err := h.unmarshalOption(d, name); err != nil {
			return err
		}
	}
	return nil
}

func (h *Handler) unmarshalOption(d *caddyfile.Dispenser, name string) error {
	switch name {
	case "enabled":
		return h.unmarshalEnabled(d)
	case "sandbox":
		return h.unmarshalSandbox(d)
	case "models":
		return unmarshalList(d, &h.Models, h.checkModels)
	case "enabled_providers":
		return unmarshalList(d, &h.EnabledProviders, nil)
	case "identity":
		return unmarshalText(d, &h.Identity, h.checkIdentity)
	case "session":
		return unmarshalText(d, &h.Session, h.checkSession)
	case "provider":
		return unmarshalText(d, &h.Provider, h.checkProvider)
	case "outputs":
		return unmarshalText(d, &h.Outputs, h.checkOutputs)
	case "tool_name":
		return unmarshalText(d, &h.ToolName, h.checkToolName)
	case "tool_description":
		return unmarshalText(d, &h.ToolDescription, nil)
	case "forward_litellm_metadata":
		h.ForwardLiteLLMMetadata = true
		if d.NextArg() {
			return d.ArgErr()
		}
		return nil
	}
	for _, o := range h.numbers() {
		if o.name == name {
			return unmarshalNumber(d, o)
		}
	}
	return d.Errf("unrecognized subdirective: %s", name)
}

func (h *Handler) unmarshalEnabled(d *caddyfile.Dispenser) error {
	var text string
	if err := unmarshalText(d, &text, nil); err != nil {
		return err
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return d.Errf("enabled must be true or false, not %q", text)
	}
	h.Enabled = &on
	return nil
}

func (h *Handler) unmarshalSandbox(d *caddyfile.Dispenser) error {
	if !d.NextArg() {
		return d.ArgErr()
	}
	provider := d.Val()
	mod, err := caddyfile.UnmarshalModule(d, "http.handlers.code_interpreter.sandboxes."+provider)
	if err != nil {
		return err
	}
	h.SandboxRaw = caddyconfig.JSONModuleObject(mod, "provider", provider, nil)
	return nil
}

func unmarshalList(d *caddyfile.Dispenser, list *[]string, check func() error) error {
	args := d.RemainingArgs()
	if len(args) == 0 {
		return d.ArgErr()
	}
	*list = append(*list, args...)
	return checked(d, check)
}

// unmarshalText reads the only argument of an option.
func unmarshalText(d *caddyfile.Dispenser, text *string, check func() error) error {
	if !d.NextArg() || d.Val() == "" {
		return d.ArgErr()
	}
	*text = d.Val()
	if d.NextArg() {
		return d.ArgErr()
	}
	return checked(d, check)
}

// checked adds file and line to what a check says.
func checked(d *caddyfile.Dispenser, check func() error) error {
	if check == nil {
		return nil
	}
	if err := check(); err != nil {
		return d.WrapErr(err)
	}
	return nil
}

func unmarshalNumber(d *caddyfile.Dispenser, o number) error {
	var text string
	if err := unmarshalText(d, &text, nil); err != nil {
		return err
	}
	v, err := o.parse(text)
	if err != nil {
		return d.Errf("%s: %v", o.name, err)
	}
	if err := o.check(v); err != nil {
		return d.WrapErr(err)
	}
	*o.value = v
	return nil
}

func (o number) parse(text string) (int64, error) {
	switch o.unit {
	case duration:
		v, err := caddy.ParseDuration(text)
		return int64(v), err
	case bytesize:
		v, err := humanize.ParseBytes(text)
		return int64(min(v, 1<<62)), err
	default:
		return strconv.ParseInt(text, 10, 64)
	}
}
