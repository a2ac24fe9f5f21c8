package local

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// lookTime bounds how long an interpreter may take to say where it is.
const lookTime = 20 * time.Second

//go:embed look.py
var lookSource string

// python is an interpreter as it describes itself. What the option names may
// be a wrapper (a pyenv shim is a shell script) that cannot run in a container.
type python struct {
	Executable string   `json:"executable"`
	Prefixes   []string `json:"prefixes"` // directories that it loads from
	Version    [2]int   `json:"version"`
}

// lookAt starts an interpreter, outside of any container but with almost no
// environment, and asks it what belongs to it.
func lookAt(ctx context.Context, name string) (*python, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("finding the interpreter %s: %w (option python names another)", name, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("finding the interpreter %s: %w", name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-I", "-c", lookSource)
	cmd.WaitDelay = time.Second
	cmd.Dir = "/"
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("asking the interpreter %s where its files are: it did not answer in time", path)
	}
	if err != nil {
		return nil, fmt.Errorf("asking the interpreter %s where its files are: %w: %s", path, err, lastLine(stderr.String()))
	}
	p := new(python)
	if err := json.Unmarshal(out, p); err != nil || p.Executable == "" {
		return nil, fmt.Errorf("asking the interpreter %s where its files are: it is no Python", path)
	}
	if p.Version[0] != 3 || p.Version[1] < 9 {
		return nil, fmt.Errorf("the interpreter %s is Python %d.%d, but 3.9 or later is needed (option python names another)",
			path, p.Version[0], p.Version[1])
	}
	for _, prefix := range p.Prefixes {
		if prefix == "/" || !strings.HasPrefix(prefix, "/") {
			return nil, errors.New("the interpreter's prefix is the root directory, which cannot be shown to the code")
		}
	}
	return p, nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
