//! Whole-system tests: API server, cluster and local mode.
//!
//! The library is the test bed. [`cluster::Cluster`] is a real Kubernetes of two nodes inside network
//! namespaces of its own, [`images`] makes the container images that run on it, and [`binaries`]
//! and [`packages`] provide what both are made of. The tests themselves stand in `tests/tests`.

pub mod binaries;
pub mod cluster;
pub mod command;
pub mod image;
pub mod images;
pub mod packages;
pub mod wait;
