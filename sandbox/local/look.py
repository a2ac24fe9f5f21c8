import json, os, sys, sysconfig
paths = sysconfig.get_paths()
prefixes = [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix]
prefixes += [paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
executable = sys.executable
if sys.prefix == sys.base_prefix:
    executable = os.path.realpath(executable)
print(json.dumps({
    "executable": executable,
    "prefixes": [p for p in prefixes if os.path.isdir(p)],
    "version": list(sys.version_info[:2]),
}))
