//! node-c joins: cgroup v2 and the systemd driver, with exclusive CPUs. Function only.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test fails by panicking.

mod study;

use std::time::Duration;

use gaugeblock_measurement::sampler::{Driver, Source};
use gaugeblock_tests::cluster::configuration::CgroupDriver;
use gaugeblock_tests::cluster::guest::Guest;
use gaugeblock_tests::cluster::{Cluster, Options};
use gaugeblock_tests::{images, wait};
use serde_json::json;
use study::{arm, condition, finished, installed, study, trials, uid};

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

const NEEDED: [&str; 4] = [images::PAUSE, images::BUSYBOX, images::REFERENCE_TARGET, images::GAUGEBLOCK];

/// The guest as a pool, with the load made outside it.
fn pool() -> String {
    json!({
        "apiVersion": "gaugeblock.dev/v1alpha1",
        "kind": "BenchmarkPool",
        "metadata": { "name": "guest" },
        "spec": {
            "nodeSelector": { "gaugeblock.dev/pool": "guest" },
            "tolerations": [ { "key": "gaugeblock.dev/dedicated" } ],
            "generator": { "nodeSelector": { "gaugeblock.dev/pool": "system" } },
            "provisioningTimeout": "180s",
        },
    })
    .to_string()
}

/// Ends node-c, however the test ends.
struct Joined<'cluster>(&'cluster Cluster);

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        let _ = self.0.abandon_namespace("smoke-guest");
        let _ = self.0.abandon_namespace("run-guest");
        self.0.remove_guest().unwrap();
    }
}

#[test]
fn on_the_guest_a_pod_has_its_cpu_for_itself_a_run_measures_and_an_oom_kill_is_named() {
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
    let needed: Vec<_> = images.into_iter().filter(|image| NEEDED.contains(&image.name.as_str())).collect();
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
    measures(cluster);
    names_an_oom_kill(cluster);
}

fn one_arm(name: &str, arguments: &[&str]) -> study::Study {
    let mut target = arm("reference", arguments);
    target["readiness"]["timeout"] = json!("120s");
    study(name)
        .with("/spec/purpose", json!("Study"))
        .with("/spec/pool", json!("guest"))
        .with("/spec/targets", json!([target]))
        .with("/spec/scenarios/0/http/load/open/rate", json!(20))
        .with("/spec/repetitions", json!({ "blocks": 1, "idle": "500ms", "voidBlocks": 10 }))
}

/// The same record as on a node of the other kind, with the proof of exclusive CPUs.
fn measures(cluster: &Cluster) {
    assert!(installed().is_some());
    cluster.new_namespace("run-guest").unwrap();
    cluster.apply(&pool()).unwrap();
    one_arm("measured", &[]).apply(cluster, "run-guest");
    let run = finished(cluster, "run-guest", "measured", Duration::from_mins(8));
    assert_eq!(condition(&run, "Complete").0, "True", "{:#}", run["status"]);
    assert_eq!(condition(&run, "CPUPinned").0, "True", "{:#}", run["status"]);
    let (record, summary) = trials(cluster, "run-guest", &uid(&run)).pop().expect("a stored trial");
    let sampler = record.sampler.expect("the sampler's record");
    assert_eq!(sampler.source, Source::CgroupV2(Driver::Systemd));
    assert_eq!(summary.exclusive, Some(true));
    for metric in ["cpu_per_request", "memory_anonymous", "start_listening"] {
        assert!(summary.metrics.iter().any(|value| value.metric.name() == metric), "no {metric}: {:?}", sampler.notes);
    }
}

/// On such a node the API sometimes says `Error` where the kernel killed for memory.
fn names_an_oom_kill(cluster: &Cluster) {
    one_arm("oom", &["--oom-after=20"]).apply(cluster, "run-guest");
    let run = finished(cluster, "run-guest", "oom", Duration::from_mins(8));
    assert_eq!(condition(&run, "Finished").1, "TargetOOMKilled", "{:#}", run["status"]);
}
