#!/bin/bash
# Ends the test cluster whose state folder is $1, and leaves nothing of it behind.
#
# With `--after-owner` it is the cluster's watchdog: it first waits until its standard input ends,
# which happens when the process that started the cluster ends, in whatever way. Its standard
# output is then the lock file of the cluster, so the lock is held until everything is gone.
#
# It ends only processes that the cluster started: `pid/*` holds "ID START", where START (field 22
# of /proc/ID/stat) tells the process from a later one with the same id.
# (No process is asked to end: there is nothing in the cluster to save, and the API server would
# wait a minute for its watches.)

same() { # ID START: whether that very process still runs
  local stat; { read -r stat < "/proc/$1/stat"; } 2> /dev/null || return 1
  set -- "$2" ${stat##*) }
  [ "$2" != Z ] && [ "${21}" = "$1" ]
}

patiently() { # COMMAND...: until it succeeds, for ten seconds at most
  for _ in $(seq 100); do "$@" && return 0; sleep 0.1; done
  echo "down.sh: failed for ten seconds: $*" >&2
  failed=1
}

ended() {
  local file id start
  for file in "$state"/pid/*; do
    [ -f "$file" ] || continue
    read -r id start < "$file"
    same "$id" "$start" && return 1
  done
  return 0
}

no_cgroups() { # A group can be removed only after its last process is gone, and its children.
  local hierarchy group
  for hierarchy in /sys/fs/cgroup/*/; do
    for group in gb-a gb-b gb-sys; do
      [ -d "$hierarchy$group" ] && find "$hierarchy$group" -depth -type d -exec rmdir {} + 2> /dev/null
      [ -d "$hierarchy$group" ] && return 1
    done
  done
  return 0
}

down() {
  local file id start key value folder
  for file in "$state"/pid/*; do
    [ -f "$file" ] || continue
    read -r id start < "$file"
    # The first process of a node takes everything in its process namespace with it.
    same "$id" "$start" && kill -KILL "$id" 2> /dev/null
  done
  patiently ended
  patiently no_cgroups
  for namespace in gb-a gb-b; do
    [ -e "/run/netns/$namespace" ] && ip netns delete "$namespace"
  done
  ip link delete gb-host 2> /dev/null
  # The kubelet changes these for the whole machine.
  if [ -f "$state/sysctl" ]; then
    while read -r key value; do echo "$value" > "/proc/sys/$key"; done < "$state/sysctl"
  fi 2> /dev/null
  # Mount points that were not there before, the innermost last in the file.
  if [ -f "$state/folders" ]; then
    tac "$state/folders" | while read -r folder; do rmdir "$folder"; done
  fi 2> /dev/null
  rm -rf "${state:?}.log" && mv "$state/log" "$state.log"
  rm -rf "${state:?}"
  rm -f /run/gaugeblock/cluster
  return $failed
}

main() {
  failed=0
  trap '' HUP INT TERM
  if [ "$1" = --after-owner ]; then
    shift
    cat > /dev/null
  fi
  state=$1
  # Never remove a folder that is not a cluster's.
  [ -f "$state/gaugeblock-test-cluster" ] || { rm -f /run/gaugeblock/cluster; return 0; }
  down
}

main "$@"
exit $? # bash must not read on in a file that has been removed
