//! Messages and exit codes before anything runs.

use std::{fs, path::Path};

use super::program::{Bench, gaugeblock, texts, that_never_answers};

#[track_caller]
fn fails(output: &std::process::Output, message: &str) {
    let (stdout, stderr) = texts(output);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stdout, "", "standard output is for reports");
    assert!(stderr.contains(message), "expected {message:?} in:\n{stderr}");
}

#[test]
fn a_wrong_command_line_is_not_taken_for_a_regression() {
    fails(&gaugeblock().arg("rnu").output().unwrap(), "unrecognized subcommand");
    fails(&gaugeblock().args(["run"]).output().unwrap(), "<FILE>");
    fails(&gaugeblock().args(["run", "x.yaml", "--output", "xml"]).output().unwrap(), "xml");
}

#[test]
fn help_names_the_exit_codes() {
    let output = gaugeblock().args(["run", "--help"]).output().unwrap();
    assert!(output.status.success());
    assert!(texts(&output).0.contains("2  regressed"));
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let output = gaugeblock().args(["run", "/nowhere/run.yaml"]).output().unwrap();
    fails(&output, "error: failed to read /nowhere/run.yaml: No such file or directory");
}

#[test]
fn a_wrong_manifest_is_answered_with_file_line_and_path() {
    let manifest = that_never_answers("true", "").replace("rate: 10", "rate: 0");
    let output = Bench::with(&manifest).run().output().unwrap();
    fails(&output, "run.yaml:15: spec.scenarios[0].http.load.open.rate: 0 is below 1");
}

#[test]
fn a_program_that_is_not_there_is_named_before_anything_runs() {
    let manifest = that_never_answers("true", "").replace("[sh,", "[./no-such-program,");
    let output = Bench::with(&manifest).run().output().unwrap();
    fails(&output, "arm `only`: there is no program `./no-such-program`");
}

#[test]
fn a_build_that_fails_shows_its_output() {
    let manifest = that_never_answers("true", "").replace(
        "        command:",
        "        build: [sh, -c, 'echo the compiler is unhappy; exit 3']\n        command:",
    );
    let output = Bench::with(&manifest).run().output().unwrap();
    fails(&output, "failed to build arm `only`");
    fails(&output, "the compiler is unhappy");
}

#[test]
fn a_contradiction_that_no_schema_sees_is_answered_by_the_planner() {
    let manifest = that_never_answers("true", "").replace("purpose: Study", "purpose: Gate");
    let output = Bench::with(&manifest).run().output().unwrap();
    fails(&output, "InvalidSpec: a Gate compares arms");
}

#[test]
fn every_example_is_right() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/first");
    let examples = fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    let read: Vec<_> = examples.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect();
    assert!(read.len() >= 3, "{read:?}");
    for path in read {
        if let Err(error) = gaugeblock_local::Manifest::read(&path) {
            panic!("{error}");
        }
    }
}
