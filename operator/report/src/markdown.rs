//! The report as Markdown: for a pull request, a chat, or a file that is kept.

use std::fmt::Write as _;

use gaugeblock_crds::run::Purpose;

use crate::{
    group::label,
    model::Report,
    number,
    table::{self, tables},
    words,
};

/// The whole report.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    let verdict = match (report.verdict, report.reason) {
        (Some(verdict), _) => words::verdict(verdict).to_owned(),
        (None, Some(reason)) => reason.name().to_owned(),
        (None, None) => "no verdict".to_owned(),
    };
    let _ = writeln!(out, "# {}: {verdict}\n", escape(&report.name));
    for sentence in report.sentences() {
        let _ = writeln!(out, "{}\n", escape(sentence));
    }
    gates(report, &mut out);
    for table in tables(report) {
        draw(&table, &mut out);
    }
    about(report, &mut out);
    evidence(report, &mut out);
    trials(report, &mut out);
    out
}

/// Every gate with its reason in words: what a reader wants to know first.
fn gates(report: &Report, out: &mut String) {
    let mut lines = Vec::new();
    for section in &report.sections {
        for row in &section.rows {
            for comparison in row.comparisons.iter().filter(|comparison| comparison.gate) {
                let Some(verdict) = comparison.verdict else { continue };
                let of = section.scenario.as_deref().unwrap_or("every trial");
                lines.push(format!(
                    "- **{}** {} of {} ({of}): {}",
                    words::verdict(verdict),
                    label(row.metric),
                    escape(&comparison.arm),
                    escape(&comparison.sentences.join(" ")),
                ));
            }
        }
    }
    if !lines.is_empty() {
        let _ = writeln!(out, "## What decides\n\n{}\n", lines.join("\n"));
    }
}

fn draw(table: &table::Table, out: &mut String) {
    let _ = writeln!(out, "## {}\n", escape(&table.title));
    if let Some(subtitle) = &table.subtitle {
        let _ = writeln!(out, "{}\n", escape(subtitle));
    }
    let line = |cells: Vec<String>| format!("| {} |", cells.join(" | "));
    let _ = writeln!(out, "{}", line(table.header.iter().map(|head| escape(head)).collect()));
    let numbers = table.rows.first();
    let rule = (0..table.header.len()).map(|index| match numbers.and_then(|row| row.get(index)) {
        Some(cell) if cell.number => "--:".to_owned(),
        _ => ":--".to_owned(),
    });
    let _ = writeln!(out, "{}", line(rule.collect()));
    for row in &table.rows {
        let cells = row.iter().map(|cell| match cell.tone {
            table::Tone::Bad | table::Tone::Strong if !cell.text.is_empty() => {
                format!("**{}**", escape(&cell.text))
            }
            _ => escape(&cell.text),
        });
        let _ = writeln!(out, "{}", line(cells.collect()));
    }
    out.push('\n');
}

fn about(report: &Report, out: &mut String) {
    let _ = writeln!(out, "## About this run\n");
    let mut facts = vec![("run", format!("{}/{} ({})", report.namespace, report.name, report.uid))];
    if let Some(started) = &report.started {
        let finished = report.finished.as_deref().map_or("not yet".to_owned(), words::instant);
        facts.push(("started – finished", format!("{} – {finished}", words::instant(started))));
    }
    facts.push(("seed", report.seed.clone()));
    facts.push(("made by", report.program.clone()));
    for dependency in &report.dependencies {
        facts.push(("dependency", dependency.clone()));
    }
    for (name, value) in facts {
        let _ = writeln!(out, "- {name}: {}", escape(&value));
    }
    for arm in &report.arms {
        let role = match (report.purpose, arm.baseline) {
            (Purpose::Study, _) => "arm",
            (Purpose::Gate, true) => "baseline",
            (Purpose::Gate, false) => "candidate",
        };
        let _ = write!(
            out,
            "- {role} **{}**: {}; {} trials counted, {} void",
            escape(&arm.name),
            escape(arm.resolved.as_deref().unwrap_or(&arm.image)),
            arm.trials,
            arm.void_trials
        );
        for (fact, value) in &arm.facts {
            let _ = write!(out, "; {} {}", escape(fact), escape(value));
        }
        out.push('\n');
    }
    for scenario in &report.scenarios {
        let requests = scenario.requests.join(", ");
        let _ = writeln!(
            out,
            "- scenario **{}**: {} ({})",
            escape(&scenario.name),
            escape(&scenario.load),
            escape(&requests)
        );
    }
    out.push('\n');
}

