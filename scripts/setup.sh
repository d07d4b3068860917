#!/bin/sh
# Install into .venv what `make demo` (no argument) or `make test` (argument: dev) needs, and check system libraries.
# A stamp file records the installation, so that a second call costs nothing.
set -eu
cd "$(dirname "$0")/.."
extra=${1:-}
stamp=.venv/.installed${extra:+-$extra}

say() { printf 'setup: %s\n' "$*"; }
fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

supported() { "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] <= (3, 12))' 2>/dev/null; }

# The carla wheel exists for CPython 3.10 to 3.12 only.
find_python() {
    for candidate in ${PYTHON:-} python3.12 python3.11 python3.10 python3; do
        if command -v "$candidate" >/dev/null 2>&1 && supported "$candidate"; then
            command -v "$candidate"
            return
        fi
    done
}

# The renderer needs EGL and a software driver, OpenCV needs libGL, and Debian ships venv apart from Python.
missing_packages() {
    python=$1
    for pair in libEGL.so.1:libegl1 libGL.so.1:libgl1 libgthread-2.0.so.0:libglib2.0-0; do
        "$python" -c "import ctypes; ctypes.CDLL('${pair%%:*}')" 2>/dev/null || printf '%s ' "${pair#*:}"
    done
    [ -x .venv/bin/pip ] || "$python" -c 'import ensurepip' 2>/dev/null ||
        "$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2], end=" ")'
}

# The test of the report's pages opens them in Chromium. Ubuntu has it as a snap only; there, and for a user who may
# install nothing, that test is skipped.
missing_browser() {
    if [ "$extra" = dev ] && [ "$(id -u)" = 0 ] && grep -qs '^ID=debian' /etc/os-release; then
        command -v chromium >/dev/null 2>&1 || printf 'chromium '
    fi
}

install_system_libraries() {
    packages="$(missing_packages "$1")$(missing_browser)"
    [ -n "$packages" ] || return 0
    command -v apt-get >/dev/null 2>&1 || fail "system libraries are missing; install what Debian calls: $packages"
    install="apt-get install -y --no-install-recommends $packages"
    [ "$(id -u)" = 0 ] || fail "system libraries are missing; run: sudo $install"
    say "$install"
    # shellcheck disable=SC2086 # several packages, split on purpose
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages; } \
        >/dev/null || fail "apt-get failed; run it by hand: $install"
}

# Debian 13 refuses `pip install` outside a virtual environment, so uv gets one of its own.
find_uv() {
    if command -v uv >/dev/null 2>&1; then
        command -v uv
    elif command -v python3 >/dev/null 2>&1; then
        install_system_libraries python3 >&2
        say "installing uv into .uv, which brings a Python that the carla wheel supports" >&2
        { [ -x .uv/bin/pip ] || python3 -m venv .uv; } >&2 &&
            .uv/bin/pip install --quiet --disable-pip-version-check -c constraints.txt uv >&2 && echo .uv/bin/uv
    fi
}

if [ -x .venv/bin/python ] && supported .venv/bin/python; then
    python=.venv/bin/python
else
    python=$(find_python)
fi
if [ -n "$python" ]; then
    install_system_libraries "$python"
else
    uv=$(find_uv) || true
    [ -n "$uv" ] || fail "the carla wheel needs Python 3.10, 3.11 or 3.12, and neither one nor uv can be found here"
fi

if [ ! -x .venv/bin/pip ]; then
    if [ -n "$python" ]; then
        "$python" -m venv .venv
    else
        say "bringing Python 3.12 with uv"
        "$uv" venv --quiet --seed --python 3.12 .venv || fail "uv could not bring Python 3.12: install one by hand"
        install_system_libraries .venv/bin/python
    fi
fi

if [ ! -e "$stamp" ] || [ pyproject.toml -nt "$stamp" ] || [ constraints.txt -nt "$stamp" ]; then
    if [ -n "$extra" ]; then size="3.8 GB to download, 8 GB on disk"; else size="370 MB to download, 1.3 GB on disk"; fi
    say "installing the pinned packages into .venv ($size, once)"
    # Tests and lint import a tenth of what is installed for them; pip would compile all of it, on one core.
    pip_install() {
        .venv/bin/pip install --quiet --disable-pip-version-check ${extra:+--no-compile} -c constraints.txt "$@"
    }
    install() {
        if [ -n "$uv" ]; then
            "$uv" pip install --quiet --python .venv/bin/python -c constraints.txt -e "$1" && return
            say "uv could not install it, pip will"
            uv=
        fi
        pip_install -e "$1"
    }
    # For the many packages that tests need, uv takes a third of pip's time. It does not read pip's settings: where they
    # name another index, pip installs.
    uv=
    if [ -n "$extra" ] && ! .venv/bin/pip config list | grep -q '[.]index-url='; then
        if pip_install uv; then uv=.venv/bin/uv; fi
    fi
    install .
    # Compile the kernels of the server and of the stack now instead of at the first start, each on a core; where more
    # is installed, which takes one core, the stack's come after it.
    .venv/bin/python -m embedded_carla.warm_up &
    warm_up=$!
    [ -z "$extra" ] || install ".[$extra]"
    .venv/bin/python -c "import perception.detection.detector, perception.objects, planning.planner"
    wait "$warm_up"
    touch "$stamp"
fi
