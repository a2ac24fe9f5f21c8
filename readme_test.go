package codeinterp

import (
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// The README's table of options is checked against the code: every option has
// a row, and the rows of numbers have the code's default.
func TestREADMEListsEveryOptionWithItsDefault(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(readme)) {
		if cells := strings.Split(line, "|"); len(cells) > 4 {
			rows[strings.Trim(cells[1], " `")] = strings.Trim(cells[2], " `")
		}
	}
	typ := reflect.TypeFor[Handler]()
	for n := range typ.NumField() {
		tag, _, _ := strings.Cut(typ.Field(n).Tag.Get("json"), ",")
		if tag == "" {
			continue
		}
		if _, ok := rows[tag]; !ok {
			t.Errorf("the README has no row for %s", tag)
		}
	}
	var h Handler
	for _, o := range h.numbers() {
		want := o.format(o.standard)
		if o.name == "max_concurrent_executions" {
			want = "2 × CPUs"
			if o.standard != int64(2*runtime.NumCPU()) {
				t.Errorf("%s defaults to %d", o.name, o.standard)
			}
		}
		if rows[o.name] != want {
			t.Errorf("the README says %q for %s, the code %q", rows[o.name], o.name, want)
		}
	}
}