fn evidence(report: &Report, out: &mut String) {
    let evidence = &report.evidence;
    let _ = writeln!(out, "## Evidence\n");
    let exclusive = &evidence.exclusive;
    let _ = writeln!(
        out,
        "- target on {}: for itself in {} trials, shared in {}, not known in {}",
        if evidence.target_cpus.is_empty() {
            "unknown CPUs".to_owned()
        } else {
            escape(&evidence.target_cpus.join(", "))
        },
        exclusive.yes,
        exclusive.no,
        exclusive.unknown
    );
    for shared in &evidence.shared_cpus {
        let _ = writeln!(out, "- {}", escape(shared));
    }
    for limit in &evidence.limits {
        let by: Vec<String> =
            limit.by.iter().map(|(by, count)| format!("{} ({count}×)", words::limited_by(*by))).collect();
        let _ = writeln!(
            out,
            "- {}, {}: limited by {}: {}",
            escape(&limit.scenario),
            escape(&limit.arm),
            by.join(", "),
            escape(&limit.evidence.join("; "))
        );
    }
    if let Some(ratio) = evidence.speed_ratio {
        let _ = writeln!(out, "- slowest over fastest machine speed: {ratio:.3}");
    }
    for (what, count) in report.lost.iter().chain(&evidence.notes) {
        let _ = writeln!(out, "- {count}× {}", escape(what));
    }
    for finding in &report.findings {
        let _ = writeln!(out, "- {}", escape(finding));
    }
    if let Some(machine) = &evidence.machine {
        let all = machine.identity.iter().chain(&machine.environment);
        let all: Vec<String> = all.map(|(key, value)| format!("{key} {value}")).collect();
        let _ = writeln!(out, "- machine: {}", escape(&all.join("; ")));
    }
    out.push('\n');
}

fn trials(report: &Report, out: &mut String) {
    if report.trials.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "## Trials\n\n| block | attempt | place | arm | stage | took | counts | outcome |\n|--:|--:|--:|:--|--:|--:|:--|:--|"
    );
    for trial in &report.trials {
        let slot = trial.summary.slot;
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            slot.block,
            slot.attempt,
            trial.summary.position,
            escape(&trial.arm),
            slot.stage,
            number::duration(trial.seconds),
            if trial.counts { "yes" } else { "no" },
            escape(&trial.outcome)
        );
    }
    out.push('\n');
}

/// Text that Markdown shows as it is: what comes from a manifest or a program may hold anything.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let in_a_word = before.is_alphanumeric() && rest.peek().is_some_and(|next| next.is_alphanumeric());
        match c {
            // Inside a word it marks nothing (CommonMark, 6.2), and names of metrics stay legible.
            '_' if in_a_word => escaped.push(c),
            '|' | '*' | '_' | '`' | '[' | ']' | '<' | '>' | '#' | '\\' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '\n' | '\r' => escaped.push(' '),
            _ => escaped.push(c),
        }
        before = c;
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::escape;

    #[test]
    fn whatever_a_program_says_stays_text() {
        assert_eq!(escape("cpu_per_request"), "cpu_per_request");
        assert_eq!(escape("_x_ | *y*\n# <b>"), "\\_x\\_ \\| \\*y\\* \\# \\<b\\>");
    }
}
