#!/bin/bash
# What runs in the emulated arm64 Debian: the models on 200 faces, doctor, and the demo.
set -uo pipefail
cd /tmp/shared || exit 1
program="python3 -m rankotom_edge"
failed=0

check() { # name, words that standard output must match (a Perl expression), command …
  local name=$1 words=$2 began=$SECONDS status=0
  shift 2
  "$@" >"$name.out" 2>"$name.err" || status=$?
  if [ $status = 0 ] && grep -Pzq -- "$words" "$name.out"; then
    echo "passed  $name ($((SECONDS - began)) s)"
  else
    failed=$((failed + 1))
    echo "FAILED  $name ($((SECONDS - began)) s): $*"
    echo "        wanted: status 0 and $words"
    echo "        came: status $status and"
    tail -n 40 "$name.out" "$name.err" | cut -c 1-300 | sed 's/^/        /'
  fi
}

echo "$(python3 -c 'import platform; print(platform.machine())'), Debian $(cat /etc/debian_version)"
# Each in a process of its own, so that two cores share them.
readers=()
for model in ferplus-fp32 ferplus-int8 ferplus-int8-s8s8 kernels; do
  python3 /repo/tests/arm64/agreement.py read faces.npy "arm64-$model.npz" "$model" \
    >"$model.out" 2>&1 &
  readers+=($!)
done

# Each check imports everything again, which takes a busy machine its time.
check doctor 'ferplus-int8 reads happiness' $program doctor --timeout 1800
grep -E '^ *(✓|✗|–|!)|ready|not' doctor.out | cut -c 1-110 | head -n 40
check camera '\A(\{"frame":.*\}\n){19}.*"top":"happiness".*\n\z' \
  $program camera --source demo --frames 20 --view none --json -

for reader in "${readers[@]}"; do
  wait "$reader" || { failed=$((failed + 1)) && tail -n 5 ./*.out; }
done
exit $((failed > 0))
