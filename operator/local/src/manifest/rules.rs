//! A value against the CEL rules of a definition, as the API server evaluates them on creation.

use kube_cel::Validator;
use serde_json::Value;

/// Every rule that is broken: path and message.
pub fn validate(schema: &Value, value: &Value, path: &str) -> Vec<(String, String)> {
    let Err(errors) = Validator::new().validate(schema, value, None) else {
        return Vec::new();
    };
    errors
        .into_vec()
        .into_iter()
        .map(|error| {
            let at = match error.field_path.as_str() {
                "" => path.to_owned(),
                inner => format!("{path}.{inner}"),
            };
            (at, error.message)
        })
        .collect()
}
