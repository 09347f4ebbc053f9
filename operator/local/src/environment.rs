//! Environment variables as Kubernetes makes them: in order, with `$(NAME)` replaced.
//!
//! The rules are those of `k8s.io/kubernetes/third_party/forked/golang/expansion`: `$(NAME)` is
//! replaced by the variable's value, `$$` gives `$`, and a reference to an unknown variable stays
//! as it is.

use std::fmt;

use gaugeblock_crds::target::EnvironmentVariable;
use gaugeblock_planner::action::{Variable, VariableValue};

use crate::manifest::Objects;

/// Variables in the order in which they were set; a later one of the same name replaces an
/// earlier one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment(Vec<(String, String)>);

// By hand: values may be passwords, which belong into no log.
impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Environment {
    /// Sets a variable; references in its value are to those set before it.
    pub fn set(&mut self, name: &str, value: &str) {
        let value = self.expand(value);
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, old)) => *old = value,
            None => self.0.push((name.to_owned(), value)),
        }
    }

    /// Sets the variables of dependencies.
    pub fn set_connections(&mut self, variables: &[Variable], password: &str) {
        for Variable { name, value } in variables {
            match value {
                VariableValue::Plain(value) => self.set(name, value),
                VariableValue::Password => self.set_literally(name, password),
            }
        }
    }

    /// Sets the variables of a manifest. What they refer to was checked when it was read.
    pub fn set_declared(&mut self, variables: &[EnvironmentVariable], objects: &Objects) {
        for EnvironmentVariable { name, value, secret_key_ref, config_map_key_ref } in variables {
            if let Some(value) = value {
                self.set(name, value);
            }
            // Kubernetes does not look for references in values that come from elsewhere.
            let config = config_map_key_ref.as_ref().and_then(|key| objects.config_map(&key.name, &key.key).ok());
            let secret = secret_key_ref.as_ref().and_then(|key| objects.secret(&key.name, &key.key).ok());
            if let Some(value) = config.or(secret) {
                self.set_literally(name, value);
            }
        }
    }

    fn set_literally(&mut self, name: &str, value: &str) {
        self.set(name, &value.replace('$', "$$"));
    }

    /// The value of a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// All variables.
    pub fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// A text with its references replaced.
    pub fn expand(&self, text: &str) -> String {
        let mut expanded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(dollar) = rest.find('$') {
            expanded.push_str(&rest[..dollar]);
            let after = &rest[dollar + 1..];
            if let Some(tail) = after.strip_prefix('$') {
                expanded.push('$');
                rest = tail;
            } else if let Some((name, tail)) = after.strip_prefix('(').and_then(|after| after.split_once(')')) {
                if let Some(value) = self.get(name) {
                    expanded.push_str(value);
                } else {
                    expanded.push_str("$(");
                    expanded.push_str(name);
                    expanded.push(')');
                }
                rest = tail;
            } else {
                expanded.push('$');
                rest = after;
            }
        }
        expanded.push_str(rest);
        expanded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(variables: &[(&str, &str)]) -> Environment {
        let mut environment = Environment::default();
        for (name, value) in variables {
            environment.set(name, value);
        }
        environment
    }

    /// Cases after the table of Kubernetes' own test.
    #[test]
    fn references_are_replaced_as_kubernetes_does() {
        let environment = environment(&[("VAR_A", "A"), ("VAR_B", "B"), ("VAR_REF", "$(VAR_A)"), ("VAR_EMPTY", "")]);
        for (text, expected) in [
            ("$(VAR_A)", "A"),
            ("___$(VAR_B)___", "___B___"),
            ("$(VAR_A)-1", "A-1"),
            ("$(VAR_A)$(VAR_B)", "AB"),
            ("$(VAR_REF)", "A"),
            ("foo$(VAR_EMPTY)bar", "foobar"),
            ("$(VAR_DNE)", "$(VAR_DNE)"),
            ("foo$$bar", "foo$bar"),
            ("$$(VAR_A)", "$(VAR_A)"),
            ("$$$(VAR_A)", "$A"),
            ("$$$$(VAR_A)", "$$(VAR_A)"),
            ("$VAR_A", "$VAR_A"),
            ("$(VAR_A", "$(VAR_A"),
            ("$", "$"),
            ("100$", "100$"),
            ("$()", "$()"),
            ("", ""),
        ] {
            assert_eq!(environment.expand(text), expected, "{text}");
        }
    }

    #[test]
    fn values_may_refer_to_what_was_set_before_them() {
        let environment = environment(&[("URL", "$(HOST)"), ("HOST", "db"), ("LATER", "$(HOST)")]);
        assert_eq!(environment.get("URL"), Some("$(HOST)"));
        assert_eq!(environment.get("LATER"), Some("db"));
    }

    #[test]
    fn passwords_are_taken_as_they_are() {
        let mut environment = environment(&[("A", "x")]);
        environment.set_connections(
            &[
                Variable { name: "PGPASSWORD".into(), value: VariableValue::Password },
                Variable { name: "URL".into(), value: VariableValue::Plain("u:$(PGPASSWORD)@h".into()) },
            ],
            "a$(A)b",
        );
        assert_eq!(environment.get("URL"), Some("u:a$(A)b@h"));
    }
}
