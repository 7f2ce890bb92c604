#!/bin/bash
# In the namespaces that run.sh makes: the devices and the checkout in the emulated Debian's root,
# QEMU as the interpreter of arm64 programs, then guest.sh. The mounts end with the namespace.
set -euo pipefail
repo=$1 root=$2 qemu=$3
binfmt=/proc/sys/fs/binfmt_misc

for folder in dev proc sys; do mount --rbind /$folder "$root/$folder"; done
mount --bind "$repo" "$root/repo"

# Debian's own line for systemd, with our QEMU's place. A registered interpreter stays open, so it
# needs no place inside the root.
mount -t binfmt_misc none $binfmt
sed "s,^:qemu-aarch64:\(.*\):/usr/\(.*\):\([A-Z]*\)$,:rankotom-$$:\1:$qemu/usr/\2:\3," \
  "$qemu/usr/share/qemu/binfmt.d/qemu-aarch64.conf" >$binfmt/register
trap 'echo -1 >$binfmt/rankotom-$$' EXIT # where the whole system shares it

# Raspberry Pi 5's; it has the dot product, as every Jetson Orin has. cortex-a57 has none.
export QEMU_CPU=${QEMU_CPU:-cortex-a76}
chroot "$root" /usr/bin/env -i QEMU_CPU=$QEMU_CPU HOME=/root LANG=C.UTF-8 PATH=/usr/bin:/usr/sbin \
  PYTHONPATH=/repo bash /repo/tests/arm64/guest.sh
