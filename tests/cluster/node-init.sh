# The first process of a node, run by `bash -c` in a network, mount and process namespace of its
# own with the node's state folder as $0: it hides the folders whose paths are compiled into
# kubelet, containerd and CNI behind the node's own, says "up", and then only sleeps and reaps.
set -e
mount -t proc proc /proc
for folder in var/lib/kubelet var/lib/cni var/log/containers; do
  mkdir -p "$0/hidden/$folder"
  mount --bind "$0/hidden/$folder" "/$folder"
done
# CNI would leave its handles of pods' network namespaces on the machine.
mount -t tmpfs -o size=1m gaugeblock /run/netns
# Sockets of the container shims: below the state folder their paths could be too long.
mount -t tmpfs -o size=64m gaugeblock /run/containerd
mount --make-rshared /
trap 'exit 0' TERM
echo up > "$0/up"
while :; do sleep 3600 & wait $!; done
