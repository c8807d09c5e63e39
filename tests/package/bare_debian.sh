#!/usr/bin/env bash
# Installs the package on a bare Debian 12 and measures how soon it serves; says what it did.
#
#   tests/package/bare_debian.sh DEB [ROOT]
#
# ROOT is a file system as debootstrap makes it, by default a new one in a temporary folder. The
# package is installed by apt-get and started as its unit would start it (a chroot has no systemd),
# in a network of its own that has loopback alone: nothing is downloaded after debootstrap. Then it
# is removed, which keeps the data, installed again, which finds them, and purged. Needs root.
set -euo pipefail
[ $# -ge 1 ] || { sed -n '2,9s/^# \?//p' "$0"; exit 2; }
deb=$(realpath "$1")
root=${2:-}
if [ -z "$root" ]; then
  root=$(mktemp -d)
  chmod 755 "$root"  # the server does not run as root
  trap 'rm -rf "$root"' EXIT
  debootstrap --variant=minbase bookworm "$root" >/dev/null
fi
cp "$deb" "$root/root/berth.deb"

cat >"$root/root/try.sh" <<'INSIDE'
set -euo pipefail
cd /root
begin=$(date +%s.%N)
since() { awk -v a="$begin" -v b="$(date +%s.%N)" 'BEGIN { printf "%6.1f s  ", b - a }'; }
say() { since; echo "$*"; }

# serve: as ExecStart of the unit says, as its User.
serve() {
  unit=/lib/systemd/system/berth.service
  : >/root/log
  user=$(sed -n 's/^User=//p' $unit)
  # shellcheck disable=SC2046  # several words
  runuser -u "$user" -- $(sed -n 's/^ExecStart=//p' $unit) >>/root/log 2>&1 &
  until grep -q ' serves$' /root/log; do
    kill -0 $! || { cat /root/log; exit 1; }
    sleep 0.05
  done
}
stop() { kill "$(pidof berth | tr ' ' '\n' | sort -n | head -n 1)"; wait; }

echo "$(. /etc/os-release && echo "$PRETTY_NAME"), $(dpkg-query -f '.\n' -W | wc -l) packages"
apt-get install --no-install-recommends -y ./berth.deb >/root/apt 2>&1 || { cat /root/apt; exit 1; }
say "installed"
serve
say "serves"
printed=$(berth submit --queue llm --vram 8GB --no-workdir --wait --id first -- echo hi 2>/dev/null)
[ "$printed" = hi ]
say "a command has run: what was asked for"
stop
apt-get remove -y berth >>/root/apt 2>&1
[ ! -e /usr/bin/berth ] && [ -d /var/lib/berth/data/journal ] && [ -f /etc/berth/berth.toml ]
say "removed; the data and the configuration stayed"
apt-get install --no-install-recommends -y ./berth.deb >>/root/apt 2>&1
serve
berth status first | grep -q '^state *completed'
say "installed again; it knows the task of before"
stop
apt-get purge -y berth >>/root/apt 2>&1
[ ! -e /var/lib/berth ] && [ ! -e /etc/berth ]
say "purged; data and configuration are gone"
INSIDE

export root
unshare --net --mount --pid --fork --kill-child --propagation private bash -c '
  python3 -c "
import fcntl, socket, struct
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s.fileno(), 0x8914, struct.pack(\"16sh22x\", b\"lo\", 0x41))"  # loopback up
  mount -t proc none "$root/proc"
  mount --rbind /dev "$root/dev"
  env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    chroot "$root" bash /root/try.sh'
