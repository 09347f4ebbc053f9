#!/bin/bash
# Runs in the guest, once: joins it to the cluster as node-c. The second disk is a tar archive with
# kubeconfig, certificates, settings of kubelet, containerd and network, images, and `environment`.
set -eu
say() { echo "join: $(cut -d' ' -f1 /proc/uptime) s: $*"; }
settings=/run/node
mkdir -p $settings /etc/containerd /etc/cni/net.d /var/node
tar --extract --file=/dev/disk/by-id/virtio-settings --directory=$settings
. $settings/environment
modprobe -a overlay bridge br_netfilter veth virtio_net
echo 1 > /proc/sys/net/ipv4/ip_forward
link=$(ls /sys/class/net | grep -v '^lo$' | head -1)
ip link set lo up
ip addr add "$ADDRESS/24" dev "$link"
ip link set "$link" up
ip route add default via "$GATEWAY" dev "$link"
for route in $ROUTES; do ip route add "${route%@*}" via "${route#*@}"; done
say "network is up"
cp $settings/containerd.toml /etc/containerd/config.toml
cp $settings/10-bridge.conflist /etc/cni/net.d/
systemctl start containerd
until ctr version > /dev/null 2>&1; do sleep 0.2; done
say "containerd is up"
for image in $settings/images/*.tar; do ctr --namespace k8s.io images import "$image" > /dev/null; done
say "images are imported"
systemctl start kubelet
say "kubelet is started"
