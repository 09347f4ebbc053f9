//! The proofs of exclusive CPUs over the time of a trial: the first, every change, and the last.

use gaugeblock_measurement::sampler::Exclusivity;

use crate::{
    clock,
    cpu_set::CpuSet,
    exclusivity::{Claim, Other, judge},
    kernel_file::Buffer,
    neighbours::{Neighbours, cpu_set, quota},
    notes::Notes,
    pod::{Node, Pod},
    process::Proc,
    process_tree::ProcessTree,
    unit::Unit,
};

/// Reads and keeps proofs.
pub struct Prover<'a> {
    node: Option<&'a Node>,
    proc: &'a Proc,
    online: CpuSet,
    neighbours: Neighbours,
    target_cpus: CpuSet,
    kept: Vec<Exclusivity>,
    last: Option<Exclusivity>,
}

impl<'a> Prover<'a> {
    /// Most readings kept: a set that changes all the time must not fill the record.
    const MOST: usize = 16;

    /// A prover on a machine with these CPUs.
    pub fn new(node: Option<&'a Node>, proc: &'a Proc, online: CpuSet) -> Self {
        Self {
            node,
            proc,
            online,
            neighbours: Neighbours::default(),
            target_cpus: CpuSet::default(),
            kept: Vec::new(),
            last: None,
        }
    }

    /// CPUs of the target at the last reading.
    pub fn target_cpus(&self) -> &CpuSet {
        &self.target_cpus
    }

    /// Takes a reading; answers whether the target has its CPUs to itself, or nothing when it could
    /// not be read (it is just ending).
    pub fn prove(
        &mut self,
        target: &Unit,
        container: &str,
        others: &[Unit],
        buffer: &mut Buffer,
        notes: &mut Notes,
    ) -> Option<bool> {
        let (claim, others) = match target {
            Unit::Pod(pod) => self.of_pod(pod, container, buffer, notes)?,
            Unit::Tree(tree) => self.of_tree(tree, others, notes)?,
        };
        let reading = judge(clock::now(), &claim, &others, &self.online);
        let exclusive = reading.exclusive;
        self.target_cpus = claim.cpus;
        let changed = self
            .last
            .as_ref()
            .is_none_or(|last| last.exclusive != exclusive || last.target_cpus != reading.target_cpus);
        if changed && self.kept.len() < Self::MOST {
            self.kept.push(reading.clone());
        }
        self.last = Some(reading);
        Some(exclusive)
    }

    /// The first reading, every change, and the last one.
    pub fn finish(mut self) -> Vec<Exclusivity> {
        if let Some(last) = self.last
            && self.kept.last() != Some(&last)
        {
            self.kept.push(last);
        }
        self.kept
    }

    fn of_pod(
        &mut self,
        pod: &Pod,
        container: &str,
        buffer: &mut Buffer,
        notes: &mut Notes,
    ) -> Option<(Claim, Vec<Other>)> {
        let (node, found) = (self.node?, pod.found()?);
        let container = pod.container(container)?;
        let claim = Claim {
            cpus: cpu_set(&node.tree, &container.path)?,
            quota: quota(&node.tree, &container.path),
            qos: Some(found.folder.qos),
        };
        if let Some(program) = container.program()
            && let Some(allowed) = self.proc.allowed_cpus(program.process)
            && !allowed.is_within(&claim.cpus)
        {
            notes.add(format!("the target's process may run on CPU {allowed}, its container on CPU {}", claim.cpus));
        }
        let others = self.neighbours.read(node, &found.kubelet, &container.id, buffer);
        for foreign in pod.other_kubelets() {
            let overlapping = self
                .neighbours
                .read(node, foreign, &container.id, buffer)
                .iter()
                .filter(|other| !other.cpus.shared_with(&claim.cpus).is_empty())
                .count();
            if overlapping > 0 {
                notes.add(format!(
                    "containers of another kubelet on this machine ({}) may run on the target's CPUs",
                    foreign.path.display()
                ));
            }
        }
        Some((claim, others))
    }

    fn of_tree(&self, tree: &ProcessTree, others: &[Unit], notes: &mut Notes) -> Option<(Claim, Vec<Other>)> {
        let cpus = self.proc.allowed_cpus(tree.began()?.process)?;
        let others = others
            .iter()
            .filter_map(|unit| match unit {
                Unit::Pod(_) => None,
                Unit::Tree(other) => Some(Other {
                    pod_uid: other.name().to_owned(),
                    container_id: String::new(),
                    cpus: self.proc.allowed_cpus(other.began()?.process)?,
                }),
            })
            .collect();
        notes.add(
            "only the run's own processes were compared: whatever else this machine runs may use the target's CPUs",
        );
        Some((Claim { cpus, quota: None, qos: None }, others))
    }
}
