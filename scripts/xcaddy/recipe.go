package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"
)

// recipe is xcaddy.json: a copy of xcaddy.Builder as it is at xcaddyVersion.
// xcaddy is not imported for it, since every user of this module would then
// have xcaddy and what it requires in the module graph.
type recipe struct {
	OS           string        `json:"os,omitempty"`
	Arch         string        `json:"arch,omitempty"`
	ARM          string        `json:"arm,omitempty"`
	Cgo          bool          `json:"cgo,omitempty"`
	CaddyVersion string        `json:"caddy_version,omitempty"`
	Plugins      []dependency  `json:"plugins,omitempty"`
	Replacements []replacement `json:"replacements,omitempty"`
	TimeoutGet   time.Duration `json:"timeout_get,omitempty"`
	TimeoutBuild time.Duration `json:"timeout_build,omitempty"`
	RaceDetector bool          `json:"race_detector,omitempty"`
	SkipCleanup  bool          `json:"skip_cleanup,omitempty"`
	SkipBuild    bool          `json:"skip_build,omitempty"`
	Debug        bool          `json:"debug,omitempty"`
	BuildFlags   string        `json:"build_flags,omitempty"`
	ModFlags     string        `json:"mod_flags,omitempty"`
}

// dependency is a plugin: a package path and the version of its module.
type dependency struct {
	Path    string `json:"module_path,omitempty"`
	Version string `json:"version,omitempty"`
}

// replacement is a replace directive.
type replacement struct {
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// readRecipe reads a recipe and refuses what xcaddy.Builder does not know.
func readRecipe(path string) (*recipe, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var r recipe
	if err := decoder.Decode(&r); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	if r.CaddyVersion == "" || len(r.Plugins) == 0 {
		return nil, errors.New(path + " must name a caddy_version and the plugins")
	}
	return &r, nil
}

// arguments returns the xcaddy command that builds the recipe, as far as the
// command line can say it.
func (r *recipe) arguments(output string) []string {
	arguments := []string{"build", r.CaddyVersion, "--output", output}
	replaced := make(map[string]string)
	for _, replace := range r.Replacements {
		replaced[replace.Old] = replace.New
	}
	for _, plugin := range r.Plugins {
		with := plugin.Path
		if plugin.Version != "" {
			with += "@" + plugin.Version
		}
		if local, ok := replaced[plugin.Path]; ok {
			with += "=" + local
			delete(replaced, plugin.Path)
		}
		arguments = append(arguments, "--with", with)
	}
	for _, replace := range r.Replacements {
		if _, ok := replaced[replace.Old]; ok {
			arguments = append(arguments, "--replace", replace.Old+"="+replace.New)
		}
	}
	return arguments
}
