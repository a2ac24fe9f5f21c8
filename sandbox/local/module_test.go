package local

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/caddyserver/caddy/v2/caddyconfig/caddyfile"
)

func TestUnmarshalCaddyfile(t *testing.T) {
	for _, tt := range []struct {
		name, input string
		want        Local
	}{
		{"nothing", "local", Local{}},
		{"empty block", "local {\n}", Local{}},
		{"everything", `local {
			python /opt/venv/bin/python
			memory 2GiB
			processes 10
			open_files 100
			disk 64MiB
			uids 300000 1000
			env A 1
			env B "two words"
		}`, Local{
			Python: "/opt/venv/bin/python", Memory: 2 << 30, Processes: 10, OpenFiles: 100, Disk: 64 << 20,
			FirstUID: 300000, UIDs: 1000, Env: map[string]string{"A": "1", "B": "two words"},
		}},
		{"only the first id", "local {\n uids 5\n}", Local{FirstUID: 5}},
		{"placeholders stay", "local {\n python {env.PYTHON}\n}", Local{Python: "{env.PYTHON}"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got Local
			if err := got.UnmarshalCaddyfile(caddyfile.NewTestDispenser(tt.input)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
			text, err := json.Marshal(got)
			var again Local
			if err != nil || json.Unmarshal(text, &again) != nil || !reflect.DeepEqual(again, got) {
				t.Errorf("JSON loses something: %s, %v", text, err)
			}
		})
	}
}

func TestUnmarshalCaddyfileErrors(t *testing.T) {
	for input, want := range map[string]string{
		"local x":                          "wrong argument count",
		"local {\n nonsense 1\n}":          "unrecognized option: nonsense",
		"local {\n python\n}":              "wrong argument count",
		"local {\n python a b\n}":          "wrong argument count",
		"local {\n python a\n python b\n}": "python already specified",
		"local {\n memory much\n}":         "not a size",
		"local {\n memory 0\n}":            "not a size",
		"local {\n disk -1\n}":             "not a size",
		"local {\n processes none\n}":      "not a positive number",
		"local {\n open_files 0\n}":        "not a positive number",
		"local {\n uids 1 2 3\n}":          "wrong argument count",
		"local {\n uids 0\n}":              "not a positive number",
		"local {\n uids 99999999999\n}":    "not a positive number",
		"local {\n env A\n}":               "wrong argument count",
		"local {\n env A 1\n env A 2\n}":   "env A already specified",
	} {
		err := new(Local).UnmarshalCaddyfile(caddyfile.NewTestDispenser(input))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Testfile:") {
			t.Errorf("%q: got %v, want %q and a line", input, err, want)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, tt := range []struct {
		local Local
		want  string
	}{
		{Local{Memory: 1 << 20}, "option memory"},
		{Local{Processes: -1}, "option processes"},
		{Local{OpenFiles: 3}, "option open_files"},
		{Local{Disk: 10}, "option disk"},
		{Local{FirstUID: 4294967290, UIDs: 100}, "option uids"},
		{Local{Env: map[string]string{"A=B": ""}}, "option env"},
		{Local{Env: map[string]string{"A": "\x00"}}, "option env"},
	} {
		tt.local.setDefaults()
		if err := tt.local.check(); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("got %v, want %q", err, tt.want)
		}
	}
	var l Local
	l.setDefaults()
	if err := l.check(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
}
