//! A whole run: the reference target, a database, and a report that programs can read.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Mutex,
};

use super::program::{Bench, processes_with, texts};

/// Two runs at once would disturb each other.
static MACHINE: Mutex<()> = Mutex::new(());

/// The value of a secret.
const SECRET: &str = "correct-horse-battery-staple";

/// The workspace.
fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// Two arms, a few seconds each; `blocks` of them.
fn manifest(blocks: u32, with_database: bool) -> String {
    let arm = |name: &str, memory: &str| {
        format!(
            "    - name: {name}
      image: reference-target
      args: [--cpu-per-request=100us, --memory={memory}]
      env: [{{name: TOKEN, secretKeyRef: {{name: secret, key: token}}}}]
      readiness: {{path: /health}}
      local:
        build: [cargo, build, --quiet, --package, gaugeblock-reference-target]
        command: [sh, -c, 'exec ./target/*/debug/gaugeblock-reference-target \"$@\"', reference-target]
        workingDirectory: {}
",
            workspace().display()
        )
    };
    let (dependency, path, rows) = if with_database {
        (
            "  dependencies: [{name: db, postgres: {image: postgres, storage: Memory, initSql: [{name: sql, key: items}]}}]\n",
            "/rows/7",
            "\
---
apiVersion: v1
kind: ConfigMap
metadata: {name: sql}
data:
  items: |
    CREATE TABLE items (id int PRIMARY KEY, title text, body text);
    INSERT INTO items VALUES (7, 'seven', 'the only one');
",
        )
    } else {
        ("", "/json", "")
    };
    format!(
        "\
apiVersion: gaugeblock.dev/v1alpha1
kind: BenchmarkRun
metadata: {{name: short}}
spec:
  targets:
{}{}{dependency}  scenarios:
    - name: ask
      http:
        requests: [{{name: get, path: {path}}}]
        load: {{open: {{rate: 200}}}}
        warmUp: 0s
        measure: 1s
  repetitions: {{blocks: {blocks}, idle: 300ms, voidBlocks: 5}}
---
apiVersion: v1
kind: Secret
metadata: {{name: secret}}
stringData: {{token: {SECRET}}}
{rows}",
        arm("baseline", "8MiB"),
        arm("candidate", "16MiB"),
    )
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

#[test]
fn a_run_with_too_few_blocks_is_inconclusive_and_reported_whole() {
    let _alone = MACHINE.lock();
    let bench = Bench::with(&manifest(1, false));
    let output = bench.run().args(["--output", "json"]).output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    // Standard output is the report and nothing else.
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["verdict"], "Inconclusive");
    assert!(report["trials"].as_array().unwrap().len() >= 4, "{stderr}");
    let metrics: Vec<&str> = report["sections"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|section| section["rows"].as_array().unwrap())
        .map(|row| row["metric"].as_str().unwrap())
        .collect();
    for metric in [
        "throughput",
        "latency_p50",
        "latency_p999",
        "error_share",
        "cpu_per_request",
        "cores_used",
        "memory_anonymous",
        "memory_private",
        "memory_working_set",
        "start_listening",
        "start_answering",
    ] {
        assert!(metrics.contains(&metric), "no {metric} in {metrics:?}");
    }
    let files = ["plan.json", "status.json", "summaries.json", "report.md", "report.json"];
    for file in files {
        assert!(fs::metadata(bench.file(file)).unwrap().len() > 0, "{file}");
    }
    assert_eq!(fs::read_to_string(bench.file("report.json")).unwrap(), stdout);
    assert!(fs::read_dir(bench.file("trials")).unwrap().count() >= 4);
    assert!(!bench.file("processes").exists());
    for entry in files_below(&bench.file("")) {
        let text = fs::read(&entry).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains(SECRET), "the secret is in {}", entry.display());
    }
    let again = bench.run().output().unwrap();
    assert!(texts(&again).1.contains("holds the results of another run"), "{:?}", texts(&again));
    let uid = report["uid"].as_str().unwrap();
    assert!(processes_with(&format!("GAUGEBLOCK_RUN={uid}")).is_empty());
}

#[test]
fn twice_the_memory_is_a_regression_however_noisy_the_machine_is() {
    if gaugeblock_local::postgres::Binaries::find(None).is_err() {
        eprintln!("SKIPPED: this machine has no Postgres server; install the package postgresql");
        return;
    }
    let _alone = MACHINE.lock();
    let bench = Bench::with(&manifest(4, true));
    let output = bench.run().output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{stdout}\n{stderr}");
    assert!(stdout.contains("short: regressed"), "{stdout}");
    assert!(!stdout.contains('\u{1b}'), "colours are for terminals");
    assert!(!bench.path().join("out/data").exists());
}
