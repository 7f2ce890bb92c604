#!/bin/bash
# What runs in the emulated arm64 Debian, all at once: the models on the faces, doctor, the demo.
set -uo pipefail
cd /tmp/shared || exit 1
program="python3 -m rankotom_edge"
jobs=()

check() { # name, words that standard output must match (a Perl expression), command …
  local name=$1 words=$2 began=$SECONDS status=0
  shift 2
  "$@" >"$name.out" 2>"$name.err" || status=$?
  if [ $status = 0 ] && grep -Pzq -- "$words" "$name.out"; then
    echo "passed  $name ($((SECONDS - began)) s)"
    return 0
  fi
  echo "FAILED  $name ($((SECONDS - began)) s): $*"
  echo "        wanted: status 0 and $words"
  echo "        came: status $status and"
  tail -n 40 "$name.out" "$name.err" | cut -c 1-300 | sed 's/^/        /'
  return 1
}

echo "$(uname -m), Debian $(cat /etc/debian_version), $QEMU_CPU"
# Each check imports everything again, which takes its time where the machine is busy.
check doctor 'ferplus-int8 reads happiness' $program doctor --timeout 3600 &
jobs+=($!)
check camera '\A(\{"frame":.*\}\n){19}.*"top":"happiness".*\n\z' \
  $program camera --source demo --frames 20 --view none --json - &
jobs+=($!)
for model in ferplus-fp32 ferplus-int8 ferplus-int8-s8s8 kernels; do
  check "$model" 'read' \
    python3 /repo/tests/arm64/agreement.py read faces.npy "arm64-$model.npz" "$model" &
  jobs+=($!)
done

failed=0
for job in "${jobs[@]}"; do wait "$job" || failed=1; done
exit $failed
