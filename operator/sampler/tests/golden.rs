//! Captured cgroup trees of real nodes: version 1 and 2, both drivers, two kernels.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests, too")]

mod support;

use std::{fs, path::PathBuf};

use gaugeblock_measurement::{UnixNanos, sampler::Driver};
use gaugeblock_sampler::{
    cgroup::{
        Tree,
        accounts::{Accounts, Figures},
        kubepods::Kubepods,
    },
    exclusivity::{Claim, judge},
    kernel_file::Buffer,
    neighbours::{Neighbours, cpu_set, quota},
    notes::Notes,
    pod::Pod,
};
use support::capture::{ALL, ApiContainer, Capture};

/// CPUs of the captured machines.
fn online(capture: &str) -> &'static str {
    if capture == "v1-cgroupfs" { "0-1" } else { "0-3" }
}

fn found(capture: &Capture, container: &ApiContainer) -> Pod {
    let mut pod = Pod::new("p", &container.uid, capture.node());
    let (mut buffer, mut notes) = (Buffer::default(), Notes::default());
    pod.look(true, &mut buffer, &mut notes);
    assert!(notes.into_vec().is_empty());
    pod
}

#[test]
fn the_version_and_the_driver_are_recognised() {
    for (name, version1, driver) in [
        ("v1-cgroupfs", true, Driver::Cgroupfs),
        ("v2-cgroupfs", false, Driver::Cgroupfs),
        ("v2-systemd", false, Driver::Systemd),
        ("v2-systemd-6.1", false, Driver::Systemd),
    ] {
        let capture = Capture::of(name);
        let node = capture.node();
        assert_eq!(matches!(*node.tree, Tree::Version1(_)), version1, "{name}");
        let roots = Kubepods::search(node.tree.lookup());
        assert_eq!(roots.len(), 1, "{name}");
        assert_eq!(roots[0].driver(), driver, "{name}");
    }
}

#[test]
fn every_pod_of_the_api_is_found_with_its_containers_and_without_its_sandbox() {
    for name in ALL {
        let capture = Capture::of(name);
        for container in capture.containers() {
            let pod = found(&capture, &container);
            let folder = &pod.found().unwrap().folder;
            assert_eq!(folder.qos.name(), container.qos, "{name} {container:?}");
            let mut expected: Vec<String> = capture
                .containers()
                .into_iter()
                .filter(|other| other.uid == container.uid)
                .map(|other| other.id)
                .collect();
            let mut running: Vec<String> = pod
                .containers
                .iter()
                .filter(|one| one.program().is_some() && !one.is_sandbox())
                .map(|one| one.id.clone())
                .collect();
            expected.sort();
            running.sort();
            assert_eq!(running, expected, "{name} {}", container.pod);
            assert_eq!(pod.containers.iter().filter(|one| one.is_sandbox()).count(), 1, "{name} {}", container.pod);
        }
    }
}

#[test]
fn a_pod_that_is_not_there_is_not_found() {
    for name in ALL {
        let capture = Capture::of(name);
        let mut pod = Pod::new("p", "00000000-0000-0000-0000-000000000000", capture.node());
        pod.look(true, &mut Buffer::default(), &mut Notes::default());
        assert!(pod.found().is_none() && !pod.is_gone());
    }
}

#[test]
fn the_verdict_on_exclusive_cpus_is_the_kubelets_own_for_every_container() {
    for name in ALL {
        let capture = Capture::of(name);
        let node = capture.node();
        let given = capture.given_cpus();
        let mut exclusive = 0;
        for container in capture.containers() {
            let pod = found(&capture, &container);
            let path = path(&pod, &container.id);
            let claim = Claim {
                cpus: cpu_set(&node.tree, &path).unwrap(),
                quota: quota(&node.tree, &path),
                qos: Some(pod.found().unwrap().folder.qos),
            };
            let others =
                Neighbours::default().read(&node, &pod.found().unwrap().kubelet, &container.id, &mut Buffer::default());
            assert_eq!(others.len(), capture.containers().len() - 1, "{name}: all others but sandboxes");
            let verdict = judge(UnixNanos(0), &claim, &others, &online(name).parse().unwrap());
            let own = given.get(&(container.uid.clone(), container.name.clone()));
            assert_eq!(verdict.exclusive, own.is_some(), "{name} {container:?}: {:?}", verdict.reason);
            assert_eq!(verdict.target_cpus, *own.unwrap_or(&capture.shared_pool()), "{name} {container:?}");
            exclusive += usize::from(verdict.exclusive);
        }
        assert_eq!(exclusive, given.len());
    }
}

#[test]
fn the_reason_names_the_cause() {
    let capture = Capture::of("v2-systemd");
    let node = capture.node();
    let reason = |pod: &str| {
        let container = capture.container(pod, "target");
        let found = found(&capture, &container);
        let path = path(&found, &container.id);
        let claim = Claim {
            cpus: cpu_set(&node.tree, &path).unwrap(),
            quota: quota(&node.tree, &path),
            qos: Some(found.found().unwrap().folder.qos),
        };
        let kubelet = &found.found().unwrap().kubelet;
        let others = Neighbours::default().read(&node, kubelet, &container.id, &mut Buffer::default());
        judge(UnixNanos(0), &claim, &others, &"0-3".parse().unwrap()).reason.unwrap()
    };
    let throttled = reason("throttled");
    assert!(throttled.starts_with("it shares CPU 0,3 with container "), "{throttled}");
    assert!(throttled.contains("; its CPU limit is 0.1, and the kubelet gives"), "{throttled}");
    assert!(reason("burstable").contains("; its pod is Burstable, and the kubelet gives"));
    assert!(reason("besteffort").contains("; its pod is BestEffort, and the kubelet gives"));
}

