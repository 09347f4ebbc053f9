//! Which part of a trial runs on which CPUs.
//!
//! The target gets CPUs of its own, the last ones of the machine (the first ones serve most
//! interrupts). Where threads of one core are told apart, it gets whole cores: a busy sibling
//! takes a third of a core's speed. What is left goes to the load generator first, whose delay
//! would be taken for the target's, then to dependencies, then to everything else. What has to be
//! shared is said.

use std::fs;

use crate::cpu_list::CpuList;

/// A core: the CPUs (hardware threads) of it that may be used, ascending.
pub type Core = Vec<u32>;

/// What is asked for, in whole CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// For the target.
    pub target: u32,
    /// For the load generator.
    pub generator: u32,
    /// For all dependencies together.
    pub dependencies: u32,
}

/// Who runs where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// The target.
    pub target: CpuList,
    /// The load generator.
    pub generator: CpuList,
    /// Dependencies.
    pub dependencies: CpuList,
    /// Sampler, Gaugeblock itself, and all the rest.
    pub others: CpuList,
    /// What is shared, one sentence each.
    pub shared: Vec<String>,
}

impl Layout {
    /// Distributes the cores of a machine.
    pub fn of(cores: &[Core], wanted: Wanted) -> Self {
        let mut left: Vec<Core> = cores.iter().filter(|core| !core.is_empty()).cloned().collect();
        left.sort();
        let all: Vec<u32> = left.iter().flatten().copied().collect();
        let mut shared = Vec::new();
        let (target, mut siblings) = for_target(&mut left, wanted.target.max(1) as usize);
        if (target.len() as u32) < wanted.target {
            shared.push(format!("the target asks for {} CPUs, but this machine has {}", wanted.target, target.len()));
        }
        let mut rest: Vec<u32> = left.into_iter().flatten().collect();
        if rest.is_empty() && !siblings.is_empty() {
            shared.push(format!(
                "CPUs {} are other threads of the target's own cores: whatever runs there slows the target",
                list(&siblings)
            ));
            rest.append(&mut siblings);
        }
        if rest.is_empty() {
            shared.push(format!(
                "THE TARGET SHARES ITS CPUS {} WITH EVERYTHING ELSE: there are no others, so these figures are worth little",
                list(&all)
            ));
            rest = all.iter().copied().take(1).collect();
        }
        let layout = for_others(&rest, wanted, &mut shared);
        Self { target: target.into_iter().collect(), shared, ..layout }
    }
}

/// Takes whole cores from the end. Also gives the threads of those cores that the target does not
/// use: they stay idle.
fn for_target(left: &mut Vec<Core>, wanted: usize) -> (Vec<u32>, Vec<u32>) {
    let (mut target, mut siblings) = (Vec::new(), Vec::new());
    while target.len() < wanted {
        let Some(core) = left.pop() else { break };
        for cpu in core {
            if target.len() < wanted { target.push(cpu) } else { siblings.push(cpu) }
        }
    }
    (target, siblings)
}

/// Distributes what the target left. `rest` is not empty.
fn for_others(rest: &[u32], wanted: Wanted, shared: &mut Vec<String>) -> Layout {
    let generator = wanted.generator.max(1) as usize;
    let dependencies = wanted.dependencies as usize;
    let everything: CpuList = rest.iter().copied().collect();
    let take = |from: usize, count: usize| -> CpuList { rest.iter().copied().skip(from).take(count).collect() };
    if rest.len() > generator + dependencies {
        return Layout {
            generator: take(rest.len() - generator, generator),
            dependencies: take(rest.len() - generator - dependencies, dependencies),
            others: take(0, rest.len() - generator - dependencies),
            ..Layout::default()
        };
    }
    if rest.len() > generator {
        let others = take(0, rest.len() - generator);
        if dependencies > 0 {
            shared.push(format!("dependencies and the sampler share CPUs {others}"));
        }
        return Layout {
            generator: take(rest.len() - generator, generator),
            dependencies: others.clone(),
            others,
            ..Layout::default()
        };
    }
    let who = if dependencies > 0 {
        "the load generator, dependencies and the sampler"
    } else {
        "the load generator and the sampler"
    };
    shared.push(format!("{who} share CPUs {everything}"));
    Layout { generator: everything.clone(), dependencies: everything.clone(), others: everything, ..Layout::default() }
}

impl Layout {
    /// Whether the load generator has its CPUs for itself.
    pub fn generator_is_alone(&self) -> bool {
        !self.generator.overlaps(&self.others)
            && !self.generator.overlaps(&self.dependencies)
            && !self.generator.overlaps(&self.target)
    }
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().copied().collect::<CpuList>().to_string()
}

