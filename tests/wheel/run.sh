#!/bin/bash
# `make wheel-test`: the wheel in an empty environment, outside this repository, where every example
# and every block of Python in docs/api.md and README.md runs.
set -euo pipefail

python=${1:-python3}
repo=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset PYTHONPATH

# A build leaves files behind, and takes up those of an earlier one: build a copy.
mkdir "$work/source" "$work/outside"
cd "$repo"
git ls-files -z | xargs -0 cp --parents -t "$work/source"
cp -r --parents README.md docs/api.md docs/streams.md examples tests/docs/test_api.py tests/examples \
  "$work/outside"

"$python" -m venv "$work/venv"
pip=("$work/venv/bin/python" -m pip --disable-pip-version-check --quiet)
"${pip[@]}" wheel --no-deps --wheel-dir "$work" "$work/source"
wheel=("$work"/rankotom_edge-*.whl)
"${pip[@]}" install -c constraints.txt "${wheel[0]}[web,streams,analyze,cluster]" fastapi pandas pytest

cd "$work/outside"
"$work/venv/bin/python" -c "
import rankotom_edge
assert rankotom_edge.__file__.startswith('$work/venv/'), rankotom_edge.__file__"
# In the background a shell ignores SIGINT, which the examples end with, and so would its children.
XDG_DATA_HOME=$work "$work/venv/bin/python" -c "
import signal, sys, pytest
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.exit(pytest.main(sys.argv[1:]))" --import-mode=importlib -p no:cacheprovider -q -rs tests
