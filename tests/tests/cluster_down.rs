//! A cluster ends with its owner, whatever ends that, and leaves nothing behind.

use std::process::{Command, Stdio};
use std::time::Duration;

use gaugeblock_tests::cluster::{self, Cluster, Options, layout, leftovers};
use gaugeblock_tests::{images, wait};

/// Set for the child process that owns the cluster.
const OWNER: &str = "GAUGEBLOCK_TEST_OWNER";

/// Whether a cluster of our own may be started and ended here: no other may be up.
fn may_start() -> bool {
    let root = rustix::process::geteuid().is_root();
    let free = std::env::var_os(cluster::STATE_VARIABLE).is_none()
        && std::env::var_os(cluster::KUBECONFIG_VARIABLE).is_none()
        && cluster::lock::noted().is_none();
    if !root || !free {
        eprintln!("SKIPPED: needs root, and no cluster that is up or in use (cargo xtask cluster down)");
    }
    root && free
}

/// Not a test by itself: the process that the test below kills.
#[test]
#[ignore = "run by the other test"]
fn owner() {
    if std::env::var_os(OWNER).is_none() {
        return;
    }
    let images = images::build_here().unwrap();
    let cluster = Cluster::up(&Options { nodes: true, images, keep: false }).unwrap();
    let pod = "apiVersion: v1\n\
               kind: Pod\n\
               metadata: {name: sleeper}\n\
               spec: {containers: [{name: main, image: 'gaugeblock.local/busybox:1', args: [sleep, '600']}]}\n";
    cluster.feed(&["create", "--filename=-"], pod).unwrap();
    cluster.wait_pod_ready("default", "sleeper", Duration::from_mins(1)).unwrap();
    println!("cluster is up");
    std::thread::sleep(Duration::from_mins(10));
}

#[test]
fn a_killed_owner_leaves_nothing_behind() {
    if !may_start() {
        return;
    }
    let root = layout::cache().unwrap().join("cluster");
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["owner", "--exact", "--ignored", "--nocapture"])
        .env(OWNER, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(owner.stdout.take().unwrap()));
    let up = lines.map_while(Result::ok).any(|line| line.contains("cluster is up"));
    assert!(up, "the owner's cluster did not come up");
    assert!(leftovers::find(&root).len() > 10, "an undisturbed cluster is seen as such");

    owner.kill().unwrap();
    owner.wait().unwrap();
    let gone = wait::until("the end of the cluster", Duration::from_secs(30), || leftovers::none(&root).map(Some));
    gone.unwrap();
    assert!(cluster::lock::noted().is_none());
}
