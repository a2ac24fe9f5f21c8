#!/usr/bin/env bash
# Prints the Python for sandboxes: $CODE_PYTHON, or the first one that has
# numpy, pandas and matplotlib, or any. With --install, gets these packages
# from the system's package manager first when no Python has them.
set -euo pipefail

has_packages() {
	"$1" -c 'import numpy, pandas, matplotlib' >/dev/null 2>&1
}

find_python() {
	local python
	for python in python3 /usr/bin/python3; do
		if has_packages "$python"; then
			command -v "$python"
			return
		fi
	done
	return 1
}

install_packages() {
	local root=()
	if [ "$(id -u)" -ne 0 ]; then
		sudo -n true 2>/dev/null || return 1
		root=(sudo -n)
	fi
	if command -v apt-get >/dev/null; then
		"${root[@]}" apt-get update -qq || return 1
		"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			python3 python3-numpy python3-pandas python3-matplotlib
	elif command -v dnf >/dev/null; then
		"${root[@]}" dnf install -y -q python3 python3-numpy python3-pandas python3-matplotlib
	elif command -v zypper >/dev/null; then
		"${root[@]}" zypper --non-interactive --quiet install python3 python3-numpy python3-pandas python3-matplotlib
	elif command -v pacman >/dev/null; then
		"${root[@]}" pacman -Sy --noconfirm --needed python python-numpy python-pandas python-matplotlib
	elif command -v apk >/dev/null; then
		"${root[@]}" apk add --quiet python3 py3-numpy py3-pandas py3-matplotlib
	else
		return 1
	fi
}

if [ -n "${CODE_PYTHON:-}" ]; then
	echo "$CODE_PYTHON"
	exit
fi
if find_python; then
	exit
fi
if [ "${1:-}" = --install ]; then
	echo "python: no Python here has numpy, pandas and matplotlib; asking the package manager for them" >&2
	if install_packages >&2 && find_python; then
		exit
	fi
	echo "python: numpy, pandas and matplotlib could not be installed; without them the model's code has only the standard library. Install them for python3, or set CODE_PYTHON to a Python that has them." >&2
fi
command -v python3 || {
	echo "python: there is no python3 here; install it with numpy, pandas and matplotlib, or set CODE_PYTHON." >&2
	exit 1
}
