//! The house's own rules: what may depend on what.

use std::{path::Path, process::Command};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(root()).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "cargo {arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Names of all crates that a crate is built with.
fn tree(name: &str) -> Vec<String> {
    let text = cargo(&["tree", "--package", name, "--edges", "normal", "--prefix", "none", "--format", "{p}"]);
    text.lines().filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

#[test]
fn what_decides_is_free_of_the_network_and_of_runtimes() {
    for name in ["planner", "verdict", "statistics", "measurement", "crds"] {
        let crates = tree(&format!("gaugeblock-{name}"));
        assert!(crates.len() > 1, "cargo tree says nothing about {name}");
        for banned in ["tokio", "hyper", "reqwest", "rustls"] {
            assert!(!crates.iter().any(|found| found == banned), "gaugeblock-{name} is built with {banned}");
        }
    }
}

#[test]
fn dependencies_go_one_way() {
    let allowed: &[(&str, &[&str])] = &[
        ("crds", &[]),
        ("statistics", &[]),
        ("measurement", &[]),
        ("verdict", &["statistics", "measurement", "crds"]),
        ("planner", &["crds", "measurement", "verdict"]),
        ("report", &["measurement", "verdict", "crds", "planner"]),
        ("load-generator", &["measurement"]),
        ("sampler", &["measurement"]),
        ("controller", &["crds", "measurement", "verdict", "planner", "report"]),
    ];
    for (name, may) in allowed {
        let text = cargo(&[
            "tree",
            "--package",
            &format!("gaugeblock-{name}"),
            "--edges",
            "normal",
            "--depth",
            "1",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ]);
        let ours = text.lines().skip(1).filter_map(|line| line.split_whitespace().next()?.strip_prefix("gaugeblock-"));
        for found in ours {
            assert!(may.contains(&found), "gaugeblock-{name} must not depend on gaugeblock-{found}");
        }
    }
}

#[test]
fn clocks_and_dice_stay_out_of_what_decides() {
    for folder in ["crds", "operator/statistics", "operator/measurement", "operator/verdict", "operator/planner"] {
        let rules = std::fs::read_to_string(root().join(folder).join("clippy.toml")).unwrap();
        for method in ["std::time::Instant::now", "std::time::SystemTime::now", "std::env::var"] {
            assert!(rules.contains(method), "{folder}/clippy.toml does not forbid {method}");
        }
    }
}
