//! The ConfigMaps and Secrets of the manifest's file.

use std::{collections::BTreeMap, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{documents::Document, problem::Problem};

type Entries = BTreeMap<String, BTreeMap<String, String>>;

/// ConfigMaps and Secrets, by name and key.
#[derive(Clone, Default)]
pub struct Objects {
    config_maps: Entries,
    secrets: Entries,
}

// By hand: the values of secrets belong into no log.
impl fmt::Debug for Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("config_maps", &self.config_maps.keys())
            .field("secrets", &self.secrets.keys())
            .finish()
    }
}

impl Objects {
    /// Takes a document in; `false` when it is of another kind.
    pub(super) fn add(&mut self, document: &Document) -> Result<bool, Problem> {
        let value = &document.value;
        let (entries, plain, encoded) = match document.kind() {
            "ConfigMap" => (&mut self.config_maps, "data", None),
            "Secret" => (&mut self.secrets, "stringData", Some("data")),
            _ => return Ok(false),
        };
        let name = value["metadata"]["name"].as_str().unwrap_or_default();
        if name.is_empty() {
            return Err(document.problem("metadata", "needs a `name`"));
        }
        let mut keys = BTreeMap::new();
        for (field, decode) in encoded.map(|field| (field, true)).into_iter().chain([(plain, false)]) {
            for (key, text) in members(&value[field]) {
                let path = format!("{field}.{key}");
                let Some(text) = text.as_str() else {
                    return Err(document.problem(&path, "must be a text; put it in quotes"));
                };
                let text = if decode {
                    decoded(text).ok_or_else(|| document.problem(&path, "is not base64 of a text"))?
                } else {
                    text.to_owned()
                };
                keys.insert(key.clone(), text);
            }
        }
        entries.insert(name.to_owned(), keys);
        Ok(true)
    }

    /// A key of a ConfigMap, or why there is none, in words.
    pub fn config_map(&self, name: &str, key: &str) -> Result<&str, String> {
        find(&self.config_maps, "ConfigMap", name, key)
    }

    /// A key of a Secret, or why there is none, in words.
    pub fn secret(&self, name: &str, key: &str) -> Result<&str, String> {
        find(&self.secrets, "Secret", name, key)
    }
}

fn find<'a>(entries: &'a Entries, kind: &str, name: &str, key: &str) -> Result<&'a str, String> {
    let Some(keys) = entries.get(name) else {
        return Err(format!(
            "{kind} `{name}` is not in this file: without a cluster it stands in a document of the same file, after a `---` line"
        ));
    };
    keys.get(key).map(String::as_str).ok_or_else(|| {
        let known: Vec<&str> = keys.keys().map(String::as_str).collect();
        format!("{kind} `{name}` has no key `{key}`, only {}", known.join(", "))
    })
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn decoded(text: &str) -> Option<String> {
    let compact: String = text.split_whitespace().collect();
    String::from_utf8(STANDARD.decode(compact).ok()?).ok()
}
