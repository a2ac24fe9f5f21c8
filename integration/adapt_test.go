package integration

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2"
	"github.com/caddyserver/caddy/v2/caddyconfig"
	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"

	codeinterp "github.com/codeinterp/caddy-code-interpreter"
)

var update = flag.Bool("update", false, "write the JSON of the goldens anew")

// Each golden is a Caddyfile, a line of dashes, and the JSON that it stands
// for or a part of the error that it is refused with, as Caddy's own.
func TestCaddyfilesAdapt(t *testing.T) {
	files, err := filepath.Glob("caddyfile_adapt/*.caddyfiletest")
	if err != nil || len(files) == 0 {
		t.Fatalf("no goldens: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".caddyfiletest"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			source, want, ok := strings.Cut(strings.ReplaceAll(string(data), "\r\n", "\n"), "----------\n")
			if !ok {
				t.Fatal("no line of dashes")
			}
			if formatted := string(caddyfile.Format([]byte(source))); formatted != source {
				t.Errorf("not formatted; want:\n%s", formatted)
			}
			config, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt([]byte(source), nil)
			if want = strings.TrimSpace(want); want != "" && want[0] != '{' {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got the error %v, not %s", err, want)
				}
				return
			}
			if err != nil || len(warnings) > 0 {
				t.Fatalf("%v, %v", err, warnings)
			}
			var got bytes.Buffer
			_ = json.Indent(&got, config, "", "\t")
			if *update {
				if err := os.WriteFile(file, []byte(source+"----------\n"+got.String()+"\n"), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got.String() != want {
				t.Errorf("got:\n%s", got.String())
			}
		})
	}
}

// everyOption is every option of the handler, as Caddyfile and as JSON.
const everyOption = `code_interpreter {
	enabled true
	sandbox fake one
	ttl 5m
	max_turns 3
	max_executions 4
	exec_timeout 1m30s
	request_timeout 1d
	max_concurrent_executions 5
	max_request_body 1MiB
	max_response 2MB
	max_event 3KiB
	max_code 4096
	max_output 1kb
	sessions_per_identity 6
	max_containers 7
	identity {http.auth.user.id}
	session {http.request.header.X-Session}
	models gpt-* "o1 pro"
	models o3
	enabled_providers openai azure
	provider {http.vars.provider}
	outputs always
	tool_name py_tool
	tool_description "Runs it."
	keepalive 2s
	forward_litellm_metadata
}`

const everyOptionJSON = `{
	"enabled": true, "sandbox": {"name": "one", "provider": "fake"}, "ttl": "5m", "max_turns": 3, "max_executions": 4,
	"exec_timeout": "1m30s", "request_timeout": "1d", "max_concurrent_executions": 5, "max_request_body": 1048576,
	"max_response": 2000000, "max_event": 3072, "max_code": 4096, "max_output": 1000, "sessions_per_identity": 6,
	"max_containers": 7, "identity": "{http.auth.user.id}", "session": "{http.request.header.X-Session}",
	"models": ["gpt-*", "o1 pro", "o3"], "enabled_providers": ["openai", "azure"], "provider": "{http.vars.provider}",
	"outputs": "always", "tool_name": "py_tool", "tool_description": "Runs it.", "keepalive": "2s",
	"forward_litellm_metadata": true
}`

func TestJSONAndCaddyfileAreEqual(t *testing.T) {
	var fromCaddyfile, fromJSON codeinterp.Handler
	if err := fromCaddyfile.UnmarshalCaddyfile(caddyfile.NewTestDispenser(everyOption)); err != nil {
		t.Fatal(err)
	}
	if err := caddy.StrictUnmarshalJSON([]byte(everyOptionJSON), &fromJSON); err != nil {
		t.Fatal(err)
	}
	fromCaddyfile.SandboxRaw, fromJSON.SandboxRaw = compact(t, fromCaddyfile.SandboxRaw), compact(t, fromJSON.SandboxRaw)
	if !reflect.DeepEqual(&fromCaddyfile, &fromJSON) {
		t.Errorf("%+v\n%+v", &fromCaddyfile, &fromJSON)
	}
	// No option is missing from either.
	value := reflect.ValueOf(&fromJSON).Elem()
	for n := range value.NumField() {
		if f := value.Type().Field(n); f.IsExported() && value.Field(n).IsZero() {
			t.Errorf("%s is not among every option", f.Name)
		}
	}
}

func compact(t *testing.T, data []byte) []byte {
	t.Helper()
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	out, _ := json.Marshal(v)
	return out
}

// validate is what "caddy validate" does with a configuration in JSON.
func validate(config []byte) error {
	var c caddy.Config
	if err := caddy.StrictUnmarshalJSON(config, &c); err != nil {
		return err
	}
	return caddy.Validate(&c)
}

func TestJSONIsRefused(t *testing.T) {
	b := newBed(t, newTurns())
	good := string(b.config(behindProxy))
	if err := validate([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for member, want := range map[string]string{
		`"no_such":1`:                    `unknown field "no_such"`,
		`"ttl":"999ms"`:                  "ttl must be between 1s and 24h0m0s, not 999ms",
		`"ttl":-1`:                       "ttl must be between",
		`"max_turns":1`:                  "max_turns must be between 2 and 1000, not 1",
		`"max_turns":1001`:               "max_turns must be between",
		`"max_executions":-1`:            "max_executions must be between",
		`"exec_timeout":"1ms"`:           "exec_timeout must be between",
		`"request_timeout":"25h"`:        "request_timeout must be between",
		`"max_concurrent_executions":-3`: "max_concurrent_executions must be between",
		`"max_request_body":1023`:        "max_request_body must be between 1.0 KiB and 1.0 GiB, not 1023 B",
		`"max_response":2000000000`:      "max_response must be between",
		`"max_event":1`:                  "max_event must be between",
		`"max_code":100000000`:           "max_code must be between",
		`"max_output":255`:               "max_output must be between",
		`"sessions_per_identity":-1`:     "sessions_per_identity must be between",
		`"max_containers":100001`:        "max_containers must be between",
		`"keepalive":"2h"`:               "keepalive must be between",
		`"outputs":"never"`:              `outputs must be "requested" or "always", not "never"`,
		`"models":["[a"]`:                `models: "[a" is no glob`,
		`"identity":"user"`:              "identity must hold a placeholder",
		`"enabled":"yes"`:                "enabled",
	} {
		t.Run(member, func(t *testing.T) {
			err := validate([]byte(strings.Replace(good, `"tool_name"`, member+`,"tool_name"`, 1)))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
	for sandbox, want := range map[string]string{
		`{"provider":"no_such"}`:              "no_such",
		`{"name":"x"}`:                        "provider",
		`{"provider":"fake","name":"nobody"}`: `no fake named "nobody"`,
		`{"provider":"fake","zz":1}`:          `unknown field "zz"`,
	} {
		t.Run(sandbox, func(t *testing.T) {
			err := validate([]byte(strings.Replace(good, `{"name":"`+b.name+`","provider":"fake"}`, sandbox, 1)))
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestExampleAdaptsAndIsFormatted(t *testing.T) {
	source, err := os.ReadFile("../Caddyfile.example")
	if err != nil {
		t.Fatal(err)
	}
	if formatted := caddyfile.Format(source); !bytes.Equal(formatted, source) {
		t.Errorf("not formatted; want:\n%s", formatted)
	}
	_, warnings, err := caddyconfig.GetAdapter("caddyfile").Adapt(source, map[string]any{"filename": "Caddyfile.example"})
	if err != nil || len(warnings) > 0 {
		t.Errorf("%v, %v", err, warnings)
	}
}
