#!/bin/bash
# Builds the disk of node-c in the folder $1: root.img, vmlinuz and initrd. $2 is the kubelet, $3 the
# Debian release. Packages come from the machine's own mirror.
set -euo pipefail
out=$1 kubelet=$2 release=$3
here=$(cd "$(dirname "$0")" && pwd)
root=$out/root
packages=systemd,systemd-sysv,dbus,udev,linux-image-cloud-amd64,kmod,procps,iproute2
packages+=,containerd,runc,containernetworking-plugins,iptables,conntrack

rm -rf "$root"
trap 'rm -rf "$root"' EXIT
mirror=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' | head -1)
mmdebstrap --quiet --variant=minbase --mode=root --include="$packages" \
  --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' "$release" "$root" "deb $mirror $release main"
cp "$root"/boot/vmlinuz-* "$out/vmlinuz"
cp "$root"/boot/initrd.img-* "$out/initrd"
rm "$root"/boot/initrd.img-* "$root"/boot/vmlinuz-*

install -D "$kubelet" "$root/usr/local/bin/kubelet"
install -D "$here/join.sh" "$root/usr/local/sbin/join"
units=$root/etc/systemd/system
cat > "$units/join.service" <<'Y'
[Unit]
After=basic.target dbus.service
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/join
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
Environment=HOME=/root PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
Y
cat > "$units/kubelet.service" <<'Y'
[Service]
ExecStart=/usr/local/bin/kubelet --config=/run/node/kubelet.yaml --kubeconfig=/run/node/kubeconfig $FLAGS
EnvironmentFile=/run/node/environment
Delegate=yes
KillMode=process
OOMScoreAdjust=-900
Restart=on-failure
StandardOutput=tty
StandardError=tty
TTYPath=/dev/ttyS0
Y
mkdir -p "$units/multi-user.target.wants"
ln -sf ../join.service "$units/multi-user.target.wants/join.service"
# containerd waits for its settings; nobody logs in; nothing happens by the clock.
rm -f "$units"/multi-user.target.wants/{containerd,e2scrub_reap}.service "$units"/timers.target.wants/*
for unit in serial-getty@ttyS0.service getty@tty1.service systemd-networkd.service \
  systemd-resolved.service systemd-timesyncd.service apt-daily.timer; do
  ln -sf /dev/null "$units/$unit"
done
echo node-c > "$root/etc/hostname"
echo "127.0.0.1 localhost node-c" > "$root/etc/hosts"
: > "$root/etc/machine-id"
: > "$root/etc/fstab"

rm -f "$out/root.img"
truncate -s 3G "$out/root.img" # sparse; what the guest writes goes to a snapshot that is thrown away
mkfs.ext4 -q -F -L root -d "$root" -E lazy_itable_init=1,lazy_journal_init=1 "$out/root.img"
