//! The test cluster keeps what it promises: nodes, exclusive CPUs as the kernel sees them, its PostgreSQL image.

#![allow(clippy::unwrap_used, clippy::expect_used)] // A test fails by panicking.

use std::time::Duration;

use gaugeblock_tests::cluster::layout::Node;
use gaugeblock_tests::cluster::{Cluster, Options};
use gaugeblock_tests::images;
use gaugeblock_tests::wait;
use serde_json::Value;

const DEADLINE: Duration = Duration::from_mins(1);

fn cluster() -> Option<&'static Cluster> {
    Cluster::shared(&Options {
        nodes: true,
        images: images::build_here().expect("images can be built"),
        ..Options::default()
    })
}

/// A pod on the bench node with the given container fields (YAML, flow style) and pod fields.
fn bench_pod(name: &str, container: &str, pod: &str) -> String {
    format!(
        "apiVersion: v1\n\
         kind: Pod\n\
         metadata: {{name: {name}}}\n\
         spec:\n  \
           restartPolicy: Never\n  \
           dnsPolicy: Default\n  \
           terminationGracePeriodSeconds: 1\n  \
           nodeSelector: {{gaugeblock.dev/pool: bench}}\n  \
           tolerations: [{{key: gaugeblock.dev/dedicated, operator: Exists}}]\n\
         {pod}  containers: [{{name: main, imagePullPolicy: Never, {container}}}]\n"
    )
}

/// A namespace that is removed at the end of a test, however it ends.
struct Place<'cluster> {
    cluster: &'cluster Cluster,
    name: &'static str,
}

impl<'cluster> Place<'cluster> {
    fn new(cluster: &'cluster Cluster, name: &'static str) -> Self {
        cluster.new_namespace(name).unwrap();
        Self { cluster, name }
    }

    fn create(&self, manifest: &str) {
        self.cluster.feed(&["create", "--namespace", self.name, "--filename=-"], manifest).unwrap();
    }

    fn ready(&self, pod: &str) -> Value {
        self.cluster.wait_pod_ready(self.name, pod, DEADLINE).unwrap()
    }

    fn execute(&self, pod: &str, words: &[&str]) -> Result<String, anyhow::Error> {
        let mut all = vec!["exec", "--namespace", self.name, pod, "--"];
        all.extend(words);
        self.cluster.kubectl_text(&all)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let _ = self.cluster.abandon_namespace(self.name);
    }
}

const SLEEP: &str = "image: 'gaugeblock.local/busybox:1', args: [sleep, '600']";

#[test]
fn both_nodes_are_ready_and_the_bench_node_is_tainted() {
    let Some(cluster) = cluster() else { return };
    if cluster.is_foreign() {
        return;
    }
    for node in Node::LOCAL {
        assert!(cluster.is_ready(node).unwrap(), "{}", node.name());
    }
    let bench = cluster.get(&["node", "node-b"]).unwrap();
    assert_eq!(bench["metadata"]["labels"]["gaugeblock.dev/pool"], "bench");
    assert_eq!(bench["spec"]["taints"][0]["key"], "gaugeblock.dev/dedicated");
    assert_eq!(bench["spec"]["taints"][0]["effect"], "NoSchedule");
}

#[test]
fn a_guaranteed_pod_of_one_cpu_has_it_for_itself_and_one_of_1500m_has_not() {
    let Some(cluster) = cluster() else { return };
    if cluster.is_foreign() {
        return;
    }
    let _alone = cluster.bench_node_alone();
    let place = Place::new(cluster, "smoke-cpus");
    let asking = |cpu: &str| format!("{SLEEP}, resources: {{limits: {{cpu: {cpu}, memory: 64Mi}}}}");
    place.create(&bench_pod("exclusive", &asking("'1'"), ""));
    let pod = place.ready("exclusive");
    let exclusive = cluster.container_cpus(&pod, "main").unwrap();
    assert_eq!(exclusive.len(), 1, "the CPU set of the container is {exclusive:?}");
    assert_ne!(exclusive, [0], "the first CPU is the system's");

    // Nobody else on the node may use that CPU.
    place.create(&bench_pod("shared", &asking("500m"), ""));
    let shared = cluster.container_cpus(&place.ready("shared"), "main").unwrap();
    assert!(!shared.contains(&exclusive[0]), "{shared:?} overlaps {exclusive:?}");

    cluster.kubectl_text(&["delete", "pod", "exclusive", "shared", "--namespace", place.name]).unwrap();
    place.create(&bench_pod("fraction", &asking("1500m"), ""));
    let fraction = cluster.container_cpus(&place.ready("fraction"), "main").unwrap();
    assert!(fraction.len() > 1, "no CPU is exclusive, but the set is {fraction:?}");
}

