#!/bin/bash
# `make slim`: the slim install of slim.txt and a full one, each in a new venv. Both must read the
# demo and measure predictions alike, in an empty folder; then the disk space of each is printed.
set -euo pipefail
repo=$(cd "$(dirname "$0")/.." && pwd)
cd "$repo"
python=$1
for name in slim full; do
  "$python" -m venv --clear ".venv-$name"
done
echo "installing .venv-slim and .venv-full"
.venv-slim/bin/python -m pip install -q --no-deps -c constraints.txt -r slim.txt
.venv-slim/bin/python -m pip install -q --no-deps .
.venv-full/bin/python -m pip install -q -c constraints.txt '.[web]'

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
read_demo() { # the venv's name; what is read, without how long it took
  "$repo/.venv-$1/bin/rankotom-edge" camera --source demo --view none --frames 30 --json - |
    sed -E 's/"time":[^,]*,//; s/,"latency_ms":.*//' >"$1.jsonl"
  "$repo/.venv-$1/bin/rankotom-edge" evaluate "$repo/docs/examples/int8.npz" --json "$1.json" >/dev/null
  "$repo/.venv-$1/bin/rankotom-edge" models >/dev/null
  "$repo/.venv-$1/bin/rankotom-edge" camera --source demo --view web --port 0 --frames 30 >/dev/null
}
read_demo slim
read_demo full
grep -q happiness slim.jsonl
cmp slim.jsonl full.jsonl
cmp slim.json full.json
echo "camera, its web view, evaluate and models: the same in both"
cd "$repo"
du -sm .venv-slim .venv-full | awk '{print $2 ": " $1 " MB"}'
