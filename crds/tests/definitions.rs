//! What every shipped definition must hold.

use gaugeblock_crds::generate::{LARGEST, definitions};
use serde_json::Value;

fn each_schema(schema: &Value, path: &str, visit: &mut dyn FnMut(&str, &Value)) {
    visit(path, schema);
    if let Some(properties) = schema["properties"].as_object() {
        for (name, property) in properties {
            each_schema(property, &format!("{path}.{name}"), visit);
        }
    }
    if schema["items"].is_object() {
        each_schema(&schema["items"], &format!("{path}[]"), visit);
    }
    if schema["additionalProperties"].is_object() {
        each_schema(
            &schema["additionalProperties"],
            &format!("{path}{{}}"),
            visit,
        );
    }
}

fn schemas() -> Vec<(&'static str, Value)> {
    definitions()
        .into_iter()
        .map(|(file, crd)| {
            let schema = crd.spec.versions[0]
                .schema
                .clone()
                .unwrap()
                .open_api_v3_schema
                .unwrap();
            (file, serde_json::to_value(schema).unwrap())
        })
        .collect()
}

#[test]
fn every_definition_is_small() {
    for (file, crd) in definitions() {
        let bytes = serde_json::to_vec(&crd).unwrap().len();
        assert!(
            bytes < LARGEST,
            "{file} has {bytes} bytes, more than {LARGEST}"
        );
    }
}

#[test]
fn every_list_map_and_string_of_a_spec_is_bounded() {
    for (file, schema) in schemas() {
        each_schema(
            &schema["properties"]["spec"],
            "spec",
            &mut |path, schema| {
                let bounded = match schema["type"].as_str() {
                    Some("array") => schema["maxItems"].is_number(),
                    Some("object") if schema["additionalProperties"].is_object() => {
                        schema["maxProperties"].is_number()
                    }
                    Some("string") => schema["maxLength"].is_number() || schema["enum"].is_array(),
                    _ => true,
                };
                assert!(bounded, "{file}: {path} has no bound: {schema}");
            },
        );
    }
}

#[test]
fn there_are_no_floats_and_no_unsigned_integers() {
    for (file, schema) in schemas() {
        each_schema(&schema, "", &mut |path, schema| {
            assert_ne!(schema["type"], "number", "{file}: {path} is a float");
            let format = schema["format"].as_str().unwrap_or_default();
            assert!(
                !format.starts_with("uint"),
                "{file}: {path} has format {format}"
            );
        });
    }
}

#[test]
fn every_field_of_a_spec_is_described() {
    for (file, schema) in schemas() {
        each_schema(
            &schema["properties"]["spec"],
            "spec",
            &mut |path, schema| {
                let described = schema["description"].is_string()
                    || path.ends_with("[]")
                    || path.ends_with("{}");
                assert!(described, "{file}: {path} has no description");
            },
        );
    }
}
