//! The tables as cells, before a format draws them: the same columns in a terminal and on a page.

use gaugeblock_crds::{run::Purpose, status::RunVerdict};
use gaugeblock_verdict::{Interval, Scale};

use crate::{
    group::{Group, label},
    model::{Arm, Report},
    number::{self, NOTHING},
    rows::{Comparison, Row, Section},
    words,
};

/// Marks a metric on which the run's verdict depends.
const GATE: &str = "●";

/// One table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Scenario, or what else it is about.
    pub title: String,
    /// The workload, or another line below the title.
    pub subtitle: Option<String>,
    /// Column heads.
    pub header: Vec<String>,
    /// Rows, each as long as the header.
    pub rows: Vec<Vec<Cell>>,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Text.
    pub text: String,
    /// How it is meant.
    pub tone: Tone,
    /// Whether it is a number, which stands on the right.
    pub number: bool,
}

/// How a cell is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As any other.
    Plain,
    /// A heading inside the table.
    Strong,
    /// Of less interest.
    Faint,
    /// Worse.
    Bad,
    /// Better.
    Good,
    /// Shown to be the same.
    Same,
    /// Not known.
    Doubt,
}

impl Tone {
    /// Of a verdict.
    pub const fn of(verdict: RunVerdict) -> Self {
        match verdict {
            RunVerdict::Regressed => Self::Bad,
            RunVerdict::Improved => Self::Good,
            RunVerdict::NoChange => Self::Same,
            RunVerdict::Inconclusive | RunVerdict::NotComparable | RunVerdict::Invalid => Self::Doubt,
        }
    }
}

impl Cell {
    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), tone: Tone::Plain, number: false }
    }

    fn number(text: Option<String>) -> Self {
        match text {
            Some(text) => Self { text, tone: Tone::Plain, number: true },
            None => Self { text: NOTHING.to_owned(), tone: Tone::Faint, number: true },
        }
    }

    fn toned(self, tone: Tone) -> Self {
        Self { tone, ..self }
    }
}

/// All tables of a report: of a gate one per scenario and candidate, of a study one per scenario.
pub fn tables(report: &Report) -> Vec<Table> {
    let baseline = report.baseline().filter(|_| report.purpose == Purpose::Gate);
    let candidates: Vec<&Arm> = report.candidates().collect();
    report
        .sections
        .iter()
        .flat_map(|section| match baseline {
            Some(baseline) if !candidates.is_empty() => {
                candidates.iter().map(|candidate| versus(report, section, baseline, candidate)).collect()
            }
            _ => vec![beside(report, section)],
        })
        .collect()
}

/// A candidate against the baseline.
fn versus(report: &Report, section: &Section, baseline: &Arm, candidate: &Arm) -> Table {
    let rows = section.rows.iter().filter(|row| {
        row.shown(&baseline.name).is_some()
            || row.shown(&candidate.name).is_some()
            || row.comparison(&candidate.name).is_some()
    });
    let header = ["", "metric", &baseline.name, &candidate.name, "effect", "interval", "can see", "verdict"];
    let mut group = None;
    let rows = rows
        .map(|row| {
            let comparison = row.comparison(&candidate.name);
            let value = |arm: &Arm| Cell::number(row.shown(&arm.name).map(|value| number::quantity(value, row.unit)));
            let mut cells = vec![heading(&mut group, row), name(row, comparison), value(baseline), value(candidate)];
            cells.extend(judged(row, comparison));
            cells
        })
        .collect();
    Table {
        title: match report.candidates().count() {
            1 => title(section),
            _ => format!("{}: {} against {}", title(section), candidate.name, baseline.name),
        },
        subtitle: subtitle(report, section),
        header: header.iter().map(|head| (*head).to_owned()).collect(),
        rows,
    }
}

/// All arms side by side.
fn beside(report: &Report, section: &Section) -> Table {
    let mut header = vec![String::new(), "metric".to_owned()];
    header.extend(report.arms.iter().map(|arm| arm.name.clone()));
    let mut group = None;
    let rows = section
        .rows
        .iter()
        .map(|row| {
            let mut cells = vec![heading(&mut group, row), name(row, None)];
            cells.extend(
                report
                    .arms
                    .iter()
                    .map(|arm| Cell::number(row.shown(&arm.name).map(|value| number::quantity(value, row.unit)))),
            );
            cells
        })
        .collect();
    Table { title: title(section), subtitle: subtitle(report, section), header, rows }
}

fn title(section: &Section) -> String {
    section.scenario.clone().unwrap_or_else(|| "every trial".to_owned())
}

fn subtitle(report: &Report, section: &Section) -> Option<String> {
    let scenario = report.scenario(section.scenario.as_deref()?)?;
    Some(scenario.load.clone())
}

/// The group's title, in its first row only.
fn heading(current: &mut Option<Group>, row: &Row) -> Cell {
    let first = *current != Some(row.group);
    *current = Some(row.group);
    Cell::text(if first { row.group.title() } else { "" }).toned(Tone::Strong)
}

fn name(row: &Row, comparison: Option<&Comparison>) -> Cell {
    let name = match &row.request {
        Some(request) => format!("{} · {request}", label(row.metric)),
        None => label(row.metric).to_owned(),
    };
    match comparison {
        Some(comparison) if comparison.gate => Cell::text(format!("{GATE} {name}")),
        _ => Cell::text(name),
    }
}

/// Effect, interval, smallest visible effect and verdict.
fn judged(row: &Row, comparison: Option<&Comparison>) -> [Cell; 4] {
    let Some(comparison) = comparison else {
        return [Cell::number(None), Cell::number(None), Cell::number(None), Cell::text(NOTHING).toned(Tone::Faint)];
    };
    let scale = comparison.scale;
    let tone = comparison.verdict.map_or(Tone::Faint, Tone::of);
    let effect = comparison.effect.map(|effect| number::change(effect, scale, row.unit));
    let effect = Cell::number(effect);
    let seen = comparison.smallest_visible_effect.map(|size| number::size(size, scale, row.unit));
    // What does not gate informs: its verdict is not what the eye should catch first.
    let tone = if comparison.gate || matches!(tone, Tone::Bad | Tone::Good) { tone } else { Tone::Faint };
    [
        if matches!(tone, Tone::Bad | Tone::Good) { effect.toned(tone) } else { effect },
        Cell::number(comparison.interval.map(|interval| range(interval, scale, row))),
        Cell::number(seen),
        Cell::text(comparison.verdict.map_or(NOTHING, words::verdict)).toned(tone),
    ]
}

fn range(interval: Interval, scale: Scale, row: &Row) -> String {
    let low = number::change(interval.low, scale, row.unit);
    let high = number::change(interval.high, scale, row.unit);
    // Of two equal units one is enough.
    match (low.split_once(' '), high.split_once(' ')) {
        (Some((low, one)), Some((_, other))) if one == other => format!("{low} … {high}"),
        _ => format!("{low} … {high}"),
    }
}
