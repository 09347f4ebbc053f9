//! Where a pod runs: by affinity and tolerations, never by `nodeName`, so that the scheduler keeps
//! its books and says what is wrong.

use gaugeblock_crds::pool;
use k8s_openapi::api::core::v1::{
    NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodSpec, Toleration,
};

use crate::{action::UnitSpec, observed::Role, snapshot::Snapshot};

/// Places a pod where its unit says, and lets it onto the nodes of the pool.
pub(super) fn place(spec: &mut PodSpec, snapshot: &Snapshot, unit: &UnitSpec) {
    spec.node_name = None;
    let generator_nodes = snapshot.pool.as_ref().and_then(|pool| pool.generator.as_ref());
    let tolerations = match (unit.key.role, generator_nodes) {
        (Role::Generator, Some(nodes)) => {
            if unit.node.is_none() {
                let expressions = nodes.node_selector.iter().map(|(key, value)| is(key, value));
                require(spec, &expressions.collect::<Vec<_>>(), &[]);
            }
            nodes.tolerations.as_slice()
        }
        _ => snapshot.pool.as_ref().map_or(&[][..], |pool| &pool.tolerations),
    };
    if let Some(node) = &unit.node {
        require(spec, &[], &[is("metadata.name", node)]);
    }
    let all = spec.tolerations.get_or_insert_default();
    for toleration in tolerations.iter().map(tolerate) {
        if !all.contains(&toleration) {
            all.push(toleration);
        }
    }
}

/// Adds requirements to every alternative that the pod allows: alternatives are joined by "or",
/// requirements inside one by "and".
fn require(spec: &mut PodSpec, expressions: &[NodeSelectorRequirement], fields: &[NodeSelectorRequirement]) {
    let affinity = spec.affinity.get_or_insert_default();
    let NodeAffinity { required_during_scheduling_ignored_during_execution, .. } =
        affinity.node_affinity.get_or_insert_default();
    let NodeSelector { node_selector_terms } =
        required_during_scheduling_ignored_during_execution.get_or_insert_default();
    if node_selector_terms.is_empty() {
        node_selector_terms.push(NodeSelectorTerm::default());
    }
    for term in node_selector_terms {
        if !expressions.is_empty() {
            term.match_expressions.get_or_insert_default().extend_from_slice(expressions);
        }
        if !fields.is_empty() {
            term.match_fields.get_or_insert_default().extend_from_slice(fields);
        }
    }
}

fn is(key: &str, value: &str) -> NodeSelectorRequirement {
    NodeSelectorRequirement { key: key.to_owned(), operator: "In".to_owned(), values: Some(vec![value.to_owned()]) }
}

fn tolerate(toleration: &pool::Toleration) -> Toleration {
    let pool::Toleration { key, value, effect } = toleration;
    Toleration {
        key: Some(key.clone()),
        operator: Some(if value.is_some() { "Equal" } else { "Exists" }.to_owned()),
        value: value.clone(),
        effect: effect.map(|effect| effect.name().to_owned()),
        toleration_seconds: None,
    }
}
