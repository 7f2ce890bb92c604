#!/bin/bash
# `make pythons`: the tests under each Python, and a table at the end.
#
# Each one has a venv of its own, .venv-3.10 and so on, without torch: the tests of training run with
# `make test`. Install a torch there, and they run too. What passed runs again only when a file has
# changed.
set -uo pipefail
cd "$(dirname "$0")/.."

find_python() { # version
  local found
  for found in "python$1" ~/.pyenv/versions/"$1".*/bin/python; do
    # pyenv's shim of a version that is switched off is found, but does not run
    "$found" -c 'import ensurepip' 2>/dev/null && command -v "$found" && return
  done
  return 1
}

rows=() status=0
for version in "$@"; do
  venv=.venv-$version log=.venv-$version/tests.log
  if ! python=$(find_python "$version"); then
    echo "Python $version is not here; install it, for example: pyenv install $version" >&2
    rows+=("$version|missing|") status=1
    continue
  fi
  if [[ -e $venv/.passed ]] && [[ -z $(find Makefile pyproject.toml constraints.txt README.md \
    calib docs examples export rankotom_edge tests train -type f -not -name '*.pyc' \
    -newer "$venv/.passed" -print -quit) ]]; then
    rows+=("$version|passed before|$(cat "$venv/.passed")")
    continue
  fi
  echo "== $("$python" --version), in $venv"
  mkdir -p "$venv"
  rm -f "$venv/.passed"
  if make --no-print-directory suite VENV="$venv" PYTHON="$python" \
    EXTRAS=web,streams,analyze,cluster,dev 2>&1 | tee "$log"; then
    result=passed
  else
    result=FAILED status=1
  fi
  summary=$(grep -E '^[0-9]+ .* in [0-9.]+s' "$log" | paste -sd ';')
  [[ $result == passed ]] && echo "$summary" >"$venv/.passed"
  rows+=("$version|$result|$summary")
done
echo
for row in "Python|result|tests" "${rows[@]}"; do
  IFS='|' read -r version result summary <<<"$row"
  printf '%-8s%-15s%s\n' "$version" "$result" "$summary"
done
exit $status
