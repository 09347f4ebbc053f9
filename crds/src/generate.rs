//! The CustomResourceDefinitions as they are shipped.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;

use crate::{Baseline, BenchmarkPool, BenchmarkRun};

/// Largest CustomResourceDefinition that we ship, in bytes of JSON: it must fit into an annotation
/// of client-side apply with room to spare.
pub const LARGEST: usize = 200 * 1024;

/// All definitions, each with the name of its file.
pub fn definitions() -> Vec<(&'static str, CustomResourceDefinition)> {
    vec![
        ("benchmarkruns.yaml", BenchmarkRun::crd()),
        ("benchmarkpools.yaml", BenchmarkPool::crd()),
        ("baselines.yaml", Baseline::crd()),
    ]
}
