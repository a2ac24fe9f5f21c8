package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// The recipe must name the versions that this repository is built with.
func TestRecipeAgreesWithModuleFiles(t *testing.T) {
	recipe, err := readRecipe(filepath.Join(root, "xcaddy.json"))
	if err != nil {
		t.Fatal(err)
	}
	module := find(t, "go.mod", `(?m)^module (\S+)$`)
	if recipe.Plugins[0].Path != module {
		t.Errorf("the first plugin is %s, want this module, %s", recipe.Plugins[0].Path, module)
	}
	const caddy = `github.com/caddyserver/caddy/v2 (v\S+)`
	if built := find(t, "build.mod", caddy); recipe.CaddyVersion != built {
		t.Errorf("caddy_version is %s, want that of build.mod, %s", recipe.CaddyVersion, built)
	}
	// xcaddy cannot build with a Caddy that is older than go.mod requires.
	if floor := find(t, "go.mod", caddy); compare(floor, recipe.CaddyVersion) > 0 {
		t.Errorf("caddy_version is %s, below the floor in go.mod, %s", recipe.CaddyVersion, floor)
	}
}

func TestRecipeRefusesUnknownKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "xcaddy.json")
	text := `{"caddy_version": "v2.11.9", "plugins": [{"module_path": "a"}], "dependencies": []}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readRecipe(path); err == nil || !strings.Contains(err.Error(), "dependencies") {
		t.Errorf("got %v, want an error that names the key", err)
	}
}

func TestArguments(t *testing.T) {
	r := recipe{
		CaddyVersion: "v2.11.9",
		Plugins:      []dependency{{Path: "example.com/a", Version: "v0.0.0"}, {Path: "example.com/b"}},
		Replacements: []replacement{{Old: "example.com/a", New: "."}, {Old: "example.com/c", New: "../c"}},
	}
	want := []string{
		"build", "v2.11.9", "--output", "out", "--with", "example.com/a@v0.0.0=.",
		"--with", "example.com/b", "--replace", "example.com/c=../c",
	}
	if got := r.arguments("out"); !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// find returns the only group of a pattern in a file of the repository.
func find(t *testing.T, name, pattern string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(pattern).FindSubmatch(text)
	if match == nil {
		t.Fatalf("%s has nothing like %s", name, pattern)
	}
	return string(match[1])
}

// compare compares versions of three plain numbers.
func compare(a, b string) int {
	pad := func(version string) []string {
		parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
		for i, part := range parts {
			parts[i] = strings.Repeat("0", max(0, 6-len(part))) + part
		}
		return parts
	}
	return slices.Compare(pad(a), pad(b))
}
