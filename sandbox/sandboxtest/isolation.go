package sandboxtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// secret is what must not be found from inside.
const secret = "canary-5d1c2f"

var isolationTests = []test{
	{"the environment has nothing of the host's", func(s *session) { // cases/sandbox.md 51
		s.Setenv("SANDBOXTEST_SECRET", secret)
		if out, err := exec.Command("env").Output(); err != nil || !strings.Contains(string(out), secret) {
			s.Fatalf("the control fails: a child does not inherit the variable: %v", err)
		}
		s.container = s.create()
		s.prints(`import os, subprocess
os.environ['PROBE'] = 'found by a child'
found = subprocess.run(['env'], capture_output=True, text=True).stdout
'found by a child' in found, '`+secret+`' in found, '`+secret+`' in str(os.environ)`, "(True, False, False)")
	}},
	{"other processes cannot be seen or read", func(s *session) { // cases/sandbox.md 51
		child := hostProcess(s.T)
		s.prints(`import os
own = subprocess.Popen(['sleep', '600'], env={'OWN': 'own-canary'}) if (subprocess := __import__('subprocess')) else 0
import time; time.sleep(0.3)
def look(file):
    seen = b''
    for pid in os.listdir('/proc'):
        if pid.isdigit():
            try: seen += open('/proc/%s/%s' % (pid, file), 'rb').read()
            except OSError: pass
    return seen
b'own-canary' in look('environ'), b'`+secret+`' in look('environ'), b'`+secret+`' in look('cmdline')`,
			"(True, False, False)")
		s.prints(fmt.Sprintf("len([p for p in os.listdir('/proc') if p.isdigit()]) < 10, os.path.exists('/proc/%d/root/etc')", child),
			"(True, False)")
	}},
	{"the first process cannot be read or changed", func(s *session) { // cases/sandbox.md 51, 54
		s.prints(`import os
def attempt(path, mode='rb'):
    try:
        with open(path, mode) as f: return bool(f.read(1)) if 'r' in mode else True
    except OSError: return 'refused'
own = attempt('/proc/self/environ'), attempt('/proc/self/maps')
of_init = {attempt('/proc/1/' + name) for name in ('environ', 'maps', 'mem', 'auxv', 'stack', 'syscall')}
of_threads = {attempt('/proc/1/task/%s/%s' % (t, n)) for t in os.listdir('/proc/1/task') for n in ('mem', 'maps')}
def listed(path):
    try: return os.listdir(path)
    except OSError: return 'refused'
own, of_init, of_threads, listed('/proc/1/fd'), listed('/proc/1/root'), listed('/proc/1/cwd')`,
			"((True, True), {'refused'}, {'refused'}, 'refused', 'refused', 'refused')")
	}},
	{"files of the host cannot be read", func(s *session) { // cases/sandbox.md 53
		dir := s.TempDir()
		canary := filepath.Join(dir, "canary")
		if err := os.WriteFile(canary, []byte(secret), 0o644); err != nil {
			s.Fatal(err)
		}
		s.prints(`import os
os.makedirs('/tmp/d', exist_ok=True); open('/tmp/d/own', 'w').write('own')
def read(path):
    try: return open(path).read()
    except OSError: return None
found = [root for root in ('', '/proc/1/root', '/proc/self/root', '/proc/1/cwd', '/proc/self/cwd/../..', '/old_root', '/..', '/../..')
    if read(root + '`+canary+`') is not None]
read('/proc/self/root/tmp/d/own'), found`, "('own', [])")
		for _, path := range []string{"/etc/shadow", "/root/.ssh", "/var/run/secrets", "/var/lib", "/proc/kcore", "/sys/kernel",
			"/sys/fs/cgroup", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/tty", "/dev/fuse", "/dev/kvm", "/dev/net/tun", "/home/user"} {
			if got := s.ok(fmt.Sprintf(`
try: got = os.listdir(%[1]q) if os.path.isdir(%[1]q) else open(%[1]q, 'rb').read(1)
except OSError as error: got = b''
print(bool(got), end='')`, path)); got != "False" {
				s.Errorf("%s can be read", path)
			}
		}
	}},
	{"nothing but its own directories can be written", func(s *session) { // cases/sandbox.md 54
		s.prints(`import os, sys
def writable(path):
    try:
        open(path, 'ab').close()
        return True
    except OSError: return False
[writable(d + '/x') for d in ('/mnt/data', '/tmp', '/dev/shm', os.path.expanduser('~'))]`, "[True, True, True, True]")
		s.prints(`import sysconfig
paths = ['/x', '/etc/passwd', '/etc/x', '/usr/x', '/usr/bin/x', '/run/x', '/mnt/x', '/dev/x', '/proc/sysrq-trigger',
    '/proc/sys/kernel/core_pattern', '/proc/sys/kernel/hostname', '/proc/sys/vm/drop_caches', '/proc/1/oom_score_adj',
    sys.executable, os.__file__, sysconfig.get_path('purelib') + '/x', sysconfig.get_path('stdlib') + '/x',
    '/proc/self/exe', '/proc/1/exe', '/run/sandbox/runner.py', '/run/sandbox/x', sys.prefix + '/x', '/bin/sh']
[p for p in paths if writable(p)]`, "[]")
		s.prints(`
def chmods(path):
    try: os.chmod(path, 0o777); return True
    except OSError: return False
open('/tmp/own', 'w').close()
chmods('/tmp/own'), [p for p in ('/', '/etc', '/run/sandbox', '/run/sandbox/runner.py', '/usr/bin', '/dev/null') if chmods(p)]`,
			"(True, [])")
	}},
	{"privileges cannot be had", func(s *session) { // cases/sandbox.md 55
		s.prints("import os; os.getuid() != 0, os.geteuid() != 0, os.getgid() != 0, 0 in os.getgroups()", "(True, True, True, False)")
		s.prints(`import subprocess, shutil
results = []
for tool in ('su', 'mount', 'sudo', 'passwd', 'newgrp', 'pkexec'):
    if shutil.which(tool):
        r = subprocess.run([tool, 'root'] if tool == 'su' else [tool, '-u', 'root', 'id'], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        results.append('uid=0' in r.stdout)
any(results), 'uid=%d' % os.getuid() in subprocess.run(['id'], capture_output=True, text=True).stdout`, "(False, True)")
		for _, call := range []string{"os.setuid(0)", "os.setgid(0)", "os.setgroups([0])", "os.chroot('/tmp')", "os.mknod('/tmp/n', 0o60666, os.makedev(254, 0))",
			"os.mknod('/tmp/n', 0o20666, os.makedev(1, 1))", "os.chown('/tmp', 0, 0)", "os.nice(-5)", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
			"__import__('socket').sethostname('x')", "__import__('resource').setrlimit(7, (10**6, 10**6))", "__import__('time').clock_settime(0, 0)"} {
			s.raises(call, "Error")
		}
		s.alive()
	}},
	{"dangerous system calls fail, and kill nobody", func(s *session) { // cases/sandbox.md 55
		s.prints(syscallProbe, "ran [] threads still start")
	}},
	{"no descriptors but its own are open", func(s *session) { // cases/sandbox.md 58
		s.prints(`import os
own = os.open('/tmp', os.O_RDONLY)
kinds = {}
for fd in os.listdir('/proc/self/fd'):
    try: kinds[int(fd)] = os.readlink('/proc/self/fd/' + fd).split(':')[0].split('[')[0]
    except OSError: pass
kinds.pop(own) == '/tmp', len(kinds) <= 4, sorted(set(kinds.values()) - {'/dev/null', 'pipe', 'socket'})`, "(True, True, [])")
		s.prints("import subprocess\nsubprocess.run(['ls', '/proc/self/fd'], capture_output=True, text=True).stdout.split()", "['0', '1', '2', '3']")
	}},
}

