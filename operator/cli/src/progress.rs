//! Live progress on standard error: a bar in a terminal, calm lines elsewhere.

use std::time::{Duration, Instant};

use console::Term;
use gaugeblock_local::{
    Listener,
    listener::{Load, News, Progress},
};
use gaugeblock_measurement::Outcome;
use gaugeblock_report::{number, words};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Between two lines of progress where there is no terminal.
const CALM: Duration = Duration::from_secs(30);

/// Shows what happens.
#[derive(Debug)]
pub struct Display {
    canvas: Canvas,
    activity: String,
    load: Option<Load>,
    progress: Progress,
}

#[derive(Debug)]
enum Canvas {
    Nothing,
    Bar(ProgressBar),
    Lines { last: Option<(Instant, String)> },
}

impl Display {
    /// A display that fits standard error.
    pub fn new(quiet: bool) -> Self {
        let canvas = if quiet {
            Canvas::Nothing
        } else if Term::stderr().features().is_attended() {
            Canvas::Bar(bar())
        } else {
            Canvas::Lines { last: None }
        };
        Self { canvas, activity: String::new(), load: None, progress: Progress::default() }
    }

    /// Clears the bar away.
    pub fn end(&self) {
        if let Canvas::Bar(bar) = &self.canvas {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        match &self.canvas {
            Canvas::Nothing => {}
            Canvas::Bar(bar) => bar.println(text),
            Canvas::Lines { .. } => eprintln!("{text}"),
        }
    }

    fn draw(&mut self) {
        let Progress { stored, planned, at_most, elapsed: _, left } = self.progress;
        let left =
            format!("{}{} left", if at_most { "at most " } else { "about " }, number::duration(left.as_secs_f64()));
        match &mut self.canvas {
            Canvas::Nothing => {}
            Canvas::Bar(bar) if planned == 0 => bar.set_message(self.activity.clone()),
            Canvas::Bar(bar) => {
                bar.set_length(u64::from(planned));
                bar.set_position(u64::from(stored));
                bar.set_prefix(left);
                bar.set_message(activity(&self.activity, self.load.as_ref()));
            }
            Canvas::Lines { last } => {
                let place = place(&self.activity);
                let due = last.as_ref().is_none_or(|(at, before)| before != place || at.elapsed() > CALM);
                if planned > 0 && due && !place.is_empty() {
                    eprintln!("{stored}/{planned} trials, {left}: {}", self.activity);
                    *last = Some((Instant::now(), place.to_owned()));
                }
            }
        }
    }
}

impl Listener for Display {
    fn hear(&mut self, news: News<'_>) {
        match news {
            News::Began { folder } => self.line(&format!("folder: {}", folder.display())),
            News::Preparing(what) => {
                if let Canvas::Bar(bar) = &self.canvas {
                    bar.set_message(what.to_owned());
                    bar.tick();
                } else {
                    self.line(what);
                }
            }
            News::Note(note) => self.line(&format!("note: {note}")),
            News::Status(status) => {
                if let Some(activity) = &status.activity
                    && *activity != self.activity
                {
                    self.activity.clone_from(activity);
                    self.load = None;
                    if matches!(self.canvas, Canvas::Bar(_)) {
                        self.draw();
                    }
                }
            }
            // What they announce is in the status, and in the result.
            News::Event(_) => {}
            News::Stored { arm, trial } => {
                if trial.outcome != Outcome::Complete {
                    self.line(&format!("block {}, {arm}: {}", trial.slot.block, words::outcome(&trial.outcome)));
                }
            }
            News::Progress(progress) => {
                self.progress = progress;
                self.draw();
            }
            News::Load(load) => {
                self.load = Some(load.clone());
                self.draw();
            }
            News::Interrupted => {
                self.line("interrupted: ending processes, keeping what was measured; once more to stop at once");
            }
        }
    }

    fn is_live(&self) -> bool {
        matches!(self.canvas, Canvas::Bar(_))
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr_with_hz(5));
    // A fixed text: it was tried.
    if let Ok(style) =
        ProgressStyle::with_template("{wide_msg}\n{elapsed_precise} {bar:32} {pos}/{len} trials, {prefix}")
    {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

/// Block and arm of an activity such as `block 3, candidate: measuring`; empty for what belongs to
/// no trial.
fn place(activity: &str) -> &str {
    activity.split_once(": ").map_or("", |(place, _)| place)
}

/// A phase of the load generator in words for people; one that is not known here, as it is.
fn doing(phase: &str) -> &str {
    match phase {
        "ready" => "waiting for the first answer",
        "idle-before" | "idle-after" => "watching it idle",
        "settle" => "settling the database before",
        "connect" => "connecting for",
        "warm-up" | "discard" => "warming up",
        "measure" => "measuring",
        "drain" => "draining",
        "quiesce" => "pausing after",
        other => other,
    }
}

/// What is being done right now, with what the load generator says of it.
fn activity(planned: &str, load: Option<&Load>) -> String {
    let Some(Load { phase, scenario, seconds, of_seconds, errors, rate }) = load else {
        return planned.to_owned();
    };
    let mut text = format!("{}: {}", place(planned), doing(phase));
    if let Some(scenario) = scenario {
        text = format!("{text} {scenario}");
    }
    if *of_seconds > 0.0 {
        text = format!("{text} {seconds:.0}/{of_seconds:.0} s");
    }
    if *rate > 0.0 {
        text = format!("{text}, {rate:.0}/s");
    }
    if *errors > 0 {
        text = format!("{text}, {errors} errors");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_generator_says_what_is_done() {
        let load = Load {
            phase: "warm-up".into(),
            scenario: Some("json".into()),
            seconds: 0.6,
            of_seconds: 2.0,
            errors: 3,
            rate: 499.7,
        };
        assert_eq!(
            activity("block 2, candidate: measuring", Some(&load)),
            "block 2, candidate: warming up json 1/2 s, 500/s, 3 errors"
        );
        assert_eq!(activity("block 2, candidate: storing", None), "block 2, candidate: storing");
    }
}
