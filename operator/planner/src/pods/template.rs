//! A user's pod template: schema-free in the API, typed from here on. What would be lost on the
//! way, such as a misspelt field, is an error rather than a surprise.

use gaugeblock_crds::target::Target;
use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::Value;

use super::PodError;

/// The template of a target; an empty one where it has none.
pub(super) fn read(target: &Target) -> Result<PodTemplateSpec, PodError> {
    let Some(given) = &target.pod_template else {
        return Ok(PodTemplateSpec::default());
    };
    let error = |what: String| PodError::Template { target: target.name.clone(), what };
    let mut value = given.clone();
    complete_lists(&mut value);
    amounts_as_text(&mut value);
    let template: PodTemplateSpec = serde_json::from_value(value.clone()).map_err(|cause| error(cause.to_string()))?;
    let known = serde_json::to_value(&template)?;
    match lost(&value, &known, "") {
        Some(path) => Err(error(format!("{path} is no field of a pod template"))),
        None => Ok(template),
    }
}

/// A template without a container of its own still has to be one.
fn complete_lists(value: &mut Value) {
    if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
        spec.entry("containers").or_insert_with(|| Value::Array(Vec::new()));
    }
}

/// Amounts may be written as numbers (`cpu: 1`), which the API server takes as text.
fn amounts_as_text(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(amounts_as_text),
        Value::Object(fields) => {
            for (key, field) in fields {
                match (key.as_str(), &mut *field) {
                    ("requests" | "limits", Value::Object(amounts)) => {
                        amounts.values_mut().for_each(number_as_text);
                    }
                    ("sizeLimit", amount) => number_as_text(amount),
                    _ => amounts_as_text(field),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn number_as_text(value: &mut Value) {
    if let Value::Number(number) = value {
        *value = Value::String(number.to_string());
    }
}

/// The path of the first field that is in `given` and not in `known`.
fn lost(given: &Value, known: &Value, path: &str) -> Option<String> {
    match (given, known) {
        (Value::Object(given), Value::Object(known)) => {
            given.iter().filter(|(_, value)| !value.is_null()).find_map(|(key, value)| {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match known.get(key) {
                    Some(known) => lost(value, known, &path),
                    None => Some(path),
                }
            })
        }
        (Value::Array(given), Value::Array(known)) => given
            .iter()
            .zip(known)
            .enumerate()
            .find_map(|(index, (given, known))| lost(given, known, &format!("{path}[{index}]"))),
        _ => None,
    }
}
