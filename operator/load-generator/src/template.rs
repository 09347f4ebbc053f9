//! Text with `{{name}}` in it, cut up once so that filling it in is cheap.

use std::collections::BTreeMap;

use gaugeblock_measurement::plan::Parameter;

use crate::random::Random;

/// A text in pieces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Template {
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq)]
enum Piece {
    Literal(Vec<u8>),
    /// Index into the request's parameters.
    Parameter(usize),
}

/// Where a template's values come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// Whole numbers from `from` on, `span` of them.
    Range {
        /// The smallest.
        from: i64,
        /// How many; 0 stands for all 2⁶⁴.
        span: u64,
    },
    /// One of a list, as it is written in a body and as it is written in a path.
    OneOf(Vec<Choice>),
}

/// One value of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    plain: Vec<u8>,
    encoded: Vec<u8>,
}

/// Where a template is filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a request's path and query: what a URI may not hold is percent-encoded.
    Path,
    /// In a body: as it is.
    Body,
}

/// A template that names an unknown parameter, or is not closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// `{{name}}` without such a parameter.
    #[error("there is no parameter {0:?}")]
    Unknown(String),
    /// `{{` without `}}`.
    #[error("\"{{{{\" is not closed by \"}}}}\"")]
    Open,
}

impl Template {
    /// Cuts `text` up; `names` are the parameters in the order of their values.
    pub fn new(text: &str, place: Place, names: &[&str]) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after.split_once("}}").ok_or(TemplateError::Open)?;
            let name = name.trim();
            let index =
                names.iter().position(|known| *known == name).ok_or_else(|| TemplateError::Unknown(name.to_owned()))?;
            push_literal(&mut pieces, before, place);
            pieces.push(Piece::Parameter(index));
            rest = after;
        }
        push_literal(&mut pieces, rest, place);
        Ok(Self { pieces })
    }

    /// Whether it has no parameter.
    pub fn is_constant(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, Piece::Literal(_)))
    }

    /// Appends the text with the values filled in.
    pub fn render(&self, place: Place, sources: &[Source], values: &[u64], out: &mut Vec<u8>) {
        for piece in &self.pieces {
            match piece {
                Piece::Literal(bytes) => out.extend_from_slice(bytes),
                Piece::Parameter(index) => sources[*index].render(place, values[*index], out),
            }
        }
    }
}

fn push_literal(pieces: &mut Vec<Piece>, text: &str, place: Place) {
    if !text.is_empty() {
        pieces.push(Piece::Literal(match place {
            Place::Path => percent_encode(text),
            Place::Body => text.as_bytes().to_vec(),
        }));
    }
}

impl Source {
    /// The sources of a request's parameters, by name, in order.
    pub fn all(parameters: &BTreeMap<String, Parameter>) -> Vec<Self> {
        parameters.values().map(Self::new).collect()
    }

    fn new(parameter: &Parameter) -> Self {
        match parameter {
            Parameter::Range { from, to } => {
                Self::Range { from: *from, span: to.wrapping_sub(*from).wrapping_add(1) as u64 }
            }
            Parameter::OneOf(values) => Self::OneOf(
                values
                    .iter()
                    .map(|value| Choice { plain: value.as_bytes().to_vec(), encoded: percent_encode(value) })
                    .collect(),
            ),
        }
    }

    /// Draws a value: an offset or an index.
    pub fn draw(&self, random: &mut Random) -> u64 {
        match self {
            Self::Range { span: 0, .. } => random.next(),
            Self::Range { span, .. } => random.below(*span),
            Self::OneOf(values) => random.below(values.len() as u64),
        }
    }

    fn render(&self, place: Place, value: u64, out: &mut Vec<u8>) {
        match self {
            Self::Range { from, .. } => push_integer(out, from.wrapping_add(value as i64)),
            Self::OneOf(values) => {
                let Some(choice) = values.get(value as usize) else {
                    return;
                };
                out.extend_from_slice(match place {
                    Place::Path => &choice.encoded,
                    Place::Body => &choice.plain,
                });
            }
        }
    }
}

/// Appends a whole number in decimal.
pub fn push_integer(out: &mut Vec<u8>, value: i64) {
    let mut digits = [0_u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Replaces what may not stand in a request target (RFC 3986, §2) and leaves the rest, delimiters
/// and existing escapes included, as it is.
fn percent_encode(text: &str) -> Vec<u8> {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut out = Vec::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte) {
            out.push(byte);
        } else {
            out.extend_from_slice(&[b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stream;

    fn fill(text: &str, place: Place, parameters: &[(&str, Parameter)]) -> String {
        let parameters: BTreeMap<String, Parameter> =
            parameters.iter().map(|(name, p)| ((*name).to_owned(), p.clone())).collect();
        let names: Vec<&str> = parameters.keys().map(String::as_str).collect();
        let sources = Source::all(&parameters);
        let template = Template::new(text, place, &names).unwrap();
        let mut random = Random::new(1, 0, 0, Stream::Mix);
        let values: Vec<u64> = sources.iter().map(|s| s.draw(&mut random)).collect();
        let mut out = Vec::new();
        template.render(place, &sources, &values, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_value_stands_wherever_its_name_stood() {
        let id = ("id", Parameter::Range { from: -7, to: -7 });
        assert_eq!(fill("/todos/{{id}}?a={{ id }}", Place::Path, &[id]), "/todos/-7?a=-7");
    }

    #[test]
    fn a_path_is_encoded_and_a_body_is_not() {
        let word = ("word", Parameter::OneOf(vec!["a b\u{e9}\r\n".to_owned()]));
        assert_eq!(fill("/{{word}} x", Place::Path, std::slice::from_ref(&word)), "/a%20b%C3%A9%0D%0A%20x");
        assert_eq!(fill("{{word}} x", Place::Body, &[word]), "a b\u{e9}\r\n x");
    }

    #[test]
    fn the_whole_range_of_integers_can_be_asked_for() {
        let any = ("n", Parameter::Range { from: i64::MIN, to: i64::MAX });
        let text = fill("{{n}}", Place::Body, &[any]);
        assert!(text.parse::<i64>().is_ok(), "{text}");
    }

    #[test]
    fn integers_are_written_in_full() {
        for value in [0, 1, -1, 10, i64::MIN, i64::MAX] {
            let mut out = Vec::new();
            push_integer(&mut out, value);
            assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
        }
    }

    #[test]
    fn mistakes_are_named() {
        assert_eq!(Template::new("/{{a}}", Place::Path, &["b"]), Err(TemplateError::Unknown("a".into())));
        assert_eq!(Template::new("/{{a", Place::Path, &["a"]), Err(TemplateError::Open));
    }
}