/// The cores of this machine that may be used, from the kernel's topology; each CPU alone where
/// the kernel tells nothing.
pub fn cores(allowed: &CpuList) -> Vec<Core> {
    let mut cores: Vec<Core> = allowed
        .iter()
        .map(|cpu| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            let siblings: CpuList = fs::read_to_string(path)
                .ok()
                .and_then(|text| text.parse().ok())
                .unwrap_or_else(|| [cpu].into_iter().collect());
            let usable: Core = siblings.iter().filter(|sibling| allowed.iter().any(|cpu| cpu == *sibling)).collect();
            if usable.is_empty() { vec![cpu] } else { usable }
        })
        .collect();
    cores.sort();
    cores.dedup();
    cores
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Machine, wishes (target, generator, dependencies) → target, generator, dependencies, others.
    #[track_caller]
    fn lays_out(cores: &[&[u32]], wanted: [u32; 3], expected: [&str; 4]) -> Vec<String> {
        let cores: Vec<Core> = cores.iter().map(|core| core.to_vec()).collect();
        let [target, generator, dependencies] = wanted;
        let layout = Layout::of(&cores, Wanted { target, generator, dependencies });
        let found = [&layout.target, &layout.generator, &layout.dependencies, &layout.others];
        assert_eq!(found.map(ToString::to_string), expected);
        layout.shared
    }

    #[test]
    fn with_room_everyone_has_cpus_of_their_own() {
        let four: [&[u32]; 4] = [&[0], &[1], &[2], &[3]];
        assert!(lays_out(&four, [1, 1, 1], ["3", "2", "1", "0"]).is_empty());
        assert!(lays_out(&four, [1, 1, 0], ["3", "2", "", "0-1"]).is_empty());
        let eight: [&[u32]; 8] = [&[0], &[1], &[2], &[3], &[4], &[5], &[6], &[7]];
        assert!(lays_out(&eight, [2, 2, 1], ["6-7", "4-5", "3", "0-2"]).is_empty());
    }

    #[test]
    fn two_cpus_are_one_for_the_target_and_one_for_the_rest() {
        let shared = lays_out(&[&[0], &[1]], [1, 1, 1], ["1", "0", "0", "0"]);
        assert_eq!(shared, ["the load generator, dependencies and the sampler share CPUs 0"]);
        let shared = lays_out(&[&[0], &[1]], [1, 1, 0], ["1", "0", "0", "0"]);
        assert_eq!(shared, ["the load generator and the sampler share CPUs 0"]);
    }

    #[test]
    fn three_cpus_keep_the_generator_alone() {
        let shared = lays_out(&[&[0], &[1], &[2]], [1, 1, 1], ["2", "1", "0", "0"]);
        assert_eq!(shared, ["dependencies and the sampler share CPUs 0"]);
    }

    #[test]
    fn one_cpu_is_shared_and_said_loudly() {
        let shared = lays_out(&[&[0]], [1, 1, 1], ["0", "0", "0", "0"]);
        assert!(shared[0].starts_with("THE TARGET SHARES ITS CPUS 0"), "{shared:?}");
    }

    #[test]
    fn a_target_that_wants_the_whole_machine_shares_it() {
        let shared = lays_out(&[&[0], &[1]], [2, 1, 0], ["0-1", "0", "0", "0"]);
        assert!(shared[0].starts_with("THE TARGET SHARES"), "{shared:?}");
        let shared = lays_out(&[&[0], &[1]], [4, 1, 0], ["0-1", "0", "0", "0"]);
        assert_eq!(shared[0], "the target asks for 4 CPUs, but this machine has 2");
    }

    #[test]
    fn the_targets_siblings_stay_idle_where_they_can() {
        let four: [&[u32]; 4] = [&[0, 4], &[1, 5], &[2, 6], &[3, 7]];
        assert!(lays_out(&four, [1, 1, 1], ["3", "6", "2", "0-1,4-5"]).is_empty());
        assert!(lays_out(&four, [2, 1, 1], ["3,7", "6", "2", "0-1,4-5"]).is_empty());
    }

    #[test]
    fn the_targets_siblings_are_used_where_nothing_else_is_left() {
        let shared = lays_out(&[&[0, 1]], [1, 1, 0], ["0", "1", "1", "1"]);
        assert!(shared[0].contains("other threads of the target's own cores"), "{shared:?}");
    }

    #[test]
    fn cpus_that_may_not_be_used_are_not() {
        assert!(lays_out(&[&[], &[5], &[9], &[12], &[13]], [1, 1, 1], ["13", "12", "9", "5"]).is_empty());
    }

    #[test]
    fn this_machines_cores_hold_all_allowed_cpus() {
        let allowed = CpuList::allowed().unwrap();
        let cores: CpuList = cores(&allowed).into_iter().flatten().collect();
        assert_eq!(cores, allowed);
    }
}
