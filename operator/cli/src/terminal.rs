//! What the terminal can do, and what its user wants.

use std::env;

use console::Term;
use gaugeblock_report::terminal::Style;

/// How to draw on standard output.
pub fn style() -> Style {
    let term = Term::stdout();
    Style {
        colour: colour(term.is_term(), |name| env::var(name).ok()),
        width: term.size_checked().map(|(_, columns)| columns),
    }
}

/// Whether to use colours: <https://no-color.org>, and `CLICOLOR_FORCE` of bixense.com/clicolors.
fn colour(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name| variable(name).is_some_and(|value| !value.is_empty());
    if set("NO_COLOR") {
        return false;
    }
    let forced = variable("CLICOLOR_FORCE").is_some_and(|value| !value.is_empty() && value != "0");
    forced || (is_terminal && variable("TERM").as_deref() != Some("dumb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_whose_user_wants_them() {
        let with = |variables: &'static [(&str, &str)]| {
            move |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        assert!(colour(true, with(&[])));
        assert!(!colour(false, with(&[])));
        assert!(!colour(true, with(&[("NO_COLOR", "1")])));
        assert!(colour(true, with(&[("NO_COLOR", "")])));
        assert!(!colour(true, with(&[("TERM", "dumb")])));
        assert!(colour(false, with(&[("CLICOLOR_FORCE", "1")])));
        assert!(!colour(false, with(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")])));
    }
}
