//! The machine's fingerprint, from what `/proc` and `/sys` show to everybody.

use std::{
    collections::BTreeMap,
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use flate2::read::GzDecoder;
use gaugeblock_measurement::fingerprint::Fingerprint;

use crate::{cgroup::Tree, cpu_set::CpuSet, kernel_file::read_once, process::Proc};

/// Most bytes of a kernel's configuration; they have 300 KB.
const CONFIGURATION: u64 = 4 << 20;

/// The mounted `/sys`.
#[derive(Clone, Debug)]
pub struct Sys(PathBuf);

impl Sys {
    /// `/sys`, or where the node's is mounted.
    pub fn new(root: PathBuf) -> Self {
        Self(root)
    }

    /// CPUs that are online.
    pub fn online_cpus(&self) -> CpuSet {
        self.read("devices/system/cpu/online").and_then(|text| text.parse().ok()).unwrap_or_default()
    }

    fn read(&self, file: &str) -> Option<String> {
        read_once(&self.0.join(file)).ok().filter(|text| !text.is_empty())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(self.0.join(folder))
            .map(|entries| entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect())
            .unwrap_or_default();
        names.sort();
        names
    }
}

/// What the machine is. A thing that cannot be read is missing, never guessed.
pub fn fingerprint(proc: &Proc, sys: &Sys, tree: Option<&Tree>) -> Fingerprint {
    let cpuinfo = read_once(&proc.file("cpuinfo")).unwrap_or_default();
    let mut facts = Facts::default();
    identity(&mut facts, proc, sys, &cpuinfo);
    if let Some(tree) = tree {
        facts.put(
            "cgroup_version",
            Some(match tree {
                Tree::Version1(_) => "1",
                Tree::Version2(_) => "2",
            }),
        );
    }
    let identity = facts.0;
    let mut facts = Facts::default();
    environment(&mut facts, proc, sys, &cpuinfo);
    Fingerprint { identity, environment: facts.0 }
}

#[derive(Default)]
struct Facts(BTreeMap<String, String>);

impl Facts {
    fn put(&mut self, key: &str, value: Option<impl Into<String>>) {
        if let Some(value) = value {
            self.0.insert(key.to_owned(), value.into());
        }
    }
}

fn identity(facts: &mut Facts, proc: &Proc, sys: &Sys, cpuinfo: &str) {
    facts.put("architecture", Some(std::env::consts::ARCH));
    // Arm names its parts where x86 has vendor, family and model.
    for (key, fields) in [
        ("cpu_model", ["model name", "CPU part"]),
        ("cpu_vendor", ["vendor_id", "CPU implementer"]),
        ("cpu_family", ["cpu family", "CPU architecture"]),
        ("cpu_model_number", ["model", "CPU variant"]),
        ("cpu_stepping", ["stepping", "CPU revision"]),
    ] {
        facts.put(key, fields.iter().find_map(|name| field(cpuinfo, name)));
    }
    facts.put("cpus_online", sys.read("devices/system/cpu/online"));
    facts.put("cpu_siblings", siblings(sys));
    facts.put("numa_nodes", sys.read("devices/system/node/online"));
    facts.put("memory_gib", memory_gib(proc));
    let flags = field(cpuinfo, "flags").unwrap_or_default();
    facts.put("virtual_machine", Some(if flags.split(' ').any(|flag| flag == "hypervisor") { "yes" } else { "no" }));
    facts.put("hypervisor", sys.read("hypervisor/type"));
    facts.put("machine", sys.read("class/dmi/id/product_name"));
}

fn environment(facts: &mut Facts, proc: &Proc, sys: &Sys, cpuinfo: &str) {
    let cpu = |file: &str| sys.read(&format!("devices/system/cpu/{file}"));
    facts.put("kernel", read_once(&proc.file("sys/kernel/osrelease")).ok());
    facts.put("microcode", field(cpuinfo, "microcode"));
    let vulnerabilities = sys.names("devices/system/cpu/vulnerabilities");
    let mitigations = vulnerabilities
        .iter()
        .filter_map(|name| Some(format!("{name}: {}", cpu(&format!("vulnerabilities/{name}"))?)))
        .collect::<Vec<_>>()
        .join("; ");
    facts.put("mitigations", (!mitigations.is_empty()).then_some(mitigations));
    facts.put("smt", cpu("smt/control"));
    facts.put("governor", cpu("cpu0/cpufreq/scaling_governor"));
    facts.put("frequency_driver", cpu("cpu0/cpufreq/scaling_driver"));
    facts.put("turbo_off", cpu("intel_pstate/no_turbo"));
    facts.put("boost", cpu("cpufreq/boost"));
    facts.put("isolated_cpus", cpu("isolated"));
    facts.put("nohz_full_cpus", cpu("nohz_full"));
    facts.put("clock_source", sys.read("devices/system/clocksource/clocksource0/current_clocksource"));
    facts.put("transparent_huge_pages", sys.read("kernel/mm/transparent_hugepage/enabled").map(|text| chosen(&text)));
    let swap = read_once(&proc.file("swaps")).ok().map(|text| text.lines().count() > 1);
    facts.put("swap", swap.map(|on| if on { "on" } else { "off" }));
    facts.put("address_randomisation", read_once(&proc.file("sys/kernel/randomize_va_space")).ok());
    if let Some(configuration) = configuration(proc) {
        let on = |name: &str| configuration.lines().any(|line| line.strip_prefix(name) == Some("=y"));
        let ticks = on("CONFIG_TICK_CPU_ACCOUNTING");
        facts.put("cpu_accounting", Some(if ticks { "ticks" } else { "exact" }));
        facts.put("irq_time_accounting", Some(if on("CONFIG_IRQ_TIME_ACCOUNTING") { "on" } else { "off" }));
    }
    facts.put("scheduler_autogroup", read_once(&proc.file("sys/kernel/sched_autogroup_enabled")).ok());
    facts.put("numa_balancing", read_once(&proc.file("sys/kernel/numa_balancing")).ok());
}

/// A field of the first CPU.
fn field(cpuinfo: &str, name: &str) -> Option<String> {
    cpuinfo.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim().to_owned())
    })
}

