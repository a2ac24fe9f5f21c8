package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/caddyserver/caddy/v2"
	"golang.org/x/sys/unix"

	"github.com/codeinterp/caddy-code-interpreter/sandbox"
	"github.com/codeinterp/caddy-code-interpreter/sandbox/sandboxtest"
)

// helper names what the test binary does instead of testing, as another
// process or another user.
const helper = "LOCAL_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helper) == "hold" {
		hold()
	}
	os.Exit(m.Run())
}

// hold creates a container with a background process, and waits to be killed.
func hold() {
	l := &Local{Python: sandboxtest.Python()}
	err := l.Provision(caddy.Context{Context: context.Background()})
	if err == nil {
		var c sandbox.Container
		if c, err = l.Create(context.Background(), sandbox.Spec{}); err == nil {
			fmt.Println("pid", c.(*container).cmd.Process.Pid)
			_, err = c.Run(context.Background(), "import subprocess, time; p = subprocess.Popen(['sleep', '600']); time.sleep(600)",
				func(sandbox.Output) {})
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

func TestContainersDieWithCaddy(t *testing.T) {
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), helper+"=hold")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscanf(out, "pid %d\n", &pid); err != nil {
		t.Fatal(err)
	}
	var inside []int
	for deadline := time.Now().Add(patience); len(inside) < 3 && time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		inside = descendants(t, pid)
	}
	if len(inside) < 3 {
		t.Fatalf("the control fails: got processes %v", inside)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for deadline := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		left := 0
		for _, p := range inside {
			if unix.Kill(p, 0) == nil && !isZombie(p) {
				left++
			}
		}
		if left == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d of the processes %v live on", left, inside)
		}
	}
}

// isZombie tells of a process that has ended and that the machine's own init
// has not reaped yet.
func isZombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(text), ") Z ")
}

func TestKilledByOthersIsNotOutOfMemory(t *testing.T) {
	c := newContainer(t)
	started := make(chan struct{}, 1)
	go func() {
		<-started
		unix.Kill(c.cmd.Process.Pid, unix.SIGKILL)
	}()
	result, err := c.Run(context.Background(), "print('on'); import time; time.sleep(600)", func(sandbox.Output) { started <- struct{}{} })
	if err != nil || result.Outcome != sandbox.Died || !result.Lost {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestDeletedWhileRunning(t *testing.T) {
	c := newContainer(t)
	started := make(chan struct{}, 1)
	go func() {
		<-started
		c.Delete(context.Background())
	}()
	_, err := c.Run(context.Background(), "print('on'); import time; time.sleep(600)", func(sandbox.Output) { started <- struct{}{} })
	if !errors.Is(err, errDeleted) {
		t.Errorf("got %v", err)
	}
}

// nobody is a user without privileges.
const nobody = 65534

// TestUnprivileged holds the provider to all of its promises again, as a user
// who is not root.
func TestUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Fatal("this test has to start as root, to become another user; the others have run unprivileged already")
	}
	// The test binary's directory is closed to others.
	dir, err := os.MkdirTemp("/tmp", "local-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	binary := filepath.Join(dir, "local.test")
	text, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = errors.Join(os.WriteFile(binary, text, 0o755), os.Chmod(dir, 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-test.v", "-test.run", "^(TestConformance|TestNo.*|TestContainers.*|TestIdle.*|TestProvision.*)$")
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), "HOME=/", "TMPDIR=/tmp")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestConformance") {
		t.Errorf("as user %s: %v\n%s", strconv.Itoa(nobody), err, out)
	}
}
