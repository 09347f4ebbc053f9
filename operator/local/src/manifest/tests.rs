use std::path::PathBuf;

use super::Manifest;

const GOOD: &str = "\
apiVersion: gaugeblock.dev/v1alpha1
kind: BenchmarkRun
metadata:
  name: first
spec:
  targets:
    - name: baseline
      image: example
      local:
        command: [./target]
      env:
        - name: COLOUR
          configMapKeyRef: {name: words, key: colour}
        - name: TOKEN
          secretKeyRef: {name: keys, key: token}
  dependencies:
    - name: db
      postgres:
        image: postgres:17
        initSql:
          - {name: words, key: items.sql}
  scenarios:
    - name: json
      http:
        requests:
          - name: get
            path: /json
        load:
          open: {rate: 100}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: words}
data:
  colour: blue
  items.sql: |
    create table items (id int primary key);
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
data:
  token: aHVudGVyMg==
---
apiVersion: gaugeblock.dev/v1alpha1
kind: BenchmarkPool
metadata: {name: default}
spec: {}
";

fn read(text: &str) -> Result<Manifest, String> {
    Manifest::parse(text, PathBuf::from("run.yaml"), PathBuf::from("/")).map_err(|e| e.to_string())
}

#[track_caller]
fn rejects(from: &str, to: &str, message: &str) {
    assert!(GOOD.contains(from), "the fixture has no {from:?}");
    let error = read(&GOOD.replacen(from, to, 1)).unwrap_err();
    assert!(error.contains(message), "expected {message:?} in:\n{error}");
}

#[test]
fn accepts_a_run_with_what_it_names() {
    let manifest = read(GOOD).unwrap();
    assert_eq!(manifest.name, "first");
    assert_eq!(manifest.spec.targets[0].port, 8080);
    assert_eq!(manifest.objects.config_map("words", "colour"), Ok("blue"));
    assert_eq!(manifest.objects.secret("keys", "token"), Ok("hunter2"));
    assert_eq!(manifest.ignored, ["BenchmarkPool"]);
}

#[test]
fn secrets_are_not_shown_by_debug() {
    assert!(!format!("{:?}", read(GOOD).unwrap()).contains("hunter2"));
}

#[test]
fn names_every_mistake_at_once() {
    let error = read(&GOOD.replace("path: /json", "path: json").replace("rate: 100", "rate: 0")).unwrap_err();
    assert_eq!(error.lines().count(), 2, "{error}");
}

#[test]
fn rejects_unknown_fields_with_a_guess() {
    rejects(
        "      image: example",
        "      image: example\n      comand: [x]",
        "run.yaml:9: spec.targets[0].comand: there is no such field; did you mean `command`?",
    );
}

#[test]
fn rejects_wrong_types_bounds_and_words() {
    rejects(
        "rate: 100",
        "rate: fast",
        "run.yaml:29: spec.scenarios[0].http.load.open.rate: must be a whole number, but is \"fast\"",
    );
    rejects("rate: 100", "rate: 0", "0 is below 1, the least allowed");
    rejects(
        "path: /json",
        "path: json",
        "run.yaml:27: spec.scenarios[0].http.requests[0].path: \"json\" does not match ^/",
    );
    rejects("path: /json", "path: /json\n            method: get", "\"get\" is not one of");
    rejects("      image: example\n", "", "run.yaml:7: spec.targets[0]: needs `image`");
    rejects(
        "spec:\n  targets",
        "spec:\n  deadline: 5 minutes\n  targets",
        "run.yaml:6: spec.deadline: \"5 minutes\" is not right: A duration such as `30s`",
    );
}

#[test]
fn rejects_what_is_not_in_the_file() {
    rejects(
        "key: colour",
        "key: color",
        "run.yaml:13: spec.targets[0].env[0].configMapKeyRef: ConfigMap `words` has no key `color`, only colour, items.sql",
    );
    rejects("{name: keys, key", "{name: other, key", "Secret `other` is not in this file");
    rejects(
        "key: items.sql",
        "key: rows.sql",
        "spec.dependencies[0].postgres.initSql[0]: ConfigMap `words` has no key `rows.sql`",
    );
}

#[test]
fn rejects_what_local_mode_cannot_run() {
    rejects(
        "      local:\n        command: [./target]\n",
        "",
        "run.yaml:7: spec.targets[0]: target `baseline` has no `local:` block",
    );
    rejects("kind: BenchmarkRun", "kind: Benchmark", "there is no BenchmarkRun");
    rejects(
        "apiVersion: gaugeblock.dev/v1alpha1\nkind: BenchmarkPool\nmetadata: {name: default}\nspec: {}",
        GOOD,
        "a second BenchmarkRun",
    );
    rejects(
        "v1alpha1\nkind: BenchmarkRun",
        "v1\nkind: BenchmarkRun",
        "run.yaml:1: apiVersion: must be gaugeblock.dev/v1alpha1",
    );
    rejects("spec:\n  targets", "  targets", "is missing");
}

#[test]
fn rejects_text_that_is_not_yaml() {
    rejects("metadata:\n  name: first", "metadata:\n  name: [first", "is not YAML");
}

#[cfg(feature = "rules")]
#[test]
fn rejects_what_the_rules_of_the_definition_reject() {
    rejects(
        "open: {rate: 100}",
        "open: {rate: 100}\n          closed: {connections: 2}",
        "run.yaml:28: spec.scenarios[0].http.load: set exactly one of closed and open",
    );
    rejects("name: COLOUR", "name: PORT", "PORT is set by Gaugeblock");
    rejects(
        "  scenarios:",
        "  comparison: {baseline: other}\n  scenarios:",
        "comparison.baseline must name one of the targets",
    );
}
