//! The launcher: CPUs, process ID and fate from the first instruction on.

use std::fs;

use super::program::{gaugeblock, texts};

#[test]
fn a_launched_program_runs_on_its_cpus_under_the_process_id_of_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let output = gaugeblock()
        .arg("launch")
        .arg(format!("--parent={}", std::process::id()))
        .arg("--cpus=0")
        .arg(format!("--pid-file={}", file.display()))
        .args(["--", "sh", "-c", "echo $$; grep Cpus_allowed_list /proc/$$/status"])
        .output()
        .unwrap();
    let (stdout, stderr) = texts(&output);
    let pid = fs::read_to_string(&file).unwrap();
    assert_eq!(stdout, format!("{pid}\nCpus_allowed_list:\t0\n"), "{stderr}");
}

#[test]
fn an_orphan_is_not_started() {
    let output = gaugeblock().args(["launch", "--parent=1", "--", "echo", "started"]).output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert_eq!((stdout.as_str(), output.status.code()), ("", Some(127)));
    assert!(stderr.contains("the parent has ended"), "{stderr}");
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let output = gaugeblock()
        .arg("launch")
        .arg(format!("--parent={}", std::process::id()))
        .args(["--", "/nowhere/program"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(127));
    assert!(texts(&output).1.contains("failed to start /nowhere/program: No such file"));
}
