//! Every format of one report, as it was looked at and found good.
//!
//! After a deliberate change: `INSTA_UPDATE=always cargo test -p gaugeblock-report`, then look at
//! what changed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod fixture;

use fixture::{a_good_run, a_lost_run, a_study, run};
use gaugeblock_report::{Report, json, markdown, terminal, terminal::Style};

const PLAIN: Style = Style { colour: false, width: None };

#[test]
fn a_regression_in_a_terminal() {
    insta::assert_snapshot!(terminal::render(&run().report(), PLAIN));
}

#[test]
fn a_regression_in_markdown() {
    insta::assert_snapshot!(markdown::render(&run().report()));
}

#[test]
fn a_regression_in_json() {
    insta::assert_snapshot!(json::render(&run().report()).unwrap());
}

#[test]
fn a_run_without_change_in_a_terminal() {
    insta::assert_snapshot!(terminal::render(&a_good_run().report(), PLAIN));
}

#[test]
fn a_run_that_lost_everything_in_markdown() {
    insta::assert_snapshot!(markdown::render(&a_lost_run().report()));
}

#[test]
fn a_study_in_a_terminal() {
    insta::assert_snapshot!(terminal::render(&a_study().report(), PLAIN));
}

#[test]
fn colours_only_dress_the_text() {
    let report = run().report();
    let coloured = terminal::render(&report, Style { colour: true, width: None });
    assert!(coloured.contains("\u{1b}["));
    assert_eq!(without_colours(&coloured), terminal::render(&report, PLAIN));
}

#[test]
fn a_narrow_terminal_is_not_overrun() {
    let text = terminal::render(&run().report(), Style { colour: false, width: Some(80) });
    let tables = text.lines().filter(|line| line.starts_with(['│', '┌', '╞', '└']));
    for line in tables {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn json_reads_back_as_the_same_report() {
    for fixture in [run(), a_good_run(), a_lost_run(), a_study()] {
        let report = fixture.report();
        let read: Report = serde_json::from_str(&json::render(&report).unwrap()).unwrap();
        assert_eq!(read.sections, report.sections);
        assert_eq!(read.verdict, report.verdict);
    }
}

#[test]
fn values_that_are_no_numbers_appear_nowhere() {
    for fixture in [run(), a_good_run(), a_lost_run(), a_study()] {
        let report = fixture.with_a_value_that_is_no_number().report();
        for text in [terminal::render(&report, PLAIN), markdown::render(&report)] {
            assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
        }
    }
}

fn without_colours(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        rest = after.split_once('m').map_or("", |(_, rest)| rest);
    }
    plain + rest
}