// hostProcess starts a process that has the secret in its environment and
// arguments, and proves that it could be found there.
func hostProcess(t *testing.T) int {
	t.Helper()
	cmd := exec.Command("sh", "-c", "while :; do sleep 1; done", secret)
	cmd.Env = append(os.Environ(), "SANDBOXTEST_SECRET="+secret)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for _, file := range []string{"environ", "cmdline"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", cmd.Process.Pid, file))
		if err != nil || !strings.Contains(string(text), secret) {
			t.Fatalf("the control fails: the host cannot read %s: %v", file, err)
		}
	}
	return cmd.Process.Pid
}

// syscallProbe attempts calls by number. The control is a call that is allowed.
const syscallProbe = `import ctypes, errno, os, platform, threading
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == 'x86_64'
def call(number, *args):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
    return ctypes.get_errno() if result == -1 else 0
name = ctypes.addressof(ctypes.create_string_buffer(b'/tmp'))
NEW = {'user': 0x10000000, 'mount': 0x20000, 'pid': 0x20000000, 'net': 0x40000000, 'time': 0x80}
numbers = { # x86-64, arm64
    'mount': (165, 40), 'umount2': (166, 39), 'pivot_root': (155, 41), 'chroot': (161, 51), 'setns': (308, 268),
    'ptrace': (101, 117), 'memfd_create': (319, 279), 'bpf': (321, 280), 'io_uring_setup': (425, 425), 'userfaultfd': (323, 282),
    'keyctl': (250, 219), 'add_key': (248, 217), 'request_key': (249, 218), 'perf_event_open': (298, 241),
    'kexec_load': (246, 104), 'init_module': (175, 105), 'finit_module': (313, 273), 'delete_module': (176, 106),
    'open_by_handle_at': (304, 265), 'process_vm_readv': (310, 270), 'process_vm_writev': (311, 271),
    'swapon': (167, 224), 'reboot': (169, 142), 'fsopen': (430, 430), 'open_tree': (428, 428), 'move_mount': (429, 429),
    'mount_setattr': (442, 442), 'clone3': (435, 435), 'syslog': (103, 116), 'acct': (163, 89), 'shmget': (29, 194),
    'pidfd_getfd': (438, 438), 'quotactl': (179, 60), 'fanotify_init': (300, 262), 'settimeofday': (170, 170),
    'newer than all': (600, 600),
}
wrong = []
refused = (errno.EPERM, errno.ENOSYS)
for what, pair in numbers.items():
    if call(pair[0 if x86 else 1], name, name, name, 0, 0) not in refused: wrong.append(what)
unshare, clone, ioctl, socket = (272, 56, 16, 41) if x86 else (97, 220, 29, 198)
for what, flag in NEW.items():
    if call(unshare, flag) not in refused: wrong.append('unshare ' + what)
    if what != 'time':
        parent = os.getpid()
        result = call(clone, flag | 17, 0, 0, 0, 0)
        if os.getpid() != parent: os._exit(0)
        if result not in refused: wrong.append('clone ' + what)
if call(ioctl, 0, 0x5412, name) != errno.EPERM: wrong.append('TIOCSTI')
for family in (16, 17, 38, 40, 31, 21, 44): # netlink, packet, alg, vsock, bluetooth, rds, xdp
    if call(socket, family, 3, 0) != errno.EAFNOSUPPORT: wrong.append('socket family %d' % family)
if x86 and call(0x40000000 | 39) != errno.ENOSYS: wrong.append('x32')
getpid = 39 if x86 else 172
control = call(getpid) == 0 and call(unshare, 0x200) == 0
t = threading.Thread(target=lambda: None); t.start(); t.join()
print('ran' if control else 'the control failed', wrong, 'threads still start', end='')`

