package main

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// caddy is a running bin/caddy.
type caddy struct {
	url     string
	command *exec.Cmd
	folder  string
	log     bytes.Buffer
}

// startCaddy runs Caddy with a directive, or none, before an upstream.
func startCaddy(binary, directive, upstream string) (*caddy, error) {
	folder, err := os.MkdirTemp("", "code-interpreter-bench-")
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	_, port, _ := net.SplitHostPort(address)
	config := filepath.Join(folder, "Caddyfile")
	text := fmt.Sprintf("{\n\tadmin off\n\tauto_https off\n\tlog {\n\t\tlevel ERROR\n\t}\n}\n\nhttp://:%s {\n\tbind 127.0.0.1\n\t%s\n\treverse_proxy %s\n}\n",
		port, directive, upstream)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return nil, err
	}

	server := &caddy{url: "http://" + address, folder: folder}
	server.command = exec.Command(binary, "run", "--config", config, "--adapter", "caddyfile")
	server.command.Env = append(os.Environ(), "XDG_DATA_HOME="+folder, "XDG_CONFIG_HOME="+folder)
	server.command.Stdout, server.command.Stderr = &server.log, &server.log
	if err := server.command.Start(); err != nil {
		return nil, fmt.Errorf("starting %s (make build builds it): %w", binary, err)
	}
	for range 200 {
		if connection, err := net.Dial("tcp", address); err == nil {
			connection.Close()
			return server, nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	server.stop()
	return nil, errors.New("Caddy does not listen:\n" + server.log.String())
}

func (c *caddy) stop() {
	_ = c.command.Process.Signal(syscall.SIGTERM)
	_ = c.command.Wait()
	_ = os.RemoveAll(c.folder)
}

// cpu returns the CPU time that the process has used so far.
func (c *caddy) cpu() (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.command.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("reading Caddy's CPU time (it may have ended): %w", err)
	}
	// The fields after the name, which is in parentheses: utime and stime are
	// the 12th and 13th, in hundredths of a second.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}