#[test]
fn the_machine_reaches_pods_on_both_nodes() {
    let Some(cluster) = cluster() else { return };
    if cluster.is_foreign() {
        return;
    }
    let place = Place::new(cluster, "smoke-network");
    let serve = "image: 'gaugeblock.local/busybox:1', args: [sh, -c, \
                 'while :; do echo hello | nc -l -p 8080; done']";
    place.create(&bench_pod("bench", serve, ""));
    let elsewhere = bench_pod("system", serve, "").replace("pool: bench", "pool: system");
    place.create(&elsewhere);
    for name in ["bench", "system"] {
        let pod = place.ready(name);
        let address = pod["status"]["podIP"].as_str().unwrap().to_owned();
        let said = wait::until("an answer of the pod", Duration::from_secs(10), || {
            let mut stream = std::net::TcpStream::connect((address.as_str(), 8080))?;
            let mut text = String::new();
            std::io::Read::read_to_string(&mut stream, &mut text)?;
            Ok(Some(text))
        });
        assert_eq!(said.unwrap(), "hello\n");
    }
}

#[test]
fn the_postgres_image_honours_the_contract_of_the_official_one() {
    let Some(cluster) = cluster() else { return };
    let place = Place::new(cluster, "smoke-postgres");
    place.create(
        "apiVersion: v1\n\
         kind: ConfigMap\n\
         metadata: {name: init}\n\
         data:\n  \
           b.sql: INSERT INTO things VALUES (42);\n  \
           a.sql: CREATE TABLE things (id int);\n  \
           c.sh: psql -c 'INSERT INTO things VALUES (43)'\n",
    );
    // As hard as `restricted` can make it: any user, a read-only root, one writable folder.
    let pod = "  securityContext: {runAsUser: 12345, runAsGroup: 12345, fsGroup: 12345, runAsNonRoot: true}\n  \
               volumes: [{name: data, emptyDir: {}}, {name: init, configMap: {name: init}}]\n";
    let container = "image: 'gaugeblock.local/postgres:15', args: ['-c', 'work_mem=7MB'], \
        securityContext: {readOnlyRootFilesystem: true, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}, \
        env: [{name: POSTGRES_USER, value: app}, {name: POSTGRES_PASSWORD, value: 'se''cret'}, {name: POSTGRES_DB, value: 'shop-1'}, \
              {name: PGDATA, value: /var/lib/postgresql/data/pgdata}], \
        volumeMounts: [{name: data, mountPath: /var/lib/postgresql/data}, {name: init, mountPath: /docker-entrypoint-initdb.d}], \
        readinessProbe: {periodSeconds: 1, exec: {command: [pg_isready, '--host=127.0.0.1', '--username=app']}}";
    place.create(&bench_pod("postgres", container, pod));
    place.ready("postgres");

    let ask = |password: &str, sql: &str| {
        let url = format!("postgresql://app:{password}@127.0.0.1/shop-1");
        place.execute("postgres", &["psql", "-tA", &url, "-c", sql])
    };
    assert_eq!(ask("se'cret", "SELECT sum(id) FROM things").unwrap(), "85\n", "the init files ran in order");
    assert_eq!(ask("se'cret", "SHOW work_mem").unwrap(), "7MB\n", "arguments reach the server");
    let refused = ask("wrong", "SELECT 1").unwrap_err().to_string();
    assert!(refused.contains("password authentication failed"), "{refused}");

    let nothing = "image: 'gaugeblock.local/postgres:15'";
    place.create(&bench_pod("no-password", nothing, ""));
    let object = ["pod", "no-password", "--namespace", place.name];
    cluster.wait_for(&object, DEADLINE, |pod| pod["status"]["phase"] == "Failed").unwrap();
    let said = cluster.kubectl_text(&["logs", "no-password", "--namespace", place.name]).unwrap();
    assert!(said.contains("POSTGRES_PASSWORD"), "{said}");
}
