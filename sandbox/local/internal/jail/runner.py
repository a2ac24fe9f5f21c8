"""Runs cells for the host, in one namespace that lives as long as the container.

Only the standard library is used, Python 3.9 or later. User code shares this
interpreter, by accident or on purpose it can change anything in it. So the
runner keeps its own references to all that it needs: everything is imported
here, and its functions see a copy of the builtins. What a cell can still break
is its own session.

The channel (descriptor 3) carries one message for each cell:

    host -> runner   length, cell (4 bytes each, big-endian), source, and as
                     ancillary data the pipe that descriptors 1 and 2 become
    runner -> host   kind (1 byte), cell, length, payload
    host -> runner   one byte when it has handed on what a frame shows; only
                     then the code goes on, so that later text comes later

A message for cell 0 has no source and is answered by a frame of the kind R.
"""
import builtins

__builtins__ = BUILTINS = dict(vars(builtins))

# The modules below those that code knows and patches.
import _ast
import _signal
import _socket
import _struct
import _thread
import io
import linecache
import posix
import sys
import traceback

RUNNER = __file__
PID = posix.getpid()
MAIN_THREAD = _thread.get_ident()
CHANNEL = _socket.socket(fileno=3)
MAIN = type(sys)("__main__")  # pickle finds the code's classes there
SELF = sys.modules["__main__"]
FrameSummary, TracebackException = traceback.FrameSummary, traceback.TracebackException

AWAIT = 0x2000  # compile flag: await is allowed outside of functions
PARSE = AWAIT | 0x400
COROUTINE = 0x80  # code flag: it uses that
MAX_TEXT = 100_000  # characters of one value or traceback
MAX_FRAMES = 60  # of one traceback
MAX_IMAGES = 20  # of one cell
MAX_IMAGE = 8 << 20  # bytes of one image
MAX_IMAGES_SIZE = 24 << 20  # bytes of one cell's images
MAX_PIXELS = 25_000_000  # of one figure
MAX_SOURCES = 200  # cells whose lines tracebacks can show

NO_INPUT = "no input is available: the code runs without a terminal or a user at standard input"


class State:
    """What belongs to the cell that runs now, and what was before it."""

    cell = 0
    starting = False  # it is about to begin
    active = False  # an interrupt may be raised
    sending = False  # a frame is being sent
    interrupted = False  # an interrupt has to wait
    images = 0
    image_bytes = 0
    old_threads = ()  # threads of earlier cells


# --- standard streams


def outdated():
    """Tells whether the caller is a thread that an earlier cell left behind.

    What it prints belongs to no cell any more (cases/sandbox.md 45)."""
    if not State.old_threads or _thread.get_ident() == MAIN_THREAD:
        return False
    threading = sys.modules.get("threading")
    active = getattr(threading, "_active", None)
    return bool(active) and active.get(_thread.get_ident()) in State.old_threads


class Output(io.TextIOWrapper):
    """sys.stdout and sys.stderr. Every write reaches the descriptor at once,
    so that the order is kept with what children and C code write to it."""

    def __init__(self, fd):
        super().__init__(io.open(fd, "wb", closefd=False), "utf-8", "backslashreplace", newline="\n")
        self.mode = "w"
        self.fd = fd

    @property
    def name(self):
        return "<stderr>" if self.fd == 2 else "<stdout>"

    def write(self, text):
        if outdated():
            return len(text)
        count = io.TextIOWrapper.write(self, text)
        io.TextIOWrapper.flush(self)
        return count


class Input(io.TextIOBase):
    """sys.stdin, which says at once that there is nobody to answer."""

    name = "<stdin>"
    encoding = "utf-8"
    errors = "strict"

    def refuse(self, *args):
        raise EOFError(NO_INPUT)

    read = readline = readlines = __next__ = refuse

    def readable(self):
        return True

    def fileno(self):
        return 0

    def close(self):
        pass  # site's exit() closes it

    @property
    def buffer(self):
        return self


STREAMS = {}


def restore_streams():
    for fd, name in ((1, "stdout"), (2, "stderr")):
        stream = STREAMS.get(name)
        if stream is None or stream.closed:
            stream = STREAMS[name] = Output(fd)
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)
    sys.stdin = sys.__stdin__ = STDIN
    try:
        posix.fstat(0)
    except OSError:
        posix.set_inheritable(posix.open("/dev/null", posix.O_RDONLY), True)


def flush_all():
    """Writes out what is buffered anywhere, before a frame that comes after."""
    for stream in (sys.stdout, sys.stderr, STREAMS["stdout"], STREAMS["stderr"]):
        try:
            stream.flush()
        except Exception:
            pass
    ctypes = sys.modules.get("ctypes")
    if ctypes is not None:
        try:
            ctypes.CDLL(None).fflush(None)  # what C code printed
        except Exception:
            pass


