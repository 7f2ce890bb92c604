#!/bin/bash
# `make arm64`: the program in an emulated arm64 Debian, compared with the same program here.
#
# Unpacks Debian 12's arm64 packages and the registry's aarch64 wheels into the cache, and runs them
# with the QEMU of Debian 13: that of Debian 12 crashes in `import onnxruntime`. inside.sh makes the
# namespaces' mounts, guest.sh is what runs in the emulated Debian, agreement.py compares. Nothing
# goes into this system, and no step needs root: the packages are unpacked, not installed, so no
# second stage runs, and Linux 6.7 and later let each user name an interpreter for foreign programs.
#
# RANKOTOM_ARM64 names another cache, RANKOTOM_FACES fewer faces than 200 for a busy machine, and
# QEMU_CPU another processor than the cortex-a76.
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

repo=$(cd "$(dirname "$0")/../.." && pwd)
python=$repo/.venv/bin/python
cache=${RANKOTOM_ARM64:-${XDG_CACHE_HOME:-$HOME/.cache}/rankotom-edge/arm64}
qemu=$cache/qemu
root=$cache/root
keys=/usr/share/keyrings/debian-archive-keyring.gpg
# Those that the doctor names where they are missing, on a Debian that has what is essential.
packages=('?essential' python3 libgl1 libglib2.0-0 libxcb1 libsm6 libegl1 libgles2)

fail() {
  echo "arm64: $*" >&2
  exit 1
}

debian() { # suite, architecture: an apt of its own, that knows no installed package
  local state=$cache/apt-$1-$2
  mkdir -p "$state"/{lists/partial,archives/partial}
  touch "$state/status"
  echo "deb [arch=$2 signed-by=$keys] http://deb.debian.org/debian $1 main" >"$state/sources.list"
  cat >"$state/apt.conf" <<EOF
APT::Architecture "$2";
APT::Architectures "$2";
APT::Install-Recommends "false";
APT::Sandbox::User "";
Dir::State "$state";
Dir::State::status "$state/status";
Dir::Cache "$state";
Dir::Etc::sourcelist "$state/sources.list";
Dir::Etc::sourceparts "-";
EOF
  export APT_CONFIG=$state/apt.conf
  apt-get update -qq || fail "the list of Debian's packages did not come; is the network there?"
}

# As `dpkg --extract`, which would put a folder in the place of the link /lib, and Python 3.11's
# libraries then lie beside each other.
unpack() { # folder, packages …
  local folder=$1 package
  shift
  for package in "$@"; do
    dpkg-deb --fsys-tarfile "$package" |
      tar -x --keep-directory-symlink --no-same-owner -C "$folder" ||
      fail "$package does not unpack; remove $cache and try again"
  done
}

prepare_qemu() {
  echo "fetching QEMU 10 of Debian 13 into $qemu"
  debian trixie amd64
  mkdir -p "$qemu"
  (cd "$cache" && apt-get download -qq qemu-user) || fail "QEMU did not come"
  unpack "$qemu" "$cache"/qemu-user_*.deb
  rm "$cache"/qemu-user_*.deb
}

prepare_debian() {
  echo "fetching the packages of an arm64 Debian 12 into $root"
  debian bookworm arm64
  apt-get install -qq --yes --download-only "${packages[@]}" >"$cache/apt.log" 2>&1 ||
    fail "the packages did not come; see $cache/apt.log"
  rm -rf "$root"
  mkdir -p "$root"/{dev,home,proc,repo,root,sys,tmp,usr/bin,usr/sbin,usr/lib}
  ln -s usr/bin usr/sbin usr/lib "$root"
  unpack "$root" "$cache"/apt-bookworm-arm64/archives/*.deb
}

prepare_wheels() {
  echo "fetching the aarch64 wheels, about 350 MB, into $root"
  local wheels=$root/usr/local/lib/python3.11/dist-packages tag platforms=()
  for tag in manylinux_2_{36,35,34,31,28,27,17}_aarch64 manylinux2014_aarch64; do
    platforms+=(--platform "$tag")
  done
  rm -rf "$wheels"
  "$python" -c '
from importlib.metadata import requires
print(*(each for each in requires("rankotom-edge") or () if "extra ==" not in each), sep="\n")
' >"$cache/requirements.txt"
  "$python" -m pip install --disable-pip-version-check -q --target "$wheels" \
    "${platforms[@]}" --python-version 3.11 --only-binary :all: \
    -c "$repo/constraints.txt" -r "$cache/requirements.txt" >"$cache/pip.log" 2>&1 ||
    fail "the wheels did not come; see $cache/pip.log"
}

once() { # what was prepared is not prepared again; an interrupted step begins anew
  local stamp=$cache/prepared-$1
  test -e "$stamp" || { "prepare_${1%%-*}" && touch "$stamp"; }
}

test "$(uname -m)" = x86_64 || fail "emulates ARM on x86-64, and this is $(uname -m)"
for program in apt-get dpkg-deb tar unshare; do
  command -v "$program" >/dev/null || fail "$program is missing; this needs Debian"
done
test -e "$keys" || fail "$keys is missing; as root: apt-get install debian-archive-keyring"
namespaces=(unshare --user --map-root-user --mount --pid --fork --kill-child)
if ! "${namespaces[@]}" mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null; then
  # The whole system then runs arm64 programs, until guest.sh ends.
  test "$(id -u)" = 0 ||
    fail "needs Linux 6.7 with user namespaces, or root; this is Linux $(uname -r)"
  namespaces=(unshare --mount --pid --fork --kill-child)
  "${namespaces[@]}" mount -t binfmt_misc none /proc/sys/fs/binfmt_misc 2>/dev/null ||
    fail "this Linux cannot name an interpreter for arm64 programs (binfmt_misc)"
fi

mkdir -p "$cache"
once qemu
once debian
once "wheels-$(cat "$repo"/{constraints.txt,pyproject.toml} | sha256sum | cut -c 1-16)"

# The code comes from the checkout; that it is installed, and with what it needs, from .venv.
cp -r "$repo"/.venv/lib/python3*/site-packages/rankotom_edge-*.dist-info \
  "$root/usr/local/lib/python3.11/dist-packages/"

export PYTHONPATH=$repo
shared=$root/tmp/shared
rm -rf "$shared" && mkdir -p "$shared"
(
  cd "$repo"
  "$python" tests/arm64/agreement.py choose "$shared/faces.npy" "${RANKOTOM_FACES:-200}"
  "$python" tests/arm64/agreement.py read "$shared/faces.npy" "$shared/x86.npz"
)
status=0
"${namespaces[@]}" bash "$repo/tests/arm64/inside.sh" "$repo" "$root" "$qemu" || status=$?
test $status = 0 || fail "not every check passed; see above"
cat "$shared/doctor.out"
"$python" "$repo/tests/arm64/agreement.py" compare "$shared"
