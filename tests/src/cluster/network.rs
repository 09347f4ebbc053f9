//! The cluster's network: namespaces, a bridge, and the machine's own way in. Nothing can leave it.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::layout::{API_ADDRESS, HOST_ADDRESS, HOST_LINK, NOWHERE, Node, WHOLE_NETWORK};
use crate::command;

/// Makes the network: a bridge in node-a's namespace, with node-b and the machine itself plugged in.
///
/// No device of the kind "dummy" is needed, which some kernels lack: node-a's address is the bridge's.
///
/// # Errors
/// When `ip` fails, for instance without the rights of root.
pub fn make(nodes: bool) -> Result<()> {
    let (a, b) = (Node::A, Node::B);
    let namespaces: &[Node] = if nodes { &Node::LOCAL } else { &[Node::A] };
    for node in namespaces {
        ip(&format!("netns add {}", node.namespace()))?;
        ip_in(*node, "link set lo up")?;
        forward(*node)?;
    }
    ip_in(a, "link add node0 type bridge")?;
    ip_in(a, &format!("addr add {API_ADDRESS}/24 dev node0"))?;
    ip_in(a, "link set node0 up")?;
    ip_in(a, &format!("route add default via {NOWHERE} dev node0"))?;

    ip(&format!("link add {HOST_LINK} type veth peer name host netns {}", a.namespace()))?;
    ip_in(a, "link set host master node0 up")?;
    ip(&format!("addr add {HOST_ADDRESS}/24 dev {HOST_LINK}"))?;
    ip(&format!("link set {HOST_LINK} up"))?;
    ip(&format!("route add {WHOLE_NETWORK} via {API_ADDRESS} dev {HOST_LINK}"))?;

    if nodes {
        ip_in(a, &format!("link add vb type veth peer name eth0 netns {}", b.namespace()))?;
        ip_in(a, "link set vb master node0 up")?;
        ip_in(b, &format!("addr add {}/24 dev eth0", b.address()))?;
        ip_in(b, "link set eth0 up")?;
        ip_in(a, &format!("route add {} via {}", b.pod_network(), b.address()))?;
        ip_in(b, &format!("route add {} via {}", a.pod_network(), a.address()))?;
        ip_in(b, &format!("route add default via {NOWHERE} dev eth0"))?;
    }
    Ok(())
}

/// Cuts node-b off the network, or plugs it in again.
///
/// # Errors
/// When `ip` fails.
pub fn plug_in_bench_node(plugged_in: bool) -> Result<()> {
    ip_in(Node::A, if plugged_in { "link set vb up" } else { "link set vb down" })
}

/// Runs `ip` in the namespace of a node.
///
/// # Errors
/// When `ip` fails.
pub fn ip_in(node: Node, arguments: &str) -> Result<()> {
    ip(&format!("-n {} {arguments}", node.namespace()))
}

fn ip(arguments: &str) -> Result<()> {
    command::run(Command::new("ip").args(arguments.split(' '))).map(drop)
}

fn forward(node: Node) -> Result<()> {
    let namespace = format!("/run/netns/{}", node.namespace());
    fs::metadata(&namespace).with_context(|| format!("{namespace} is missing"))?;
    // Settings of the network are those of whoever opens the file, so a program inside must write.
    let write = ["sh", "-c", "echo 1 > /proc/sys/net/ipv4/ip_forward"];
    command::run(Command::new("nsenter").arg(format!("--net={namespace}")).args(write)).map(drop)
}
