//! Which node a run gets, and when.
//!
//! Order is priority, age, UID. A claim (a Lease per node) ends only when the run has ended or is
//! gone and none of its pods is left, never by time.

use gaugeblock_crds::condition::Reason;

use crate::{
    failure::Failure,
    observed::{ClusterView, NodeView, RunView},
};

/// Where a run stands in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission {
    /// It holds this node.
    Holds(String),
    /// This node is free and it is the run's turn.
    Claim(String),
    /// It has to wait.
    Waits {
        /// Place in the queue, from 1.
        position: i32,
        /// Why, in words.
        why: String,
    },
}

/// Where the run stands.
pub fn admission(run: &RunView, cluster: &ClusterView) -> Result<Admission, Failure> {
    if let Some(claim) = cluster.claims.iter().find(|claim| claim.holder == run.uid) {
        return Ok(Admission::Holds(claim.node.clone()));
    }
    let name = &run.spec.pool;
    let Some(pool) = &cluster.pool else {
        return Err(Failure::new(
            Reason::PoolNotFound,
            format!(
                "there is no BenchmarkPool {name}: create it, or name another one in spec.pool (`kubectl get benchmarkpools`)"
            ),
        ));
    };
    if !pool.namespaces.is_empty() && !pool.namespaces.contains(&run.namespace) {
        return Err(Failure::new(
            Reason::PoolNotAllowed,
            format!(
                "BenchmarkPool {name} is not for namespace {}: ask its administrator to add it to spec.namespaces",
                run.namespace
            ),
        ));
    }
    let before = cluster.waiting.iter().filter(|other| {
        (-other.priority, other.created, other.uid.as_str()) < (-run.spec.priority, run.created, run.uid.as_str())
    });
    let position = before.count() as i32 + 1;
    let matching: Vec<&NodeView> = cluster.nodes.iter().filter(|node| node.matches(&pool.node_selector)).collect();
    let claimed = |node: &&&NodeView| cluster.claims.iter().any(|claim| claim.node == node.name);
    let mut free: Vec<&&NodeView> = matching.iter().filter(|node| node.usable && !claimed(node)).collect();
    // A node whose taints the pool does not tolerate comes last: the scheduler then says so.
    free.sort_by_key(|node| (!node.tolerated(&pool.tolerations), node.name.clone()));
    match free.get(position as usize - 1) {
        Some(node) => Ok(Admission::Claim(node.name.clone())),
        None => Ok(Admission::Waits { position, why: why(name, &matching, position) }),
    }
}

fn why(pool: &str, matching: &[&NodeView], position: i32) -> String {
    let usable = matching.iter().filter(|node| node.usable).count();
    match (matching.len(), usable) {
        (0, _) => format!("no node of the cluster has the labels of BenchmarkPool {pool}"),
        (nodes, 0) => {
            format!("none of the {nodes} node(s) of BenchmarkPool {pool} is ready and schedulable")
        }
        (_, usable) => format!("place {position} in the queue for the {usable} node(s) of BenchmarkPool {pool}"),
    }
}