STDIN = Input()


# --- channel


def receive(count, fds=None):
    data = b""
    while len(data) < count:
        if fds is None:
            part = CHANNEL.recv(count - len(data))
        else:
            part, ancillary, _, _ = CHANNEL.recvmsg(count - len(data), 64)
            for _, _, value in ancillary:
                fds.extend(_struct.unpack("%di" % (len(value) // 4), value))
        if not part:
            posix._exit(0)
        data += part
    return data


def next_cell():
    fds = []
    length, cell = _struct.unpack(">II", receive(8, fds))
    State.starting = cell != 0
    source = receive(length)
    for fd in fds:
        posix.dup2(fd, 1)
        posix.dup2(fd, 2)
        if fd not in (1, 2):  # it is when the code had closed them
            posix.close(fd)
    return cell, source


SENDING = _thread.allocate_lock()
SHOWN = (b"V", b"T", b"I")  # frames that the host confirms
ALL_SIGNALS = _signal.valid_signals()


def send(kind, payload=b""):
    """Sends a frame, after all output that the code made before it.

    No signal handler may break a frame apart. Blocking signals does not keep
    other threads from receiving them, so an interrupt waits besides."""
    if posix.getpid() != PID or outdated():
        return
    flush_all()
    with SENDING:
        mask = _signal.pthread_sigmask(_signal.SIG_BLOCK, ALL_SIGNALS)
        State.sending = True
        try:
            CHANNEL.sendall(_struct.pack(">cII", kind, State.cell, len(payload)))
            CHANNEL.sendall(payload)
            if kind in SHOWN:
                receive(1)
        finally:
            State.sending = False
            _signal.pthread_sigmask(_signal.SIG_SETMASK, mask)
    if State.interrupted:
        State.interrupted = False
        interrupt(_signal.SIGINT, None)


def send_text(kind, text):
    if len(text) > MAX_TEXT:
        half = MAX_TEXT // 2
        left_out = len(text) - 2 * half
        text = "%s\n[… %d characters left out …]\n%s" % (text[:half], left_out, text[-half:])
    send(kind, text.encode("utf-8", "backslashreplace"))


def leave_child():
    """In a process that the code forked, the channel is not to be touched."""
    posix.close(CHANNEL.detach())


# --- signals


def interrupt(signum, frame):
    if posix.getpid() != PID:
        return
    if State.active and not State.sending:
        raise KeyboardInterrupt
    # A cell that the host has sent and that has not begun is meant, too. What
    # comes after a cell has ended is for nobody.
    if State.sending or State.starting or is_waiting():
        State.interrupted = True


def is_waiting():
    try:
        return bool(CHANNEL.recv(1, _socket.MSG_PEEK | _socket.MSG_DONTWAIT))
    except OSError:
        return False


def default_signals():
    for number in ALL_SIGNALS:
        if number in (_signal.SIGKILL, _signal.SIGSTOP):
            continue
        wanted = _signal.SIG_DFL
        if number == _signal.SIGINT:
            wanted = interrupt
        elif number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            wanted = _signal.SIG_IGN  # Python's own default: they are errors of a call
        if _signal.getsignal(number) is not wanted:
            try:
                _signal.signal(number, wanted)
            except (OSError, ValueError):
                pass
    _signal.setitimer(_signal.ITIMER_REAL, 0)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())


# --- values and pictures


def silenced(source, node):
    """Tells whether a semicolon after the last expression hides its value."""
    lines = source.split("\n")[node.end_lineno - 1 :]
    lines[0] = lines[0].encode("utf-8", "surrogatepass")[node.end_col_offset :].decode("utf-8", "replace")
    rest = "".join(line.split("#")[0] for line in lines)
    return rest.rstrip().endswith(";")


def picture(value):
    """The PNG of a value that has one, else None."""
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", None)
    if figure is not None and isinstance(value, figure):
        return b"" if is_open(value) else draw(value)
    method = getattr(type(value), "_repr_png_", None)
    if method is None:
        return None
    try:
        data = method(value)
    except Exception:
        return None
    if isinstance(data, tuple):
        data = data[0]
    if isinstance(data, str):
        import binascii

        data = binascii.a2b_base64(data)
    return bytes(data) if data else None


def show_value(value):
    if value is None:
        return
    MAIN.__dict__["_"] = value
    data = picture(value)
    if data:
        send_image(data)
        return
    text = repr(value)
    send_text(b"V", text if isinstance(text, str) else str(text))


def display(*values, **_):
    """Shows values as a notebook does, at this place of the output."""
    for value in values:
        data = picture(value)
        if data:
            send_image(data)
        elif data is None:
            STREAMS["stdout"].write(repr(value) + "\n")


def note(text):
    try:
        STREAMS["stderr"].write("[%s]\n" % text)
    except Exception:
        pass


def send_image(data):
    if not State.active or posix.getpid() != PID or outdated():
        return
    State.images += 1
    if State.images > MAX_IMAGES:
        if State.images == MAX_IMAGES + 1:
            note("only the first %d images of a cell are shown" % MAX_IMAGES)
        return
    State.image_bytes += len(data)
    if len(data) > MAX_IMAGE or State.image_bytes > MAX_IMAGES_SIZE:
        State.image_bytes -= len(data)
        note("an image of %d bytes is too large to be shown" % len(data))
        return
    send(b"I", data)


# --- matplotlib, which is never imported unless the code does


def managers():
    helpers = sys.modules.get("matplotlib._pylab_helpers")
    return list(helpers.Gcf.get_all_fig_managers()) if helpers is not None else []


def is_open(figure):
    return any(m.canvas.figure is figure for m in managers())


def draw(figure):
    """The figure as PNG, in a lower resolution when it is huge."""
    width, height = figure.get_size_inches()
    dpi = figure.dpi
    if width * height * dpi * dpi > MAX_PIXELS:
        dpi = max(1, (MAX_PIXELS / (width * height)) ** 0.5)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=dpi, bbox_inches="tight", facecolor=figure.get_facecolor())
    return buffer.getvalue()


def show_figures(*_, **__):
    """Stands in for plt.show: shows the open figures here, and closes them."""
    if not State.active or posix.getpid() != PID or outdated():
        return
    for manager in managers():
        try:
            if State.images < MAX_IMAGES + 1:
                send_image(draw(manager.canvas.figure))
        except Exception as error:
            note("a figure could not be drawn: %s: %s" % (type(error).__name__, error))
        finally:
            sys.modules["matplotlib._pylab_helpers"].Gcf.destroy(manager)


class PyplotFinder:
    """Puts show_figures into pyplot when the code imports it, so that it works
    with whichever backend the code then selects."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name != "matplotlib.pyplot":
            return None
        for finder in sys.meta_path:
            if finder is PyplotFinder or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(name, path, target)
            if spec is not None and hasattr(spec.loader, "exec_module"):
                execute = spec.loader.exec_module

                def exec_module(module):
                    execute(module)
                    module.show = show_figures
                    module.Figure.show = lambda self, *_, **__: display_figure(self)

                spec.loader.exec_module = exec_module
                return spec
        return None


def display_figure(figure):
    for manager in managers():
        if manager.canvas.figure is figure:
            sys.modules["matplotlib._pylab_helpers"].Gcf.destroy(manager)
    send_image(draw(figure))


# --- errors


SOURCES = {}  # file name of a cell → its entry in linecache


def remember(name, source):
    if not isinstance(linecache.cache, dict):
        linecache.cache = {}
    lines = [line + "\n" for line in source.split("\n")]
    SOURCES[name] = (len(source), None, lines, name)
    while len(SOURCES) > MAX_SOURCES:
        oldest = next(iter(SOURCES))
        del SOURCES[oldest]
        linecache.cache.pop(oldest, None)
    linecache.cache.update(SOURCES)


def clean(report, depth=0):
    """Takes the runner's frames out of a traceback and what is linked to it,
    and the middle out of a long one."""
    if report is None or depth > 20:
        return
    stack = [frame for frame in report.stack if frame.filename != RUNNER]
    if len(stack) > MAX_FRAMES:
        half = MAX_FRAMES // 2
        gap = FrameSummary("<%d frames left out>" % (len(stack) - 2 * half), 0, "…", lookup_line=False, line="")
        stack[half:-half] = [gap]
    report.stack[:] = stack
    clean(report.__cause__, depth + 1)
    clean(report.__context__, depth + 1)
    for other in (getattr(report, "exceptions", None) or ())[:20]:
        clean(other, depth + 1)


def describe(error):
    """The traceback, and its last line for those who want it short."""
    kind = type(error)
    try:
        linecache.cache.update(SOURCES)  # some clear it
        report = TracebackException(kind, error, error.__traceback__)
        clean(report)
        text = "".join(report.format())
        detail = "".join(report.format_exception_only()).strip()
        if isinstance(error, SyntaxError):
            detail = detail.split("\n")[-1]
        detail = detail.split("\n")[0]
    except BaseException:
        # The code broke what formats tracebacks, or its exception did.
        detail = "%s (its traceback cannot be shown)" % kind.__name__
        text = detail + "\n"
    return text, detail[:300]


# --- cells


def parse(source, name):
    tree = compile(source, name, "exec", PARSE, True)
    last = None
    if tree.body and isinstance(tree.body[-1], _ast.Expr) and not silenced(source, tree.body[-1]):
        last = compile(_ast.Expression(tree.body.pop().value), name, "eval", AWAIT, True)
    first = compile(tree, name, "exec", AWAIT, True)
    return first, last


def run(code):
    result = eval(code, MAIN.__dict__)
    if not code.co_flags & COROUTINE:
        return result
    import asyncio

    loop = State.__dict__.get("loop")
    if loop is None or loop.is_closed():
        loop = State.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
    return loop.run_until_complete(result)


def execute(source, name):
    """Runs one cell and returns what is said of its end: None when it is well."""
    try:
        try:
            State.active, State.starting = True, False
            if State.interrupted:
                raise KeyboardInterrupt
            first, last = parse(source, name)
            run(first)
            if last is not None:
                show_value(run(last))
            show_figures()
            return None
        except SystemExit as error:
            if posix.getpid() != PID:
                finish_child(error.code)
            show_figures()
            detail = "SystemExit" if error.code is None else "SystemExit: %s" % (error.code,)
            return detail + "\n(this ends the cell, not the interpreter)\n", detail[:300]
        except BaseException as error:
            show_figures()
            return describe(error)
    except BaseException as error:  # interrupted while it was described
        return describe(error)
    finally:
        State.active = State.interrupted = False
        for key, value in BUILTINS.items():  # what the code deleted
            vars(builtins).setdefault(key, value)


def finish_child(code):
    """Ends a process that the code forked and that came to the end of the cell:
    it must not go on as a second runner. Like sys.exit with that code."""
    if code is not None and not isinstance(code, int):
        STREAMS["stderr"].write("%s\n" % (code,))
        code = 1
    flush_all()
    posix._exit((code or 0) & 0xFF)


def decode(data):
    try:
        source = data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        source = data.decode("utf-8", "replace")
    if source.startswith("\ufeff"):
        source = source[1:]
    return source.replace("\r\n", "\n").replace("\r", "\n")


def no_breakpoint(*_, **__):
    raise EOFError(NO_INPUT)


def prepare():
    """Undoes what an earlier cell may have done to the interpreter itself. The
    names that it defined are the code's and stay."""
    default_signals()
    restore_streams()
    sys.breakpointhook = no_breakpoint
    sys.excepthook = sys.__excepthook__
    sys.displayhook = sys.__displayhook__
    sys.settrace(None)
    sys.setprofile(None)
    if sys.getrecursionlimit() < 200:
        sys.setrecursionlimit(1000)
    for name, module in MODULES.items():
        sys.modules.setdefault(name, module)
    sys.modules["__main__"] = MAIN
    MAIN.__dict__["__name__"] = "__main__"
    MAIN.__dict__["__builtins__"] = builtins
    State.images = State.image_bytes = 0


def end_cell():
    """Remembers what is left of the cell, which is not to be taken for the next."""
    threading = sys.modules.get("threading")
    State.old_threads = ()
    try:
        if threading is not None and len(threading._active) > 1:
            State.old_threads = set(threading._active.values())
    except Exception:
        pass


def one_cell():
    cell, data = next_cell()
    if cell == 0:
        send(b"R")
        return
    State.cell = cell
    name = "<cell %d>" % State.cell
    outcome = None
    try:
        prepare()
        source = decode(data)
        remember(name, source)
        outcome = execute(source, name)
    except BaseException as error:
        State.active = State.starting = State.interrupted = False
        outcome = describe(error)
    if posix.getpid() != PID:
        finish_child(outcome and outcome[0].rstrip())
    default_signals()  # a handler of the code's shall not run in the runner
    MODULES.update(sys.modules)
    if outcome is not None:
        send_text(b"T", outcome[0])
    end_cell()
    send(b"D", b"0" if outcome is None else b"1" + outcome[1].encode("utf-8", "backslashreplace"))


def main():
    posix.set_inheritable(3, False)
    posix.register_at_fork(after_in_child=leave_child)
    sys.path[0] = ""  # modules in the current directory, as in a notebook
    sys.argv = [""]
    sys.meta_path.insert(0, PyplotFinder)
    builtins.display = display
    default_signals()
    restore_streams()
    send(b"R")
    while True:
        try:
            one_cell()
        except KeyboardInterrupt:
            pass


MODULES = dict(sys.modules)
if __name__ == "__main__":
    # Called from a frame with other globals, main and all below it look up
    # their builtins here; Python 3.9 would let them inherit this frame's.
    eval("main()", {"main": main})
