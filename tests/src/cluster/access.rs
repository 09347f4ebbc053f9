//! What tests do with a running cluster: ask, apply, wait, look into the kernel, break things.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;
use serde_json::Value;

use super::control_plane::Component;
use super::layout::Node;
use super::process::Process;
use super::{Cluster, Kind, cgroups, network, node, start};
use crate::images::Image;
use crate::{command, wait};

impl Cluster {
    /// The administrator's kubeconfig; it works from anywhere on this machine.
    pub fn kubeconfig(&self) -> PathBuf {
        match &self.kind {
            Kind::Ours { layout, .. } => layout.kubeconfig("admin"),
            Kind::Foreign { kubeconfig } => kubeconfig.clone(),
        }
    }

    /// A `kubectl` that is about to run against this cluster.
    pub fn kubectl_command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = match &self.kind {
            Kind::Ours { layout, binaries, .. } => {
                let mut command = Command::new(binaries.path("kubectl"));
                // Not in the user's home, where it would speak of an earlier cluster at the same address.
                command.arg("--cache-dir").arg(layout.root().join("kubectl-cache"));
                command
            }
            Kind::Foreign { .. } => Command::new("kubectl"),
        };
        command.arg("--kubeconfig").arg(self.kubeconfig()).args(arguments);
        command
    }

    /// Runs `kubectl`, whatever its exit status.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<Output> {
        command::output(&mut self.kubectl_command(arguments))
    }

    /// Runs `kubectl` and returns what it printed.
    ///
    /// # Errors
    /// When it fails, with its words.
    pub fn kubectl_text(&self, arguments: &[&str]) -> Result<String> {
        command::run(&mut self.kubectl_command(arguments))
    }

    /// `kubectl get ARGUMENTS --output=json`.
    ///
    /// # Errors
    /// When it fails, for instance because there is no such object.
    pub fn get(&self, arguments: &[&str]) -> Result<Value> {
        let mut whole = vec!["get", "--output=json"];
        whole.extend(arguments);
        serde_json::from_str(&self.kubectl_text(&whole)?).context("kubectl printed no JSON")
    }

    /// `kubectl apply --server-side` of one or more documents.
    ///
    /// # Errors
    /// When the API server refuses, in its words; a warning is no error.
    pub fn apply(&self, manifest: &str) -> Result<String> {
        self.feed(&["apply", "--server-side", "--filename=-"], manifest)
    }

    /// Runs `kubectl` with a manifest on its standard input.
    ///
    /// # Errors
    /// When it fails.
    pub fn feed(&self, arguments: &[&str], manifest: &str) -> Result<String> {
        let mut kubectl = self.kubectl_command(arguments);
        let output = command::output_with_input(&mut kubectl, manifest.as_bytes())?;
        if !output.status.success() {
            bail!("{}", command::failure(&kubectl, &output));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Gets an object until `condition` holds, and returns it.
    ///
    /// # Errors
    /// After the deadline.
    pub fn wait_for(&self, object: &[&str], deadline: Duration, condition: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut last = Value::Null;
        let found = wait::until(&object.join(" "), deadline, || {
            last = self.get(object)?;
            Ok(condition(&last).then(|| last.clone()))
        });
        found.with_context(|| format!("its status was {}", last["status"]))
    }

    /// Waits until the pod has the condition Ready.
    ///
    /// # Errors
    /// After the deadline, and as soon as the pod has ended, with the end of its log.
    pub fn wait_pod_ready(&self, namespace: &str, pod: &str, deadline: Duration) -> Result<Value> {
        let object = ["pod", pod, "--namespace", namespace];
        let ended = |pod: &Value| matches!(pod["status"]["phase"].as_str(), Some("Failed" | "Succeeded"));
        let ready = |pod: &Value| has_condition(pod, "Ready");
        let found = self.wait_for(&object, deadline, |pod| ready(pod) || ended(pod))?;
        if ended(&found) {
            let log = self.kubectl(&["logs", pod, "--namespace", namespace, "--all-containers", "--tail=20"])?;
            bail!("pod {pod} has ended: {}\n{}", found["status"], String::from_utf8_lossy(&log.stdout));
        }
        Ok(found)
    }

    /// Whether a node is Ready.
    ///
    /// # Errors
    /// When the API server does not say.
    pub fn is_ready(&self, node: Node) -> Result<bool> {
        Ok(has_condition(&self.get(&["node", node.name()])?, "Ready"))
    }

    /// Waits until a node is Ready.
    ///
    /// # Errors
    /// After the deadline.
    pub fn wait_ready(&self, node: Node, deadline: Duration) -> Result<()> {
        let ready = wait::until(node.name(), deadline, || Ok(self.is_ready(node)?.then_some(())));
        ready.with_context(|| format!("{} is not Ready", node.name()))
    }

    /// A namespace that is new; what it is for must be a valid name. Deleted with [`Self::delete_namespace`].
    ///
    /// # Errors
    /// When one of that name cannot be removed or made.
    pub fn new_namespace(&self, name: &str) -> Result<()> {
        self.delete_namespace(name)?;
        self.kubectl_text(&["create", "namespace", name])?;
        // Pods are refused until the namespace has its service account; an API server alone makes none.
        if self.get(&["nodes"])?["items"].as_array().is_some_and(|nodes| !nodes.is_empty()) {
            let account = ["serviceaccount", "default", "--namespace", name];
            self.wait_for(&account, Duration::from_secs(20), |_| true)?;
        }
        Ok(())
    }

    /// Deletes a namespace with everything in it, and waits until it is gone.
    ///
    /// # Errors
    /// When it is still there after a minute.
    pub fn delete_namespace(&self, name: &str) -> Result<()> {
        self.kubectl_text(&["delete", "namespace", name, "--ignore-not-found", "--timeout=60s"]).map(drop)
    }

    /// Begins to delete a namespace, for the end of a test that need not wait for it.
    ///
    /// # Errors
    /// When the API server refuses.
    pub fn abandon_namespace(&self, name: &str) -> Result<()> {
        self.kubectl_text(&["delete", "namespace", name, "--ignore-not-found", "--wait=false"]).map(drop)
    }

    /// The bench node for one test of this process at a time: it has one exclusive CPU, and what is
    /// measured must be alone.
    pub fn bench_node_alone(&self) -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives the nodes those images whose content they do not have yet; on a foreign cluster, nothing.
    ///
    /// # Errors
    /// When an import fails.
    pub fn ensure_images(&self, images: &[Image]) -> Result<()> {
        if self.is_foreign() || images.is_empty() {
            return Ok(());
        }
        let (layout, _) = self.ours()?;
        std::thread::scope(|scope| {
            let imports: Vec<_> = Node::LOCAL
                .into_iter()
                .filter(|node| layout.containerd_socket(*node).exists())
                .map(|node| scope.spawn(move || self.import_missing(node, images)))
                .collect();
            imports.into_iter().try_for_each(|import| match import.join() {
                Ok(result) => result,
                Err(_) => bail!("an import of images panicked"),
            })
        })
    }

    fn import_missing(&self, node: Node, images: &[Image]) -> Result<()> {
        let list = command::run(self.ctr(node)?.args(["images", "list"]))?;
        let present: HashMap<&str, &str> = list
            .lines()
            .skip(1)
            .filter_map(|line| {
                let mut fields = line.split_whitespace();
                Some((fields.next()?, fields.nth(1)?))
            })
            .collect();
        for image in images.iter().filter(|image| image.wanted_on(node)) {
            if present.get(image.name.as_str()) != Some(&image.digest.as_str()) {
                self.import_image(node, &image.archive)?;
            }
        }
        Ok(())
    }

    /// Gives a node the images of an OCI archive.
    ///
    /// # Errors
    /// When containerd refuses it.
    pub fn import_image(&self, node: Node, archive: &Path) -> Result<()> {
        command::run(self.ctr(node)?.args(["images", "import"]).arg(archive)).map(drop)
    }

    /// containerd's own client, on a node, in the namespace of Kubernetes.
    ///
    /// # Errors
    /// When the node is not up.
    pub fn ctr(&self, node: Node) -> Result<Command> {
        let (layout, _) = self.ours()?;
        let mut command = node::inside(layout, node)?;
        command.arg("ctr").arg("--address").arg(layout.containerd_socket(node));
        command.args(["--namespace", "k8s.io"]);
        Ok(command)
    }

    /// Root of a node's control groups in a hierarchy of cgroup v1, `cpuset` or `memory` for instance.
    ///
    /// # Errors
    /// When the machine has no such hierarchy.
    pub fn node_cgroup_root(&self, node: Node, controller: &str) -> Result<PathBuf> {
        self.ours()?;
        let found = cgroups::hierarchies()?.into_iter().find(|path| path.ends_with(controller));
        Ok(found.with_context(|| format!("no hierarchy {controller}"))?.join(node.namespace()))
    }

    /// The control group of a running container, as the kernel has it.
    ///
    /// # Errors
    /// When the pod has no such container, or the kernel no such group.
    pub fn container_cgroup(&self, controller: &str, pod: &Value, container: &str) -> Result<PathBuf> {
        let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
        let Some(node) = Node::LOCAL.into_iter().find(|candidate| candidate.name() == node) else {
            bail!("the pod runs on {node:?}, which is no node of this machine");
        };
        let statuses = pod["status"]["containerStatuses"].as_array().into_iter().flatten();
        let id = statuses
            .filter(|status| status["name"] == container)
            .find_map(|status| status["containerID"].as_str()?.rsplit('/').next())
            .with_context(|| format!("no container {container} with an id"))?;
        cgroups::container(&self.node_cgroup_root(node, controller)?, id)
    }

    /// The CPUs on which the kernel lets a container run.
    ///
    /// # Errors
    /// As [`Self::container_cgroup`].
    pub fn container_cpus(&self, pod: &Value, container: &str) -> Result<Vec<usize>> {
        let path = self.container_cgroup("cpuset", pod, container)?.join("cpuset.cpus");
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        cgroups::parse_cpus(&text)
    }

    /// Kills a process of the control plane.
    ///
    /// # Errors
    /// When it does not end.
    pub fn kill(&self, component: Component) -> Result<()> {
        Process::remembered(self.ours()?.0, component.name())?.kill()
    }

    /// Starts a process of the control plane again.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start(&self, component: Component) -> Result<()> {
        let (layout, binaries) = self.ours()?;
        component.start(layout, binaries)?;
        if component == Component::ApiServer { start::api_server_ready(self) } else { Ok(()) }
    }

    /// Sends a signal to `kubelet`, `containerd` or `kube-proxy` of a node.
    ///
    /// # Errors
    /// When it was never started.
    pub fn signal(&self, node: Node, program: &str, signal: Signal) -> Result<()> {
        Process::remembered(self.ours()?.0, &node::process_name(program, node))?.signal(signal)
    }

    /// Starts a node's kubelet again.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_kubelet(&self, node: Node) -> Result<()> {
        let (layout, binaries) = self.ours()?;
        node::start_kubelet(layout, binaries, node)
    }

    /// Cuts node-b off the network, or plugs it in again.
    ///
    /// # Errors
    /// When `ip` fails.
    pub fn plug_in_bench_node(&self, plugged_in: bool) -> Result<()> {
        self.ours()?;
        network::plug_in_bench_node(plugged_in)
    }
}

/// Whether the object has that condition with status True.
pub fn has_condition(object: &Value, condition: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
    conditions.into_iter().any(|entry| entry["type"] == condition && entry["status"] == "True")
}
