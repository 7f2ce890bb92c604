#!/bin/bash
# `make v4l2`: the program on real V4L2 devices, on a machine that has no camera.
#
# Boots Debian's kernel in QEMU with the kernel's own test camera (vivid, /dev/video0) and a camera
# that plays what it is given (v4l2loopback, /dev/video7). The machine inside sees this one's root,
# read-only, so that it runs this very checkout and its .venv; guest.sh is what it checks there.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin # where Debian keeps depmod, also from those who are not root

LIMIT=1800 # seconds for all of it; two free cores take two or three minutes, busy ones six
repo=$(cd "$(dirname "$0")/../.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/rankotom-edge/v4l2
root=$cache/root # where the packages are unpacked: nothing of them goes into this system
initramfs=$cache/initramfs

fail() {
  echo "v4l2: $*" >&2
  exit 1
}

within_limit() { # in the foreground, so that Ctrl-C reaches it
  local left=$((LIMIT - SECONDS))
  # 0 would be no limit at all
  timeout --foreground --kill-after 10 $((left > 0 ? left : 1)) "$@"
}

dependency_of() { # package, what the name begins with
  apt-cache depends "$1" 2>/dev/null | sed -n "s/^  Depends: \($2.*\)/\1/p" | grep -m 1 .
}

prepare() {
  echo "fetching the kernel $kernel and v4l2loopback into $cache"
  rm -rf "$cache"
  mkdir -p "$cache/packages" "$root"
  local headers=linux-headers-$kernel sandbox=()
  # apt's own user may not write into a home folder
  test "$(id -u)" != 0 || sandbox=(-o APT::Sandbox::User=root)
  (cd "$cache/packages" && within_limit apt-get download -qq "${sandbox[@]}" \
    "linux-image-$kernel" "$headers" "$(dependency_of "$headers" linux-headers-)" \
    "$(dependency_of "$headers" linux-kbuild-)" v4l2loopback-dkms busybox-static) ||
    fail "the packages did not come; as root: apt-get update"
  local package
  for package in "$cache"/packages/*.deb; do dpkg -x "$package" "$root"; done
  rm -r "$cache/packages"

  # The headers name their other half by the place where they would be installed.
  sed -i "s,/usr/\(src\|lib\)/,$root&,g" "$root/usr/src/$headers/Makefile"
  make -s -C "$root/usr/src/$headers" M="$(echo "$root"/usr/src/v4l2loopback-*)" modules \
    >"$cache/build.log" 2>&1 || fail "v4l2loopback does not build; see $cache/build.log"
  install -D -t "$root/lib/modules/$kernel/extra" "$root"/usr/src/v4l2loopback-*/v4l2loopback.ko
  depmod -b "$root" "$kernel"
  touch "$cache/prepared-$kernel"
}

build_initramfs() {
  rm -rf "$initramfs"
  mkdir -p "$initramfs"/{bin,dev,host,proc,sys}
  cp "$(find "$root" -path '*/bin/busybox' -type f)" "$initramfs/bin/busybox"
  install "$repo/tests/v4l2/init" "$initramfs/init"
  echo "$repo" >"$initramfs/repo"
  local module file
  for module in virtio_pci 9pnet_virtio 9p vivid v4l2loopback; do
    modprobe -d "$root" -S "$kernel" --show-depends "$module" | sed -n 's/^insmod \(\S*\).*/\1/p'
  done | while read -r file; do
    install -D -m 644 "$file" "$initramfs/${file#"$root"/}"
  done
  cp "$root/lib/modules/$kernel"/modules.{order,builtin,builtin.modinfo} "$initramfs/lib/modules/$kernel"
  depmod -b "$initramfs" "$kernel"
  (cd "$initramfs" && find . | cpio --quiet -o -H newc | gzip -1) >"$cache/initramfs.gz"
}

boot() { # the kernel's messages go to boot.log, what the checks say comes here
  within_limit qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp 2 -m 4G \
    -display none -vga none -nic none -no-reboot \
    -serial "file:$cache/boot.log" -serial stdio \
    -kernel "$root/boot/vmlinuz-$kernel" -initrd "$cache/initramfs.gz" \
    -append "console=ttyS0 quiet panic=-1 mitigations=off tsc=unstable" \
    -virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
    </dev/null | sed -u 's/\r$//' | tee "$cache/checks.log"
}

test "$(uname -m)" = x86_64 || fail "works on x86-64 only"
for program in apt-get cpio depmod dpkg ffmpeg gcc make qemu-system-x86_64 setpriv; do
  command -v "$program" >/dev/null || fail "$program is missing; \`make v4l2\` as root installs it"
done
test "$(id -u)" != 0 || apt-get update -qq || echo "v4l2: going on with the old list of packages" >&2
# The release's default kernel, which its v4l2loopback was released with; apt may list newer series.
image=$(dependency_of linux-image-amd64 linux-image-) ||
  fail "apt knows no linux-image-amd64: this needs Debian, and apt-get update"
kernel=${image#linux-image-}

test -e "$cache/prepared-$kernel" || prepare
build_initramfs
echo "booting Linux $kernel; the checks take some minutes"
boot || fail "the machine did not come to its end within $LIMIT s; see $cache/boot.log"
grep -qx 'guest.sh ended with status 0' "$cache/checks.log" ||
  fail "not every check passed; see above, and $cache/boot.log for the kernel's messages"
