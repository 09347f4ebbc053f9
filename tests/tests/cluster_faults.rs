//! The faults that tests inject into the cluster work, and the cluster is whole again afterwards.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test fails by panicking.

use std::time::{Duration, Instant};

use gaugeblock_tests::cluster::control_plane::Component;
use gaugeblock_tests::cluster::layout::Node;
use gaugeblock_tests::cluster::{Cluster, Options};
use gaugeblock_tests::wait;
use rustix::process::Signal;

const DEADLINE: Duration = Duration::from_mins(1);

/// One test, since the faults would disturb each other.
#[test]
fn the_cluster_survives_the_faults_that_tests_inject() {
    let Some(cluster) = Cluster::shared(&Options { nodes: true, ..Options::default() }) else { return };
    if cluster.is_foreign() {
        return;
    }
    for component in Component::ALL {
        cluster.kill(component).unwrap();
        cluster.start(component).unwrap();
    }
    wait::until("an API server with its store back", DEADLINE, || {
        cluster.kubectl_text(&["get", "namespaces"]).map(Some)
    })
    .unwrap();

    let cut = Instant::now();
    cluster.plug_in_bench_node(false).unwrap();
    let lost = wait::until("a lost node", DEADLINE, || Ok((!cluster.is_ready(Node::B)?).then_some(())));
    cluster.plug_in_bench_node(true).unwrap();
    lost.unwrap();
    println!("a node that is cut off is lost after {:?}", cut.elapsed());
    cluster.wait_ready(Node::B, DEADLINE).unwrap();

    cluster.signal(Node::B, "kubelet", Signal::KILL).unwrap();
    cluster.start_kubelet(Node::B).unwrap();
    cluster.wait_ready(Node::B, DEADLINE).unwrap();
}
