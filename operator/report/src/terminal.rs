//! The report as tables in a terminal.

use std::fmt::Write as _;

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets::UTF8_FULL_CONDENSED};
use gaugeblock_crds::status::RunVerdict;

use crate::{
    group::label,
    model::Report,
    number,
    rows::Section,
    table::{self, Tone, tables},
    words,
};

/// How to draw.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether to use colours.
    pub colour: bool,
    /// Columns to stay within, where that is known.
    pub width: Option<u16>,
}

/// The whole report: tables, then what should be known, then the verdict as the last thing read.
pub fn render(report: &Report, style: Style) -> String {
    let mut out = String::new();
    for table in tables(report) {
        let _ = writeln!(out, "{}", paint(&table.title, Ink::Bold, style));
        if let Some(subtitle) = &table.subtitle {
            let _ = writeln!(out, "{}", paint(subtitle, Ink::Faint, style));
        }
        let _ = writeln!(out, "{}\n", draw(&table, style));
    }
    if report.sections.iter().any(|section| section.rows.iter().any(crate::rows::Row::gates)) {
        let _ = writeln!(out, "{}\n", paint(LEGEND, Ink::Faint, style));
    }
    notes(report, style, &mut out);
    verdict(report, style, &mut out);
    out
}

/// Explains the marks of the tables.
const LEGEND: &str = "● decides the run's verdict. Effect: candidate against baseline; its interval holds over all looks of the run.\n\
                      Can see: the smallest change that so many trials show in four of five runs.";

fn draw(table: &table::Table, style: Style) -> Table {
    let mut drawn = Table::new();
    drawn.load_style(UTF8_FULL_CONDENSED);
    if style.colour {
        drawn.enforce_styling();
    } else {
        drawn.force_no_tty();
    }
    match style.width {
        Some(width) => drawn.set_content_arrangement(ContentArrangement::Dynamic).set_width(width),
        None => drawn.set_content_arrangement(ContentArrangement::Disabled),
    };
    drawn.set_header(table.header.iter().map(|head| bold(Cell::new(head), style)));
    for row in &table.rows {
        drawn.add_row(row.iter().map(|cell| {
            let drawn = Cell::new(&cell.text);
            let drawn = if cell.number { drawn.set_alignment(CellAlignment::Right) } else { drawn };
            toned(drawn, cell.tone, style)
        }));
    }
    drawn
}

fn bold(cell: Cell, style: Style) -> Cell {
    if style.colour { cell.add_attribute(Attribute::Bold) } else { cell }
}

fn toned(cell: Cell, tone: Tone, style: Style) -> Cell {
    if !style.colour {
        return cell;
    }
    match tone {
        Tone::Plain => cell,
        Tone::Strong => cell.add_attribute(Attribute::Bold),
        Tone::Faint => cell.add_attribute(Attribute::Dim),
        Tone::Bad => cell.fg(Color::Red).add_attribute(Attribute::Bold),
        Tone::Good => cell.fg(Color::Cyan),
        Tone::Same => cell.fg(Color::Green),
        Tone::Doubt => cell.fg(Color::Yellow),
    }
}

fn notes(report: &Report, style: Style, out: &mut String) {
    let mut lines = Vec::new();
    for shared in &report.evidence.shared_cpus {
        lines.push(format!("shared CPUs: {shared}"));
    }
    for limit in &report.evidence.limits {
        let limited = limit.by.iter().any(|(by, _)| *by != gaugeblock_measurement::limit::LimitedBy::None);
        if limited {
            let by: Vec<String> =
                limit.by.iter().map(|(by, count)| format!("{} ({count}×)", words::limited_by(*by))).collect();
            lines.push(format!("{}, {}: limited by {}", limit.scenario, limit.arm, by.join(", ")));
        }
    }
    if let Some(ratio) = report.evidence.speed_ratio.filter(|ratio| *ratio > 1.02) {
        lines.push(format!(
            "machine speed varied by {} between trials",
            number::size(ratio - 1.0, gaugeblock_verdict::Scale::Relative, gaugeblock_measurement::Unit::Share)
        ));
    }
    lines.extend(report.lost.iter().map(|(what, count)| format!("{count}× {what}")));
    lines.extend(report.findings.iter().cloned());
    for line in &lines {
        let _ = writeln!(out, "{} {line}", paint("·", Ink::Faint, style));
    }
    if !lines.is_empty() {
        out.push('\n');
    }
}

fn verdict(report: &Report, style: Style, out: &mut String) {
    for section in &report.sections {
        gates(section, style, out);
    }
    let head = match (report.verdict, report.reason) {
        (Some(verdict), _) => paint(words::verdict(verdict), Ink::Of(Tone::of(verdict)), style),
        (None, Some(reason)) => paint(reason.name(), Ink::Bold, style),
        (None, None) => paint("no verdict", Ink::Bold, style),
    };
    let _ = writeln!(out, "{}: {head}", paint(&report.name, Ink::Bold, style));
    for sentence in report.sentences() {
        let _ = writeln!(out, "{sentence}");
    }
}

/// What decided: a line for each gate that is not the same.
fn gates(section: &Section, style: Style, out: &mut String) {
    for row in &section.rows {
        for comparison in row.comparisons.iter().filter(|comparison| comparison.gate) {
            let Some(verdict) = comparison.verdict.filter(|verdict| *verdict != RunVerdict::NoChange) else {
                continue;
            };
            let place = section.scenario.as_deref().unwrap_or("every trial");
            let verdict = paint(words::verdict(verdict), Ink::Of(Tone::of(verdict)), style);
            let sentence = comparison.sentences.first().map_or("", String::as_str);
            // Most sentences begin with their metric.
            let said = sentence.starts_with(row.metric.name());
            let metric = if said { String::new() } else { format!("{} of ", label(row.metric)) };
            let _ = writeln!(out, "{verdict}  {place}, {metric}{}: {sentence}", comparison.arm);
        }
    }
}

#[derive(Clone, Copy)]
enum Ink {
    Bold,
    Faint,
    Of(Tone),
}

/// Text in the colours of a terminal (ECMA-48), when colours are wanted.
fn paint(text: &str, ink: Ink, style: Style) -> String {
    let code = match ink {
        Ink::Bold | Ink::Of(Tone::Strong) => "1",
        Ink::Faint | Ink::Of(Tone::Faint) => "2",
        Ink::Of(Tone::Bad) => "1;31",
        Ink::Of(Tone::Good) => "36",
        Ink::Of(Tone::Same) => "32",
        Ink::Of(Tone::Doubt) => "33",
        Ink::Of(Tone::Plain) => return text.to_owned(),
    };
    if style.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
}
