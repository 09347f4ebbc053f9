//! The manifest: one file with a `BenchmarkRun` and the ConfigMaps and Secrets that it names, the
//! same that `kubectl apply` takes.

mod documents;
mod lines;
mod objects;
mod problem;
#[cfg(feature = "rules")]
mod rules;
mod schema;

use std::{
    fs,
    path::{Path, PathBuf},
};

use gaugeblock_crds::{BenchmarkRun, BenchmarkRunSpec};
use kube::CustomResourceExt as _;
use serde_json::Value;

use documents::Document;
pub use objects::Objects;
pub use problem::{ManifestError, Problem};

/// A manifest that local mode can run.
#[derive(Clone, Debug)]
pub struct Manifest {
    /// The file.
    pub path: PathBuf,
    /// Folder of the file, to which the manifest's own paths are relative. Absolute.
    pub folder: PathBuf,
    /// Name of the run.
    pub name: String,
    /// The run.
    pub spec: BenchmarkRunSpec,
    /// ConfigMaps and Secrets of the same file.
    pub objects: Objects,
    /// Kinds that are for a cluster and not used here.
    pub ignored: Vec<String>,
}

impl Manifest {
    /// Reads and checks a file. All problems are reported at once, each with its line.
    pub fn read(path: &Path) -> Result<Self, ManifestError> {
        let unreadable = |source| ManifestError::Unreadable { path: path.to_owned(), source };
        let text = fs::read_to_string(path).map_err(unreadable)?;
        let path_of_file = fs::canonicalize(path).map_err(unreadable)?;
        let folder = path_of_file.parent().unwrap_or(Path::new("/")).to_owned();
        Self::parse(&text, path.to_owned(), folder)
    }

    /// Checks the text of a file.
    pub fn parse(text: &str, path: PathBuf, folder: PathBuf) -> Result<Self, ManifestError> {
        let wrong = |problems| ManifestError::Wrong { path: path.clone(), problems };
        let documents = documents::split(text).map_err(|problem| wrong(vec![problem]))?;
        let (runs, others): (Vec<&Document>, Vec<&Document>) =
            documents.iter().partition(|document| document.kind() == "BenchmarkRun");
        let run = match runs.as_slice() {
            [run] => *run,
            [] => return Err(wrong(vec![no_run(&others)])),
            [_, second, ..] => {
                return Err(wrong(vec![
                    second
                        .problem("", "a second BenchmarkRun: local mode runs one at a time, so give each its own file"),
                ]));
            }
        };
        let mut problems = check(run);
        let mut objects = Objects::default();
        let mut ignored = Vec::new();
        for document in &others {
            match objects.add(document) {
                Ok(true) => {}
                Ok(false) => ignored.push(document.kind().to_owned()),
                Err(problem) => problems.push(problem),
            }
        }
        let name = run.value["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        if !problems.is_empty() {
            return Err(wrong(problems));
        }
        let spec: BenchmarkRunSpec = serde_json::from_value(run.value["spec"].clone())
            .map_err(|error| wrong(vec![run.problem("spec", &error.to_string())]))?;
        let problems = local_only(run, &spec, &objects);
        if !problems.is_empty() {
            return Err(wrong(problems));
        }
        Ok(Self { path, folder, name, spec, objects, ignored })
    }
}

fn no_run(others: &[&Document]) -> Problem {
    let kinds: Vec<&str> = others.iter().map(|document| document.kind()).collect();
    let found = if kinds.is_empty() { "nothing".to_owned() } else { kinds.join(", ") };
    Problem {
        line: None,
        path: String::new(),
        message: format!("there is no BenchmarkRun (apiVersion {}) in this file, only {found}", api_version()),
    }
}

fn api_version() -> String {
    format!("{}/{}", gaugeblock_crds::names::GROUP, gaugeblock_crds::names::VERSION)
}

/// What the API server would say.
fn check(run: &Document) -> Vec<Problem> {
    let mut problems = Vec::new();
    if run.value["apiVersion"] != api_version().as_str() {
        let message = format!("must be {}: this release knows no other", api_version());
        problems.push(run.problem("apiVersion", &message));
    }
    if run.value["metadata"]["name"].as_str().is_none_or(str::is_empty) {
        problems.push(run.problem("metadata", "needs a `name`"));
    }
    for key in run.value.as_object().into_iter().flat_map(|root| root.keys()) {
        if !["apiVersion", "kind", "metadata", "spec", "status"].contains(&key.as_str()) {
            problems.push(run.problem(key, "is not known here; is its indentation right?"));
        }
    }
    let Some(schema) = spec_schema() else { return problems };
    let found = schema::validate(&schema, &run.value["spec"], "spec");
    let structural = found.is_empty();
    problems.extend(found.into_iter().map(|(path, message)| run.problem(&path, &message)));
    // A rule that meets another type than it expects would only repeat what was said.
    #[cfg(feature = "rules")]
    if structural {
        let broken = rules::validate(&schema, &run.value["spec"], "spec");
        problems.extend(broken.into_iter().map(|(path, message)| run.problem(&path, &message)));
    }
    let _ = structural;
    problems
}

/// Schema of the spec, as the definition carries it.
fn spec_schema() -> Option<Value> {
    let definition = BenchmarkRun::crd();
    let version = definition.spec.versions.into_iter().next()?;
    let schema = serde_json::to_value(version.schema?.open_api_v3_schema?).ok()?;
    Some(schema["properties"]["spec"].clone())
}

/// What a cluster does not need: how to start each arm, and everything named in the same file.
fn local_only(run: &Document, spec: &BenchmarkRunSpec, objects: &Objects) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, target) in spec.targets.iter().enumerate() {
        let path = format!("spec.targets[{index}]");
        if target.local.is_none() {
            let message = format!(
                "target `{}` has no `local:` block: without a cluster its `local.command` says how to start it",
                target.name
            );
            problems.push(run.problem(&path, &message));
        }
        for (place, variable) in target.env.iter().enumerate() {
            let path = format!("{path}.env[{place}]");
            if let Some(reference) = &variable.config_map_key_ref {
                let found = objects.config_map(&reference.name, &reference.key);
                problems.extend(found.err().map(|message| run.problem(&format!("{path}.configMapKeyRef"), &message)));
            }
            if let Some(reference) = &variable.secret_key_ref {
                let found = objects.secret(&reference.name, &reference.key);
                problems.extend(found.err().map(|message| run.problem(&format!("{path}.secretKeyRef"), &message)));
            }
        }
    }
    for (index, dependency) in spec.dependencies.iter().enumerate() {
        let scripts = dependency.postgres.iter().flat_map(|postgres| &postgres.init_sql);
        for (place, reference) in scripts.enumerate() {
            let found = objects.config_map(&reference.name, &reference.key);
            let path = format!("spec.dependencies[{index}].postgres.initSql[{place}]");
            problems.extend(found.err().map(|message| run.problem(&path, &message)));
        }
    }
    problems
}

#[cfg(test)]
mod tests;
