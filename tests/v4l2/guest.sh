#!/bin/bash
# What is checked inside the machine that run.sh boots: /dev/video0 is vivid, the kernel's test
# camera; /dev/video7 is v4l2loopback, into which FFmpeg plays a portrait.
repo=$1
export PATH=$repo/.venv/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
export HOME=/dev/shm/home TMPDIR=/dev/shm/home
mkdir -m 1777 $HOME
cd $HOME || exit 1
failed=0

# The command must end with the status, and all that it said must match the words, a Perl regular
# expression in which a dot is no end of line.
check() { # name, status, words, command …
  local name=$1 wanted=$2 words=$3 began=$SECONDS status=0
  shift 3
  timeout --kill-after 10 240 "$@" >said 2>&1 || status=$?
  if [ "$status" = "$wanted" ] && grep -Pzq -- "$words" said; then
    echo "passed  $name ($((SECONDS - began)) s)"
  else
    failed=$((failed + 1))
    echo "FAILED  $name ($((SECONDS - began)) s): $*"
    echo "        wanted: status $wanted and $words"
    echo "        came: status $status and"
    cut -c 1-300 said | sed 's/^/        /'
  fi
}

# FFmpeg in the background, from its first frame on; its number is in $player.
play() {
  ffmpeg -nostdin -hide_banner "$@" >player.log 2>&1 &
  player=$!
  local left
  for left in {60..0}; do
    if grep -q 'frame=' player.log; then return; fi
    sleep 1
  done
  echo "FFmpeg does not play; it said:"
  cat player.log
}

stop_playing() {
  kill "$player"
  wait "$player"
} 2>/dev/null

heard() { # words
  until grep -q "$1" said; do sleep 1; done
}

# Unplugs the camera of the check that runs once it plays, and plugs it in once it is missed.
replug() {
  local driver=/sys/bus/platform/drivers/vivid
  heard '"frame":'
  echo vivid.0 >$driver/unbind
  heard 'lost:'
  echo vivid.0 >$driver/bind
}

camera="rankotom-edge camera --view none"
face='"top":"happiness".*\n\z' # in the last line: the detector may need a frame or two

# The face, large enough to be found at once. Played once only: v4l2loopback 0.12.7 takes no second
# player after anybody has asked it, between the two, what it can do.
play -re -framerate 10 -loop 1 -i "$repo/rankotom_edge/sources/eileen-collins.jpg" \
  -vf crop=320:240:68:8,scale=640:480,format=yuv420p -f v4l2 /dev/video7
check "--list-devices names both cameras" 0 \
  '\A0 \(vivid.*, /dev/video0\)\n7 \(loopback, /dev/video7\)\n\z' \
  rankotom-edge camera --list-devices
check "--device 7 reads a happy face" 0 "$face" $camera --device 7 --frames 4 --json -
check "--source /dev/video7 does too" 0 "$face" $camera --source /dev/video7 --frames 4 --json -
stop_playing

check "--device 0 gives three frames, a line each" 0 '\A(\{"frame":.*\}\n){3}\z' \
  $camera --device 0 --frames 3 --json -
check "an absent camera is told" 2 'Camera 3 is absent: there is no /dev/video3' \
  $camera --device 3 --frames 3

play -f v4l2 -i /dev/video0 -f null -
check "a busy camera is told" 2 'Camera 0 is busy: another program uses /dev/video0' \
  $camera --device 0 --frames 3
stop_playing

# As whoever owns the checkout, who can read it. Root may open everything, unless it is taken away.
owner=$(stat -c %u "$repo")
chown $((owner + 1)) /dev/video0
chmod 600 /dev/video0
check "a forbidden camera is told" 2 'Camera 0 is forbidden: you may not open /dev/video0' \
  setpriv --reuid "$owner" --clear-groups --bounding-set -dac_override,-dac_read_search \
  $camera --device 0 --frames 3
chown 0 /dev/video0

replug & # the loss and the return are told between two lines of readings
check "a camera that is unplugged and plugged in again plays on" 0 \
  '\{"frame":.*\n(?s:.*)camera 0: lost: .*\n(?s:.*)camera 0: playing\n(?s:.*)\{"frame":.*\n\z' \
  $camera --device 0 --seconds 45 --json -

if [ $failed = 0 ]; then echo "every check passed"; else echo "checks that failed: $failed"; fi
exit $((failed > 0))
