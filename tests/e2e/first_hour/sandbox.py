"""A copy of this machine that vanishes: default ports, /etc, users and packages can be used freely.

Needs root: a network namespace of its own with loopback alone, a process namespace that ends with
the test, and an overlay over all of `/` whose upper half is in memory. The repository stands in it
at /root/berth, an overlay too, so that nothing of the machine or of the checkout is changed.
"""

import os
import subprocess
import sys
from pathlib import Path

HOME = Path("/root")
REPOSITORY = HOME / "berth"


NAMESPACES = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--propagation"]
TRIAL = ("mount -t tmpfs none /mnt && mkdir /mnt/u /mnt/w /mnt/r && "
         "mount -t overlay none -o lowerdir=/,upperdir=/mnt/u,workdir=/mnt/w /mnt/r")


def propagation() -> str:
    """`private`; in a chroot, whose root is no mount, `unchanged`: who made it has seen to that."""
    tried = subprocess.run([*NAMESPACES, "private", "true"], stderr=subprocess.DEVNULL)
    return "private" if tried.returncode == 0 else "unchanged"


def why_not() -> str:
    """Empty where a sandbox can be made, else the reason."""
    if os.geteuid() != 0:
        return "it needs root, for a network and a file system of its own"
    tried = subprocess.run([*NAMESPACES, propagation(), "sh", "-c", TRIAL], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return "" if tried.returncode == 0 else "no namespaces or overlays: " + tried.stdout.strip()


def start(program: list[str]) -> subprocess.Popen:
    """Runs the program in new namespaces; it calls `enter` first. All it starts ends with it."""
    return subprocess.Popen([*NAMESPACES, propagation(), sys.executable, *program],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def enter(root: Path, binary: Path) -> None:
    """Goes into the copy. Call it in the namespaces that `start` made."""
    def sh(command: str) -> None:
        subprocess.run(["sh", "-e", "-c", command], check=True)

    sh(f"""
        mount -t tmpfs -o mode=755 none /mnt
        cd /mnt
        mkdir up work root berth berth-work
        mount -t overlay none -o lowerdir=/,upperdir=up,workdir=work root
        # What another installation left, and real GPUs: pages show the simulated ones.
        rm -rf root{REPOSITORY} root/var/lib/berth root/etc/berth root/usr/bin/nvidia-smi
        mkdir -p root{REPOSITORY}
        mount -t overlay none -o lowerdir={root},upperdir=berth,workdir=berth-work root{REPOSITORY}
        mkdir -p root{REPOSITORY}/build/release
        touch root{REPOSITORY}/build/release/berth
        mount --bind {binary} root{REPOSITORY}/build/release/berth
        mount -t proc none root/proc
        mount -t sysfs none root/sys
        mount --rbind /dev root/dev
        for folder in tmp var/tmp; do mount -t tmpfs -o mode=1777 none root/$folder; done
        mount -t tmpfs -o mode=755 none root/run""")
    os.chroot("/mnt/root")
    os.chdir(REPOSITORY)
    raise_loopback()


def raise_loopback() -> None:
    """`ip link set lo up`, without a package that a bare Debian does not have."""
    import fcntl
    import socket
    import struct
    request = struct.pack("16sh22x", b"lo", 0x1 | 0x40)  # IFF_UP | IFF_RUNNING
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket.fileno(), 0x8914, request)  # SIOCSIFFLAGS


