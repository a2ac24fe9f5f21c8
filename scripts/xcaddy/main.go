// Command xcaddy builds Caddy as xcaddy.json says, through xcaddy, and checks
// that the modules of this repository are in it. The xcaddy command itself
// reads no such file.
//
//	go run ./scripts/xcaddy -output bin/caddy-xcaddy
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// xcaddyVersion is the xcaddy that builds, and the one whose Builder the
// recipe copies.
const xcaddyVersion = "v0.4.5"

// wanted are the modules that the built Caddy must list.
var wanted = []string{
	"http.handlers.code_interpreter",
	"http.handlers.code_interpreter.sandboxes.local",
}

func main() {
	file := flag.String("recipe", "xcaddy.json", "the recipe's `path`")
	output := flag.String("output", "bin/caddy-xcaddy", "the `path` of the built Caddy")
	flag.Parse()

	if err := build(*file, *output); err != nil {
		fmt.Fprintln(os.Stderr, "xcaddy:", err)
		os.Exit(1)
	}
}

func build(file, output string) error {
	recipe, err := readRecipe(file)
	if err != nil {
		return err
	}
	if output, err = filepath.Abs(output); err != nil {
		return err
	}
	arguments := append([]string{"run", "github.com/caddyserver/xcaddy/cmd/xcaddy@" + xcaddyVersion}, recipe.arguments(output)...)
	command := exec.Command("go", arguments...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("running go %s: %w", strings.Join(arguments, " "), err)
	}

	listing, err := exec.Command(output, "list-modules").Output()
	if err != nil {
		return fmt.Errorf("listing the modules of %s: %w", output, err)
	}
	modules := strings.Fields(string(listing))
	for _, module := range wanted {
		if !slices.Contains(modules, module) {
			return fmt.Errorf("%s has no module %s", output, module)
		}
		fmt.Println(module)
	}
	return nil
}
