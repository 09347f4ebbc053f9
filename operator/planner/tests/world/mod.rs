//! A world in memory: it executes a plan's actions and lets units live, so that whole runs can be
//! driven through the planner without a cluster.

#![allow(dead_code, reason = "each test binary uses some of it")]

pub mod records;

use std::collections::BTreeMap;

use gaugeblock_crds::{BenchmarkPoolSpec, BenchmarkRunSpec, BenchmarkRunStatus, condition::ConditionType};
use gaugeblock_measurement::{Outcome, UnixNanos, plan::Watch};
use gaugeblock_planner::{
    Action, Observed, Plan, Role, RunView, Slot, Snapshot, TrialSummary, Unit, UnitKey, UnitState, Waiting,
    action::{Conclusion, Event, UnitPlan, UnitSpec},
    conclude,
    observed::{Claim, ClusterView, FailureKind, NodeView, Place, Waiter},
    plan,
    status::is,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

/// Everything that outlives the operator.
pub struct World {
    pub spec: BenchmarkRunSpec,
    pub uid: String,
    pub status: BenchmarkRunStatus,
    pub cluster: Option<ClusterView>,
    pub snapshot: Option<Snapshot>,
    pub credentials: bool,
    pub result: bool,
    pub deleted: bool,
    pub units: BTreeMap<String, Unit>,
    pub trials: Vec<TrialSummary>,
    pub events: Vec<Event>,
    pub created: Vec<UnitKey>,
    pub logs_kept: Vec<String>,
    pub now: Timestamp,
    /// What happens to a unit when its time has come to run.
    pub fate: Box<dyn Fn(&Unit) -> Option<UnitState>>,
    /// CPU seconds per request of each arm.
    pub cost: Box<dyn Fn(Slot) -> f64>,
}

/// A run of two arms beside a Postgres.
pub fn spec() -> BenchmarkRunSpec {
    serde_json::from_value(json!({
        "pool": "bench",
        "targets": [
            { "name": "baseline", "image": "shop:1" },
            { "name": "candidate", "image": "shop:2" },
        ],
        "dependencies": [ { "name": "db", "postgres": { "image": "postgres:17" } } ],
        "scenarios": [ {
            "name": "json",
            "http": {
                "requests": [ { "name": "all", "path": "/json" } ],
                "load": { "open": { "rate": 500 } },
                "warmUp": "1s",
                "measure": "4s",
            },
        } ],
        "repetitions": { "blocks": 4, "seed": 7 },
    }))
    .unwrap()
}

impl World {
    /// A run that has just been applied, on a cluster with one free node.
    pub fn applied(spec: BenchmarkRunSpec) -> Self {
        let labels = BTreeMap::from([("pool".to_owned(), "bench".to_owned())]);
        let pool: BenchmarkPoolSpec = serde_json::from_value(json!({ "nodeSelector": labels })).unwrap();
        let node = NodeView { name: "node-b".into(), usable: true, labels, taints: Vec::new() };
        let cluster = ClusterView {
            measuring_image: "gaugeblock:test".into(),
            operator_namespace: "gaugeblock-system".into(),
            pool: Some(pool),
            nodes: vec![node],
            claims: Vec::new(),
            waiting: Vec::new(),
        };
        Self {
            spec,
            uid: "0a1b2c3d-0000-4000-8000-000000000001".into(),
            status: BenchmarkRunStatus::default(),
            cluster: Some(cluster),
            snapshot: None,
            credentials: false,
            result: false,
            deleted: false,
            units: BTreeMap::new(),
            trials: Vec::new(),
            events: Vec::new(),
            created: Vec::new(),
            logs_kept: Vec::new(),
            now: "2026-11-01T08:00:00Z".parse().unwrap(),
            fate: Box::new(|_| None),
            cost: Box::new(|_| 0.000_2),
        }
    }

    /// The same run on one machine.
    pub fn local(spec: BenchmarkRunSpec) -> Self {
        Self { cluster: None, ..Self::applied(spec) }
    }

    pub fn observed(&self) -> Observed {
        Observed {
            run: RunView {
                namespace: "shop".into(),
                name: "versus".into(),
                uid: self.uid.clone(),
                generation: 1,
                created: "2026-11-01T08:00:00Z".parse().unwrap(),
                deleting: false,
                spec: self.spec.clone(),
                status: self.status.clone(),
            },
            place: self.cluster.clone().map_or(Place::Local, Place::Cluster),
            snapshot: self.snapshot.clone(),
            has_credentials: self.credentials,
            result: self.result.then(|| "result".to_owned()),
            units: self.units.values().cloned().collect(),
            trials: self.trials.clone(),
        }
    }

    pub fn plan(&self) -> Plan {
        plan(&self.observed(), self.now)
    }

    /// One look of the operator; it dies after `survives` writes, if that is less than it has.
    pub fn reconcile(&mut self, survives: usize) {
        let plan = self.plan();
        let writes = plan.actions.len();
        for action in plan.actions.into_iter().take(survives) {
            self.execute(action);
        }
        if survives > writes {
            self.status = plan.status;
            self.events.extend(plan.events);
        }
    }

    /// Looks and time take turns until the run has finished and everything is gone.
    pub fn to_the_end(&mut self) -> &mut Self {
        self.until_finished(|_| usize::MAX)
    }

    pub fn until_finished(&mut self, mut survives: impl FnMut(usize) -> usize) -> &mut Self {
        for look in 0..20_000 {
            self.reconcile(survives(look));
            if is(&self.status, ConditionType::Finished) && self.units.is_empty() {
                return self;
            }
            self.time_passes();
        }
        panic!("the run never finishes: {:?}\n{:#?}", self.status, self.units);
    }

    pub fn until(&mut self, condition: impl Fn(&Self) -> bool) -> &mut Self {
        for _ in 0..2_000 {
            if condition(self) {
                return self;
            }
            self.reconcile(usize::MAX);
            if condition(self) {
                return self;
            }
            self.time_passes();
        }
        panic!("it never comes to that: {:?}", self.status);
    }

    /// A second in which units start, end and vanish.
    pub fn time_passes(&mut self) {
        self.now += SignedDuration::from_secs(1);
        self.units.retain(|_, unit| !unit.deleting);
        let target_is_there = self.units.values().any(|unit| unit.key.role == Role::Target);
        let target_has_ended = self.units.values().any(|unit| unit.key.role == Role::Target && unit.ended());
        for unit in self.units.values_mut() {
            if unit.gated || unit.ended() {
                continue;
            }
            if let Some(state) = (self.fate)(unit) {
                unit.state = state;
                continue;
            }
            unit.state = match (unit.key.role, &unit.state) {
                (Role::Generator, UnitState::Running { .. }) => UnitState::Succeeded,
                (Role::Sampler, UnitState::Running { .. }) if !target_is_there || target_has_ended => {
                    UnitState::Succeeded
                }
                _ => {
                    unit.address = Some("198.18.2.7".into());
                    UnitState::Running { ready: true }
                }
            };
        }
    }

    pub fn unit(&self, role: Role) -> Option<&Unit> {
        self.units.values().find(|unit| unit.key.role == role)
    }

    /// Somebody deletes a pod.
    pub fn somebody_deletes(&mut self, role: Role) {
        let unit = self.units.values_mut().find(|unit| unit.key.role == role).expect("such a unit");
        unit.deleting = true;
    }

    fn execute(&mut self, action: Action) {
        match action {
            Action::Claim { node } => {
                let holder = self.uid.clone();
                let claims = &mut self.cluster.as_mut().expect("a cluster").claims;
                if !claims.iter().any(|claim| claim.node == node) {
                    claims.push(Claim { node, holder });
                }
            }
            Action::Freeze(snapshot) => {
                self.snapshot.get_or_insert(*snapshot);
            }
            Action::MakeCredentials => self.credentials = true,
            Action::Create(spec) => self.create(*spec),
            Action::Release { name, .. } => {
                if let Some(unit) = self.units.get_mut(&name) {
                    unit.gated = false;
                }
            }
            Action::Store(conclusion) => self.store(&conclusion),
            Action::Delete { name, .. } => {
                if let Some(unit) = self.units.get_mut(&name) {
                    unit.deleting = true;
                }
            }
            Action::KeepLog { name, .. } => self.logs_kept.push(name),
            Action::WriteResult => self.result = true,
            Action::Unclaim => {
                assert!(self.units.is_empty(), "a node is given back while units are left on it");
                if let Some(cluster) = &mut self.cluster {
                    cluster.claims.retain(|claim| claim.holder != self.uid);
                }
            }
            Action::DeleteRun => self.deleted = true,
        }
    }

    fn create(&mut self, spec: UnitSpec) {
        let others = self.units.values().find(|unit| unit.key.slot != spec.key.slot);
        assert!(others.is_none(), "two trials at once: {:?} beside {others:?}", spec.key);
        self.created.push(spec.key);
        let gated = matches!(spec.plan, UnitPlan::Target { .. } | UnitPlan::Generator { .. });
        let uid = format!("uid-{}-{}", spec.name, self.created.len());
        let now = self.now;
        self.units.entry(spec.name.clone()).or_insert_with(|| Unit {
            key: spec.key,
            watch: Watch::Pod { name: "target".into(), uid: uid.clone() },
            uid,
            name: spec.name,
            gated,
            deleting: false,
            disrupted: None,
            created: now,
            state: UnitState::Pending(Waiting::Starting),
            address: None,
            port: None,
            node: spec.node,
            restarts: 0,
            image: None,
        });
    }

    fn store(&mut self, conclusion: &Conclusion) {
        if self.trials.iter().any(|trial| trial.slot == conclusion.slot) {
            return;
        }
        let snapshot = self.snapshot.as_ref().expect("a snapshot");
        let cost = (self.cost)(conclusion.slot);
        let id = conclusion.slot.trial_id(snapshot);
        let generator = conclusion.generator.as_ref().map(|_| Ok(records::generator(&id)));
        let sampler = conclusion.sampler.as_ref().map(|_| Ok(records::sampler(&id, cost)));
        let now = UnixNanos(self.now.as_nanosecond() as i64);
        let (record, summary) = conclude(snapshot, conclusion, generator, sampler, now);
        assert_eq!(record.outcome, summary.outcome);
        self.trials.push(summary);
    }

    pub fn complete_trials(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> =
            self.trials.iter().filter(|trial| trial.outcome == Outcome::Complete).map(|trial| trial.slot).collect();
        slots.sort();
        slots
    }
}

/// A failed state.
pub fn failed(kind: FailureKind, exit_code: i32, message: &str) -> UnitState {
    UnitState::Failed { kind, exit_code: Some(exit_code), message: message.to_owned() }
}

/// Another run that waits for the same pool.
pub fn waiter(uid: &str, priority: i32, created: &str) -> Waiter {
    Waiter { uid: uid.to_owned(), priority, created: created.parse().unwrap() }
}
