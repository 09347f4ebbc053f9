//! The program as others start it.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, Command, Output, Stdio},
};

use gaugeblock_measurement::{GeneratorRecord, frame, generator::GeneratorFailure, plan::PLAN_VARIABLE};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    planned::{Planned, SECOND, alone, only, plan},
    target::plain,
};

fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gaugeblock-load-generator"));
    command.env_remove(PLAN_VARIABLE).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn with(planned: &Planned) -> Command {
    let mut command = program();
    command.env(PLAN_VARIABLE, serde_json::to_string(&planned.0).unwrap());
    command
}

fn record(output: &Output) -> GeneratorRecord {
    frame::decode(std::str::from_utf8(&output.stdout).unwrap()).unwrap()
}

#[test]
fn the_record_is_the_last_thing_on_standard_output() {
    let _alone = alone();
    let target = plain();
    let output = with(&plan(target.address).closed(2)).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let record = record(&output);
    assert_eq!(record.failure, None);
    assert_eq!(record.program.name, "gaugeblock-load-generator");
    assert!(only(&record.scenarios[0]).correct > 0);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.starts_with("@gaugeblock:")), "nothing else");
    assert!(text.ends_with("@\n"));
    let told = String::from_utf8(output.stderr).unwrap();
    for line in told.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(line["phase"].is_string() && line["at"].is_number(), "{line}");
    }
    for phase in ["ready", "connect", "measure"] {
        assert!(told.contains(&format!("\"phase\":\"{phase}\"")), "{told}");
    }
}

#[test]
fn a_failure_of_the_target_is_in_the_record_and_not_in_the_exit_code() {
    let _alone = alone();
    let mut planned = plan("127.0.0.1:1".parse().unwrap());
    planned.0.ready.time_out = SECOND / 10;
    let output = with(&planned).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(matches!(record(&output).failure, Some(GeneratorFailure::NeverReady { .. })));
}

#[test]
fn a_plan_from_a_file_can_be_printed_for_people() {
    let _alone = alone();
    let target = plain();
    let file = tempfile::NamedTempFile::new().unwrap();
    serde_json::to_writer(&file, &plan(target.address).0).unwrap();
    let output = program().arg("--json").arg("--quiet").arg("--plan").arg(file.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
    let record: GeneratorRecord = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record.failure, None);
}

#[test]
fn a_bad_plan_is_refused_with_a_word_about_it() {
    let _alone = alone();
    let good = plan("127.0.0.1:1".parse().unwrap()).0;
    let mut other_version = good.clone();
    other_version.version = 99;
    let mut no_port = good.clone();
    no_port.target = "198.18.0.1".into();
    let mut no_connections = good.clone();
    no_connections.scenarios[0].load = gaugeblock_measurement::plan::LoadPlan::Closed { connections: 0 };
    let mut unknown = good.clone();
    unknown.scenarios[0].requests[0].path = "/{{id}}".into();
    let json = |plan| serde_json::to_string(plan).unwrap();
    for (text, word) in [
        (None, "no plan: give --plan FILE or set GAUGEBLOCK_PLAN"),
        (Some("{".to_owned()), "the plan is not readable"),
        (Some(json(&other_version)), "the plan has version 99, this program reads version 1"),
        (Some(json(&no_port)), "\"198.18.0.1\" is not an address with a port"),
        (Some(json(&no_connections)), "the number of connections of scenario \"scenario\" is 0, outside 1 to 60000"),
        (
            Some(json(&unknown)),
            "failed to prepare request \"/\" of scenario \"scenario\": failed to read the path: there is no parameter \"id\"",
        ),
    ] {
        let mut command = program();
        if let Some(text) = text {
            command.env(PLAN_VARIABLE, text);
        }
        let output = command.output().unwrap();
        let told = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(64), "{told}");
        assert!(output.stdout.is_empty());
        assert!(told.contains(word), "{told}");
    }
    let output = program().arg("--no-such-flag").output().unwrap();
    assert_eq!(output.status.code(), Some(64));
}

#[test]
fn a_signal_ends_it_with_a_record() {
    let _alone = alone();
    for signal in [Signal::TERM, Signal::INT] {
        let target = plain();
        let mut child: Child = with(&plan(target.address).closed(2).measuring(60 * SECOND)).spawn().unwrap();
        let mut told = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("\"phase\":\"measure\"") {
            line.clear();
            assert!(told.read_line(&mut line).unwrap() > 0);
        }
        std::thread::sleep(std::time::Duration::from_millis(200));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let mut text = String::new();
        child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(0));
        let record: GeneratorRecord = frame::decode(&text).unwrap();
        assert_eq!(record.failure, Some(GeneratorFailure::Interrupted));
        assert!(only(&record.scenarios[0]).correct > 0);
    }
}
