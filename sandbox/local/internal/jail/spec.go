package jail

import _ "embed"

// Arg0 is the name under which Caddy executes itself to become a launcher.
const Arg0 = "caddy-code-interpreter-sandbox"

// Paths inside every container.
const (
	DataDir   = "/mnt/data"
	HomeDir   = "/home/sandbox"
	runnerDir = "/run/sandbox"
	Runner    = runnerDir + "/runner.py"
)

// UID and GID are what the code sees itself as. Which user of the host that
// is, the mapping of the user namespace says; never 0.
const (
	UID = 1000
	GID = 1000
)

// Descriptors that the launcher is started with; those of Binds follow.
const (
	ControlFD = 3 // host ↔ init, a packet for each message
	ChannelFD = 4 // host ↔ runner, handed on to Python as its descriptor 3
	FirstBind = 5
)

// Messages on the control socket. The host sends a Spec first.
const (
	MsgReady     = "ready"     // init: Python was started
	MsgFailed    = "failed "   // init: and why
	MsgInterrupt = "interrupt" // host: as Ctrl-C
	MsgDone      = "done"      // init: the signal was sent
	MsgExit      = "exit "     // init: the runner's wait status follows
	MaxMessage   = 1 << 18     // the longest of them
	runnerMode   = 0o444       // nobody changes the runner
	rootSize     = "size=2m"   // /etc and the mount points
	rootInodes   = "nr_inodes=4096"
)

// RunnerSource is the Python program that runs the cells.
//
//go:embed runner.py
var RunnerSource []byte

// Spec is all that a launcher is told. It comes over the control socket, as
// arguments and the environment can be read in /proc.
type Spec struct {
	Hostname string
	Argv     []string // of Python, without the runner
	Env      []string
	Binds    []Bind
	Links    []Link
	Files    []File
	Tmpfs    []Tmpfs
	Limits   []Limit
}

// Bind shows a file or directory of the host, read-only.
type Bind struct {
	Path string
	// Device leaves device files usable.
	Device bool
	// FD is the detached mount that the host opened, or 0 when the
	// launcher must open Path itself.
	FD int
}

// Link is a symbolic link in the new root.
type Link struct{ Path, Target string }

// File is a file that the container gets a copy of, and may change.
type File struct {
	Path string
	FD   int
}

// Tmpfs is a writable directory with its bounds.
type Tmpfs struct {
	Path   string
	Size   int64
	Inodes int64
	Mode   string
}

// Limit is a resource limit of Python and its children, soft and hard.
type Limit struct {
	Resource int
	Max      uint64
}
