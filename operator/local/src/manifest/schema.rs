//! A value against the structural schema of a definition: what the API server checks before any
//! rule. Only the keywords that our definitions use are known.

use std::fmt::Write as _;

use gaugeblock_crds::{GoDuration, Percent, Quantity};
use regex::Regex;
use schemars::JsonSchema as _;
use serde_json::{Map, Value};

/// Everything wrong with a value: path and message.
pub fn validate(schema: &Value, value: &Value, path: &str) -> Vec<(String, String)> {
    let mut problems = Vec::new();
    check(schema, value, path, &mut problems);
    problems
}

fn check(schema: &Value, value: &Value, path: &str, problems: &mut Vec<(String, String)>) {
    let mut say = |message: String| problems.push((path.to_owned(), message));
    if value.is_null() {
        return say("is missing, or has no value".to_owned());
    }
    let expected = schema["type"].as_str().unwrap_or_default();
    if !is_of_type(expected, value) {
        return say(format!("must be {}, but is {}", article(expected), describe(value)));
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.contains(value)
    {
        let names: Vec<String> = allowed.iter().map(describe).collect();
        return say(format!("{} is not one of {}", describe(value), names.join(", ")));
    }
    match value {
        Value::String(text) => text_bounds(schema, text, &mut say),
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            if let Some(least) = schema["minimum"].as_f64().filter(|least| number < *least) {
                say(format!("{value} is below {least}, the least allowed"));
            }
            if let Some(most) = schema["maximum"].as_f64().filter(|most| number > *most) {
                say(format!("{value} is above {most}, the most allowed"));
            }
        }
        Value::Array(items) => {
            count(schema, ["minItems", "maxItems"], items.len(), "entries", &mut say);
            for (index, item) in items.iter().enumerate() {
                check(&schema["items"], item, &format!("{path}[{index}]"), problems);
            }
        }
        Value::Object(members) => {
            count(schema, ["minProperties", "maxProperties"], members.len(), "entries", &mut say);
            object(schema, members, path, problems);
        }
        Value::Null | Value::Bool(_) => {}
    }
}

fn object(schema: &Value, members: &Map<String, Value>, path: &str, problems: &mut Vec<(String, String)>) {
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !members.contains_key(name) {
            problems.push((path.to_owned(), format!("needs `{name}`")));
        }
    }
    for (name, member) in members {
        let path = format!("{path}.{name}");
        if let Some(schema) = schema["properties"].get(name) {
            check(schema, member, &path, problems);
        } else if schema["additionalProperties"].is_object() {
            check(&schema["additionalProperties"], member, &path, problems);
        } else if schema["x-kubernetes-preserve-unknown-fields"] != Value::Bool(true) {
            problems.push((path, unknown(name, schema)));
        }
    }
}

/// An unknown field, with the one that was probably meant.
fn unknown(name: &str, schema: &Value) -> String {
    let known: Vec<&str> =
        schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
    let mut message = "there is no such field".to_owned();
    match known.iter().min_by_key(|known| distance(name, known)) {
        Some(closest) if distance(name, closest) <= 2.max(name.len() / 4) => {
            let _ = write!(message, "; did you mean `{closest}`?");
        }
        _ if !known.is_empty() => {
            let _ = write!(message, "; there are {}", known.join(", "));
        }
        _ => {}
    }
    message
}

/// Levenshtein's distance, case ignored.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn text_bounds(schema: &Value, text: &str, say: &mut impl FnMut(String)) {
    count(schema, ["minLength", "maxLength"], text.chars().count(), "characters", say);
    let Some(pattern) = schema["pattern"].as_str() else { return };
    // A pattern that this engine cannot read is left to the API server.
    if Regex::new(pattern).is_ok_and(|pattern| !pattern.is_match(text)) {
        say(match expected(pattern) {
            Some(expected) => format!("{text:?} is not right: {expected}"),
            None => format!("{text:?} does not match {pattern}"),
        });
    }
}

/// What a pattern stands for, in the words of the API's own text types.
fn expected(pattern: &str) -> Option<String> {
    let mut generator = schemars::SchemaGenerator::default();
    [
        GoDuration::json_schema(&mut generator),
        Percent::json_schema(&mut generator),
        Quantity::json_schema(&mut generator),
    ]
    .iter()
    .find(|schema| schema.get("pattern").and_then(Value::as_str) == Some(pattern))
    .and_then(|schema| Some(schema.get("description")?.as_str()?.to_owned()))
}

fn count(schema: &Value, [least, most]: [&str; 2], count: usize, what: &str, say: &mut impl FnMut(String)) {
    if let Some(least) = schema[least].as_u64().filter(|least| (count as u64) < *least) {
        say(format!("has {count} {what}, fewer than {least}"));
    }
    if let Some(most) = schema[most].as_u64().filter(|most| count as u64 > *most) {
        say(format!("has {count} {what}, more than {most}"));
    }
}

fn is_of_type(expected: &str, value: &Value) -> bool {
    match expected {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    }
}

fn article(expected: &str) -> String {
    match expected {
        "object" => "a mapping".to_owned(),
        "array" => "a list".to_owned(),
        "string" => "a text".to_owned(),
        "integer" => "a whole number".to_owned(),
        "boolean" => "true or false".to_owned(),
        other => format!("a {other}"),
    }
}

fn describe(value: &Value) -> String {
    match value {
        Value::Object(_) => "a mapping".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(text) => format!("{text:?}"),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}
