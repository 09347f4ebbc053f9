//! Environment variables of containers.

use gaugeblock_crds::target::{EnvironmentVariable, KeyReference};
use gaugeblock_measurement::plan::PLAN_VARIABLE;
use k8s_openapi::api::core::v1::{ConfigMapKeySelector, EnvVar, EnvVarSource, ObjectFieldSelector, SecretKeySelector};
use serde::Serialize;

use super::PodError;
use crate::{
    action::{Variable, VariableValue},
    snapshot::Snapshot,
};

/// Key of the password in the Secret [`Snapshot::credentials_name`].
pub const PASSWORD_KEY: &str = "password";

/// Longest text that Linux passes to a program as one variable (`MAX_ARG_STRLEN`, 32 pages), less
/// room for the variable's name.
const LONGEST_PLAN: usize = 131_072 - 64;

/// A plain value.
pub(super) fn plain(name: &str, value: &str) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.to_owned()), value_from: None }
}

/// A field of the pod itself.
pub(super) fn field(name: &str, path: &str) -> EnvVar {
    let field_ref = ObjectFieldSelector { api_version: None, field_path: path.to_owned() };
    from(name, EnvVarSource { field_ref: Some(field_ref), ..EnvVarSource::default() })
}

/// The node, for the records of the measuring programs.
pub(super) fn node() -> EnvVar {
    field("GAUGEBLOCK_NODE", "spec.nodeName")
}

/// The password of the run's dependencies.
pub(super) fn password(name: &str, snapshot: &Snapshot) -> EnvVar {
    let key = KeyReference { name: snapshot.credentials_name(), key: PASSWORD_KEY.to_owned() };
    secret(name, &key)
}

/// A variable of the planner's.
pub(super) fn variable(variable: &Variable, snapshot: &Snapshot) -> EnvVar {
    match &variable.value {
        VariableValue::Plain(value) => plain(&variable.name, value),
        VariableValue::Password => password(&variable.name, snapshot),
    }
}

/// A variable of the user's.
pub(super) fn given(variable: &EnvironmentVariable) -> EnvVar {
    let EnvironmentVariable { name, value, secret_key_ref, config_map_key_ref } = variable;
    match (secret_key_ref, config_map_key_ref) {
        (Some(key), _) => secret(name, key),
        (None, Some(key)) => {
            let config_map_key_ref =
                ConfigMapKeySelector { name: key.name.clone(), key: key.key.clone(), optional: None };
            let source = EnvVarSource { config_map_key_ref: Some(config_map_key_ref), ..EnvVarSource::default() };
            from(name, source)
        }
        (None, None) => plain(name, value.as_deref().unwrap_or_default()),
    }
}

/// The plan of a measuring program.
pub(super) fn plan<T: Serialize>(plan: &T) -> Result<EnvVar, PodError> {
    let json = serde_json::to_string(plan)?;
    if json.len() > LONGEST_PLAN {
        return Err(PodError::PlanTooLarge { bytes: json.len(), limit: LONGEST_PLAN });
    }
    // The kubelet replaces `$(NAME)` in values, and `$$` by `$`: a body must arrive as it is.
    Ok(plain(PLAN_VARIABLE, &json.replace('$', "$$")))
}

/// Joins lists of variables; of two of one name the later one stands, where it stood.
pub(super) fn join(lists: impl IntoIterator<Item = Vec<EnvVar>>) -> Vec<EnvVar> {
    let mut all: Vec<EnvVar> = Vec::new();
    for variable in lists.into_iter().flatten() {
        all.retain(|earlier| earlier.name != variable.name);
        all.push(variable);
    }
    all
}

fn secret(name: &str, key: &KeyReference) -> EnvVar {
    let secret_key_ref = SecretKeySelector { name: key.name.clone(), key: key.key.clone(), optional: None };
    from(name, EnvVarSource { secret_key_ref: Some(secret_key_ref), ..EnvVarSource::default() })
}

fn from(name: &str, source: EnvVarSource) -> EnvVar {
    EnvVar { name: name.to_owned(), value: None, value_from: Some(source) }
}