#[test]
fn the_figures_are_those_of_the_files() {
    // Computed from the captured files by hand: cpu ns, anonymous, working set, file, peak, limit.
    for (name, pod, expected) in [
        ("v1-cgroupfs", "target-excl", [10_151_388, 86_016, 274_432, 4_096, 2_752_512, 134_217_728]),
        ("v1-cgroupfs", "throttled", [1_027_497_755, 81_920, 274_432, 20_480, 2_719_744, 33_554_432]),
        ("v2-cgroupfs", "target-excl", [2_185_912_000, 81_920, 266_240, 16_384, 16_711_680, 134_217_728]),
        ("v2-systemd", "target-excl", [1_685_880_000, 90_112, 270_336, 12_288, 10_092_544, 134_217_728]),
        ("v2-systemd", "throttled", [7_020_008_000, 90_112, 262_144, 12_288, 14_577_664, 33_554_432]),
        ("v2-systemd-6.1", "target-excl", [367_191_000, 86_016, 282_624, 12_288, 3_530_752, 134_217_728]),
    ] {
        let capture = Capture::of(name);
        let (figures, limit) = figures(&capture, &capture.container(pod, "target"));
        let read = [figures.cpu, figures.anonymous, figures.working_set, figures.file, figures.peak, limit];
        assert_eq!(read.map(Option::unwrap), expected, "{name} {pod}");
    }
}

#[test]
fn throttling_is_counted_in_nanoseconds_and_periods() {
    for (name, throttled, periods) in
        [("v1-cgroupfs", 3_528_110_134, 43), ("v2-systemd", 13_437_562_000, 538), ("v2-cgroupfs", 68_579_669_000, 820)]
    {
        let capture = Capture::of(name);
        let (figures, _) = figures(&capture, &capture.container("throttled", "target"));
        assert_eq!((figures.throttled, figures.throttled_periods), (Some(throttled), Some(periods)), "{name}");
    }
}

#[test]
fn the_oom_kill_of_a_child_that_the_api_does_not_show_is_counted() {
    let capture = Capture::of("v1-cgroupfs");
    let container = capture.container("oomchild", "target");
    let pod = found(&capture, &container);
    let accounts = Accounts::open(&capture.node().tree, &path(&pod, &container.id)).unwrap();
    assert_eq!(accounts.oom_kills(&mut Buffer::default()), Some(1));

    // Version 2, singleProcessOOMKill: the pod's limit was hit, so the container says oom 0, oom_kill 1.
    let capture = Capture::of("v2-systemd");
    let tree = Tree::Version2(capture.path("oom-single-cgroup"));
    let pod =
        "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-poda9688210_148a_480c_aa98_1e9e88ea1655.slice";
    let mut kills: Vec<u64> = fs::read_dir(tree.lookup().join(pod))
        .unwrap()
        .flatten()
        .filter(|entry| entry.path().is_dir())
        .map(|entry| {
            let path = PathBuf::from(pod).join(entry.file_name());
            Accounts::open(&tree, &path).unwrap().oom_kills(&mut Buffer::default()).unwrap()
        })
        .collect();
    kills.sort_unstable();
    assert_eq!(kills, [0, 1]);
}

#[test]
fn on_version_2_the_ancestors_count_the_kills_of_a_folder_that_vanished() {
    let capture = Capture::own("v2-systemd");
    let node = capture.node();
    let container = capture.container("burstable", "target");
    let pod = found(&capture, &container);
    let path = path(&pod, &container.id);
    let accounts = Accounts::open(&node.tree, &path).unwrap();
    let mut buffer = Buffer::default();
    let (kills, folder) = accounts.ancestors_oom_kills(&mut buffer).unwrap();
    assert_eq!((kills, folder.starts_with("kubepods-burstable-pod31b4f04a")), (0, true));
    let events = node.tree.lookup().join(path.parent().unwrap()).join("memory.events");
    let text = fs::read_to_string(&events).unwrap();
    fs::write(&events, text.replace("oom_kill 0", "oom_kill 2")).unwrap();
    assert_eq!(accounts.ancestors_oom_kills(&mut buffer).unwrap().0, 2);
}

#[test]
fn waiting_and_switches_are_read_of_the_captured_tasks() {
    let capture = Capture::of("v2-systemd");
    let node = capture.node();
    let container = capture.container("target-excl", "target");
    let mut pod = found(&capture, &container);
    let (mut buffer, mut notes) = (Buffer::default(), Notes::default());
    pod.sample(&mut buffer, &mut notes);
    let series = pod.finish(Some((&container.id, "target")), &mut buffer, &mut notes);
    assert_eq!(series.len(), 1);
    let own = &series[0];
    assert_eq!((own.name.as_str(), own.target), ("target", true));
    let stat = fs::read_to_string(capture.path("node/target-excl.target/schedstat")).unwrap();
    let wait: u64 = stat.split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!((own.run_wait.as_slice(), own.processes.as_slice()), ([wait].as_slice(), [1].as_slice()));
    assert_eq!(own.involuntary_switches.len(), 1);
    assert_eq!(node.proc.allowed_cpus(1489).unwrap().to_string(), "1");
}

fn path(pod: &Pod, id: &str) -> PathBuf {
    pod.containers.iter().find(|container| container.id == id).unwrap().path.clone()
}

fn figures(capture: &Capture, container: &ApiContainer) -> (Figures, Option<u64>) {
    let pod = found(capture, container);
    let mut accounts = Accounts::open(&capture.node().tree, &path(&pod, &container.id)).unwrap();
    let mut buffer = Buffer::default();
    (accounts.read(true, &mut buffer).unwrap(), accounts.memory_limit(&mut buffer))
}