var networkTests = []test{
	{"the host cannot be reached", func(s *session) { // cases/sandbox.md 52
		port := listen(s.T, "tcp", "127.0.0.1:0")
		s.ok(connectProbe)
		s.prints("attempt('127.0.0.1', own), attempt('127.0.0.1', "+port+"), attempt('localhost', "+port+")",
			"('connected', 'ConnectionRefusedError', 'ConnectionRefusedError')")
		if addr := hostAddress(); addr != "" {
			port := listen(s.T, "tcp", net.JoinHostPort(addr, "0"))
			s.prints("attempt('"+addr+"', "+port+")", "'OSError'")
		}
	}},
	{"nothing else can be reached, and fails at once", func(s *session) { // cases/sandbox.md 52
		s.ok(connectProbe)
		r := s.run(`[attempt(a, p) for a, p in (('127.0.0.1', 2019), ('169.254.169.254', 80), ('1.1.1.1', 53), ('10.0.0.1', 80),
    ('::1', 2019), ('2606:4700:4700::1111', 53), ('fe80::1', 80), ('example.com', 80), ('host.docker.internal', 80))]`)
		if strings.Contains(r.all(), "connected") || strings.Contains(r.all(), "Timeout") {
			s.Errorf("got %s", r.all())
		}
		if r.took > killTime {
			s.Errorf("it took %v", r.took)
		}
		s.prints("import os; os.system(\"bash -c 'echo > /dev/tcp/127.0.0.1/2019' 2>/dev/null\") != 0", "True")
	}},
	{"sockets of the host's files cannot be reached", func(s *session) { // cases/sandbox.md 52
		path := filepath.Join(s.TempDir(), "socket")
		listen(s.T, "unix", path)
		abstract := fmt.Sprintf("sandboxtest-%d", os.Getpid())
		listen(s.T, "unix", "@"+abstract)
		s.prints(`import socket
def reach(address):
    try:
        with socket.socket(socket.AF_UNIX) as c: c.connect(address)
        return True
    except OSError: return False
server = socket.socket(socket.AF_UNIX); server.bind('\0own'); server.listen()
reach('\0own'), reach('`+path+`'), reach('\0`+abstract+`'), reach('/var/run/docker.sock')`, "(True, False, False, False)")
	}},
	{"sockets within the container work", func(s *session) { // cases/sandbox.md 52
		s.prints(`import http.server, threading, urllib.request
class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args): pass
server = http.server.HTTPServer(('127.0.0.1', 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
status = urllib.request.urlopen('http://127.0.0.1:%d/' % server.server_port).status
server.shutdown()
status`, "200")
	}},
}

// connectProbe is the control of the network tests: its own server is reached.
const connectProbe = `import socket
server = socket.create_server(('127.0.0.1', 0))
own = server.getsockname()[1]
def attempt(host, port):
    try:
        socket.create_connection((host, port), timeout=30).close()
        return 'connected'
    except OSError as error: return type(error).__name__
assert attempt('127.0.0.1', own) == 'connected'`

// listen opens a port or socket of the host, and proves that it works.
func listen(t *testing.T, network, address string) (port string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	conn, err := net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatalf("the control fails: the host cannot reach its own listener: %v", err)
	}
	conn.Close()
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// hostAddress is an address of the host's besides the loopback's, if any.
func hostAddress() string {
	addrs, _ := net.InterfaceAddrs()
	for _, a := range addrs {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() && ip.IP.To4() != nil {
			return ip.IP.String()
		}
	}
	return ""
}
