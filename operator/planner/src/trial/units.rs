//! The units of a trial, as they are to be created.

use super::Trial;
use crate::{
    action::{Action, UnitPlan, UnitSpec, Variable, VariableValue},
    observed::{Place, Role, Unit, UnitKey},
    programs,
};

impl Trial<'_> {
    fn create(&self, role: Role, node: Option<&str>, plan: UnitPlan) -> Action {
        let key = UnitKey { slot: self.slot, role };
        Action::Create(Box::new(UnitSpec {
            key,
            name: key.name(self.snapshot),
            plan,
            node: node.map(str::to_owned),
            deadline: self.time_allowed(),
        }))
    }

    pub(super) fn create_dependency(&self, index: usize) -> Option<Action> {
        let dependency = &self.snapshot.spec.dependencies[index];
        // A dependency without a kind is refused by the schema, and by the check before freezing.
        let postgres = Box::new(dependency.postgres.clone()?);
        let plan = UnitPlan::Postgres { dependency: dependency.name.clone(), postgres };
        Some(self.create(Role::Dependency(index as u32), self.node, plan))
    }

    pub(super) fn create_target(&self, dependencies: &[&Unit]) -> Action {
        let names = self.snapshot.spec.dependencies.iter().map(|dependency| dependency.name.clone());
        let hosts = names.zip(dependencies).filter_map(|(name, unit)| Some((name, unit.address.clone()?))).collect();
        let plan = UnitPlan::Target { arm: self.slot.arm, hosts, variables: self.connection_variables(dependencies) };
        self.create(Role::Target, self.node, plan)
    }

    pub(super) fn create_sampler(&self, target: &Unit, dependencies: &[&Unit]) -> Action {
        let plan = programs::sampler(self.snapshot, self.slot, target, dependencies);
        self.create(Role::Sampler, self.node, UnitPlan::Sampler(Box::new(plan)))
    }

    pub(super) fn create_generator(&self, dependencies: &[&Unit]) -> Action {
        let plan = programs::generator(self.snapshot, self.slot, dependencies, self.local());
        let password = Variable { name: programs::PASSWORD_VARIABLE.into(), value: VariableValue::Password };
        let variables = if dependencies.is_empty() { Vec::new() } else { vec![password] };
        let elsewhere = self.snapshot.pool.as_ref().is_some_and(|pool| pool.generator.is_some());
        let node = if elsewhere { None } else { self.node };
        self.create(Role::Generator, node, UnitPlan::Generator { plan: Box::new(plan), variables })
    }

    fn local(&self) -> bool {
        matches!(self.observed.place, Place::Local)
    }

    /// What the target needs to find its dependencies. The first Postgres has the plain names.
    fn connection_variables(&self, units: &[&Unit]) -> Vec<Variable> {
        let dependencies = &self.snapshot.spec.dependencies;
        let Some((dependency, postgres, unit)) = dependencies
            .iter()
            .zip(units)
            .find_map(|(dependency, unit)| Some((dependency, dependency.postgres.as_ref()?, unit)))
        else {
            return Vec::new();
        };
        let host = if self.local() { unit.address.clone().unwrap_or_default() } else { dependency.name.clone() };
        let port = unit.port.unwrap_or(5432);
        let (user, database) = (&postgres.user, &postgres.database);
        let plain = |name: &str, value: String| Variable { name: name.to_owned(), value: VariableValue::Plain(value) };
        vec![
            Variable { name: programs::PASSWORD_VARIABLE.into(), value: VariableValue::Password },
            plain("PGHOST", host.clone()),
            plain("PGPORT", port.to_string()),
            plain("PGUSER", user.clone()),
            plain("PGDATABASE", database.clone()),
            // Kubernetes replaces the reference: the password is never part of a pod's spec.
            plain("DATABASE_URL", format!("postgres://{user}:$(PGPASSWORD)@{host}:{port}/{database}")),
        ]
    }
}
