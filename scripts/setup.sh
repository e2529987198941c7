#!/usr/bin/env bash
# setup.sh [demo | dashboard | site]: installs what Headrace needs and is not there yet: Debian packages by apt-get, Python
# packages by pip into .venv. With "demo" only what the demo needs, with "dashboard" what the dashboard of the emulator
# needs beside that, with "site" what the site of the documentation needs, otherwise what the tests need, too.
# Works as root and for a user with sudo; does nothing when all is in place.
set -euo pipefail
part=${1:-}
tests=$([ -n "$part" ] || echo yes)
cd "$(dirname "$0")/.."

say() { echo "setup: $*"; }

packages=()
need() { # PACKAGE TEST...: notes the package if the test fails
  local package=$1
  shift
  "$@" >/dev/null 2>&1 || packages+=("$package")
}
header() { echo "#include <$1>" | c++ -E -x c++ - ; }
libpython() { # cocotb runs Python inside the simulator
  python3 -c 'import ctypes, os, sysconfig
folder, name = sysconfig.get_config_vars("LIBDIR", "INSTSONAME")
path = os.path.join(folder, name)
ctypes.CDLL(path if os.path.exists(path) else name)'
}

need g++ c++ --version
need make make --version
need perl perl --version
need git git --version
need ccache ccache --version
need tcpdump tcpdump --version
need iproute2 ip -V
need iputils-ping ping -V
need openvswitch-switch ovs-vswitchd --version
need python3-venv python3 -c 'import ensurepip, venv'
need libpcap-dev header pcap.h
need gcc-riscv64-unknown-elf riscv64-unknown-elf-gcc --version
need libbpf-dev header bpf/bpf.h
need libxdp-dev header xdp/xsk.h
need zlib1g-dev header zlib.h
need liblz4-dev header lz4.h
if [ -n "$tests" ]; then
  need tshark tshark --version
  need zstd zstd --version
  need lz4 lz4 --version
  need babeld command -v babeld
  need bird2 command -v bird
  need openssl openssl version
  need tcl command -v tclsh
  need iperf3 iperf3 --version
  need openvswitch-testcontroller command -v ovs-testcontroller
  need patch patch --version
  need qemu-system-x86 qemu-system-x86_64 --version
  need dpdk-dev command -v dpdk-testpmd
  need busybox-static busybox --help
  need libpython3-dev libpython
  need z3 z3 --version
  need gcc-bpf bpf-gcc --version
  need gdb-multiarch gdb-multiarch --version
  need chromium command -v chromium
  need groff-base groff --version
fi

if [ ${#packages[@]} -gt 0 ]; then
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "setup: needs root or sudo to install: ${packages[*]}" >&2; exit 1; }
    as_root=(sudo)
  fi
  say "installing Debian packages: ${packages[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null
fi

python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "setup: needs Python 3.11 or later, but python3 is $(python3 --version 2>&1 | cut -d' ' -f2)" >&2
  exit 1
}

# A stamp holds what the environment was made from.
state=$( (cat pyproject.toml; python3 --version; pwd) | sha256sum)
stamped() { # FILE: whether it was made from what is there now
  [ -e "$1" ] && [ "$(cat "$1")" = "$state" ]
}
install() { # STAMP WHAT
  [ -x .venv/bin/python ] || { say "making .venv"; python3 -m venv .venv; }
  say "installing Python packages into .venv (a few minutes the first time)"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --editable "$2"
  echo "$state" >"$1"
}
if [ "$part" = dashboard ]; then
  stamped .venv/dashboard-stamp || stamped .venv/tests-stamp || install .venv/dashboard-stamp '.[dashboard]'
  say "ready for the dashboard: .venv/bin/headrace emulate dashboard"
  exit
fi
if [ "$part" = site ]; then
  stamped .venv/site-stamp || install .venv/site-stamp '.[site]'
  exit
fi
if [ -z "$tests" ]; then
  stamped .venv/setup-stamp || stamped .venv/tests-stamp || install .venv/setup-stamp '.[demo]'
  say "ready for the demo: .venv/bin/headrace"
  exit
fi
stamped .venv/tests-stamp || install .venv/tests-stamp '.[test]'

# Faucet needs another os-ken than the tests.
faucet=faucet==1.10.12
stamp=.venv-faucet/setup-stamp
state=$( (echo "$faucet"; python3 --version; pwd) | sha256sum)
if [ ! -e "$stamp" ] || [ "$(cat "$stamp")" != "$state" ]; then
  [ -x .venv-faucet/bin/python ] || python3 -m venv .venv-faucet
  say "installing faucet into .venv-faucet"
  .venv-faucet/bin/python -m pip install --quiet --disable-pip-version-check "$faucet"
  echo "$state" >"$stamp"
fi

# A stock kernel for guests: taken out of its package, not installed.
guest_kernel() {
  local meta name folder
  folder=$(mktemp -d) || return
  for meta in linux-image-cloud-amd64 linux-image-virtual; do
    for name in $(apt-cache depends --important "$meta" 2>/dev/null | sed -n 's/^  Depends: \(linux-\(image\|modules\)-[0-9].*\)/\1/p'); do
      (cd "$folder" && apt-get download -qq "$name" && dpkg-deb -x "$name"_*.deb root) || return
    done
    [ -d "$folder/root" ] && break
  done
  mkdir -p .guest
  find "$folder/root" -name "virtio*.ko*" -o -name "*failover.ko*" | xargs -r cp -t .guest
  cp "$(find "$folder/root/boot" -name "vmlinuz-*" | head -1)" .guest/vmlinuz
  rm -r "$folder"
}
if [ "$(uname -m)" = x86_64 ] && [ ! -e .guest/vmlinuz ]; then
  say "fetching a kernel for guests of virtual machines into .guest"
  guest_kernel 2>/dev/null || say "no kernel for guests: their tests are left out"
fi

say "ready: .venv/bin/headrace"