/// Groups of CPUs that share a core, such as `0,2 1,3`.
fn siblings(sys: &Sys) -> Option<String> {
    let mut groups: Vec<String> = Vec::new();
    for cpu in sys.online_cpus().iter() {
        let group = sys.read(&format!("devices/system/cpu/cpu{cpu}/topology/thread_siblings_list"))?;
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    (!groups.is_empty()).then(|| groups.join(" "))
}

/// Memory rounded to GiB: the kernel keeps a part that varies with its version.
fn memory_gib(proc: &Proc) -> Option<String> {
    let kib = crate::kernel_file::keyed(&read_once(&proc.file("meminfo")).ok()?, "MemTotal")?;
    Some(((kib + (1 << 19)) >> 20).max(1).to_string())
}

/// The choice in brackets of a list such as `always [madvise] never`.
fn chosen(list: &str) -> String {
    list.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(list, |(chosen, _)| chosen).to_owned()
}

/// The kernel's configuration, from `/proc/config.gz` or `/boot`, where either is readable. It tells how CPU
/// time is split into user and system: by ticks, the split is junk for short work.
fn configuration(proc: &Proc) -> Option<String> {
    if let Ok(packed) = fs::File::open(proc.file("config.gz")) {
        let mut text = String::new();
        GzDecoder::new(packed).take(CONFIGURATION).read_to_string(&mut text).ok()?;
        return Some(text);
    }
    let release = read_once(&proc.file("sys/kernel/osrelease")).ok()?;
    read_once(&Path::new("/boot").join(format!("config-{release}"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_an_identity_and_an_environment() {
        let print = fingerprint(&Proc::new("/proc".into()), &Sys::new("/sys".into()), None);
        for key in ["architecture", "cpus_online", "memory_gib", "virtual_machine"] {
            assert!(print.identity.contains_key(key), "{key}");
        }
        assert!(print.environment.contains_key("kernel"));
        assert!(print.identity.values().chain(print.environment.values()).all(|value| !value.is_empty()));
    }

    #[test]
    fn the_first_cpu_speaks_for_all() {
        let cpuinfo = "model\t\t: 207\nmodel name\t: Xeon\nmodel name\t: other\n";
        assert_eq!(field(cpuinfo, "model name").as_deref(), Some("Xeon"));
        assert_eq!(field(cpuinfo, "model").as_deref(), Some("207"));
        assert_eq!(chosen("always [madvise] never"), "madvise");
    }
}
