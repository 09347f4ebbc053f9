//! Exit codes: what a script learns of a run.

use std::process::ExitCode;

use gaugeblock_crds::{BenchmarkRunStatus, status::RunVerdict};

/// The run could not be carried out, or the command line is wrong.
pub const TOOL_ERROR: ExitCode = ExitCode::FAILURE;

/// Exit code of a run that has ended.
pub fn of_run(status: &BenchmarkRunStatus, interrupted: bool) -> ExitCode {
    ExitCode::from(number(status, interrupted))
}

/// Exit code of a wrong command line; of a right one that only asked for help, 0. Not 2, as is
/// usual: 2 is a regression.
pub fn of_usage(is_error: bool) -> ExitCode {
    if is_error { TOOL_ERROR } else { ExitCode::SUCCESS }
}

fn number(status: &BenchmarkRunStatus, interrupted: bool) -> u8 {
    if interrupted {
        return 1;
    }
    match status.verdict {
        Some(RunVerdict::NoChange | RunVerdict::Improved) => 0,
        Some(RunVerdict::Regressed) => 2,
        Some(RunVerdict::Inconclusive | RunVerdict::NotComparable) => 3,
        Some(RunVerdict::Invalid) => 4,
        // A study has no verdict; what failed has a reason that says so.
        None => u8::from(status.reason.is_none_or(gaugeblock_crds::condition::Reason::is_failure)),
    }
}

#[cfg(test)]
mod tests {
    use gaugeblock_crds::condition::Reason;

    use super::*;

    fn status(verdict: Option<RunVerdict>, reason: Option<Reason>) -> BenchmarkRunStatus {
        BenchmarkRunStatus { verdict, reason, ..BenchmarkRunStatus::default() }
    }

    #[test]
    fn every_end_has_its_code() {
        for (verdict, reason, code) in [
            (Some(RunVerdict::NoChange), Some(Reason::NoChange), 0),
            (Some(RunVerdict::Improved), Some(Reason::Improved), 0),
            (Some(RunVerdict::Regressed), Some(Reason::Regressed), 2),
            (Some(RunVerdict::Inconclusive), Some(Reason::Inconclusive), 3),
            (Some(RunVerdict::NotComparable), Some(Reason::NotComparable), 3),
            (Some(RunVerdict::Invalid), Some(Reason::Invalid), 4),
            (None, Some(Reason::Measured), 0),
            (None, Some(Reason::TargetExited), 1),
            (None, Some(Reason::InvalidSpec), 1),
            (None, None, 1),
            // The deadline passed, but what was measured until then shows a regression.
            (Some(RunVerdict::Regressed), Some(Reason::DeadlineExceeded), 2),
        ] {
            assert_eq!(number(&status(verdict, reason), false), code, "{verdict:?} {reason:?}");
        }
        assert_eq!(number(&status(Some(RunVerdict::NoChange), Some(Reason::Cancelled)), true), 1);
    }
}
