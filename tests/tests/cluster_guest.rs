//! node-c joins: cgroup v2 and the systemd driver, with exclusive CPUs. Function only.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test fails by panicking.

use std::time::Duration;

use gaugeblock_tests::cluster::configuration::CgroupDriver;
use gaugeblock_tests::cluster::guest::Guest;
use gaugeblock_tests::cluster::{Cluster, Options};
use gaugeblock_tests::{images, wait};

const POD: &str = "
apiVersion: v1
kind: Pod
metadata: {name: exclusive, namespace: smoke-guest}
spec:
  restartPolicy: Never
  dnsPolicy: Default
  terminationGracePeriodSeconds: 1
  nodeSelector: {gaugeblock.dev/pool: guest}
  tolerations: [{key: gaugeblock.dev/dedicated, operator: Exists}]
  containers:
  - name: main
    image: gaugeblock.local/busybox:1
    imagePullPolicy: Never
    args: [sleep, '600']
    resources: {limits: {cpu: '1', memory: 64Mi}}
";

/// Ends node-c, however the test ends.
struct Joined<'cluster>(&'cluster Cluster);

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        let _ = self.0.abandon_namespace("smoke-guest");
        self.0.remove_guest().unwrap();
    }
}

#[test]
fn a_pod_of_one_cpu_on_the_guest_has_it_for_itself() {
    let images = images::build_here().unwrap();
    let options = Options { nodes: true, images: images.clone(), ..Options::default() };
    let Some(cluster) = Cluster::shared(&options) else { return };
    if cluster.is_foreign() {
        return;
    }
    let guest = match Guest::ensure() {
        Ok(guest) => guest,
        Err(error) => {
            eprintln!("SKIPPED: there can be no node-c on this machine: {error:#}");
            return;
        }
    };
    // Only what is needed: unpacking, too, is emulated.
    let needed: Vec<_> =
        images.into_iter().filter(|image| [images::PAUSE, images::BUSYBOX].contains(&image.name.as_str())).collect();
    let _joined = Joined(cluster);
    cluster.join_guest(&guest, CgroupDriver::Systemd, &needed).unwrap();
    cluster.new_namespace("smoke-guest").unwrap();
    cluster.feed(&["create", "--filename=-"], POD).unwrap();
    cluster.wait_pod_ready("smoke-guest", "exclusive", Duration::from_mins(3)).unwrap();
    let read = |path: &str| {
        let words = ["exec", "--namespace=smoke-guest", "exclusive", "--", "cat", path];
        wait::until("an exec on the guest", Duration::from_mins(1), || cluster.kubectl_text(&words).map(Some))
    };
    // The container sees its own group as the root.
    assert_eq!(read("/sys/fs/cgroup/cpuset.cpus.effective").unwrap(), "1\n");
    assert_eq!(read("/sys/fs/cgroup/cpu.max").unwrap(), "max 100000\n", "no quota beside an exclusive CPU");
}
