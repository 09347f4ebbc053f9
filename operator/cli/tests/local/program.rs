//! The program under test, manifests for it, and what is left of it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;

/// The program.
pub fn gaugeblock() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gaugeblock"));
    command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").stdin(Stdio::null());
    command
}

/// Its output as text: standard output, then standard error.
pub fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&output.stdout), text(&output.stderr))
}

/// A folder with a manifest.
pub struct Bench {
    folder: TempDir,
}

impl Bench {
    /// With this manifest.
    pub fn with(manifest: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("run.yaml"), manifest).unwrap();
        Self { folder }
    }

    /// The command that runs the manifest.
    pub fn run(&self) -> Command {
        let mut command = gaugeblock();
        command.current_dir(self.folder.path()).args(["run", "run.yaml", "--output-dir", "out"]);
        command
    }

    /// Starts the run.
    pub fn start(&self) -> Child {
        self.run().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// A file that the run leaves behind.
    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("out").join(name)
    }

    /// Waits for a file of the folder of the manifest.
    pub fn wait_for(&self, name: &str) -> String {
        let path = self.folder.path().join(name);
        eventually(&format!("{} to appear", path.display()), || {
            fs::read_to_string(&path).ok().filter(|text| !text.is_empty())
        })
    }

    /// Path of the folder of the manifest.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Waits for something, for half a minute.
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(30), "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Processes whose environment holds this text, with their command lines.
pub fn processes_with(mark: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let path = entry.path();
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        if String::from_utf8_lossy(&environment).contains(mark) {
            let command = fs::read(path.join("cmdline")).unwrap_or_default();
            found.push(format!("{}: {}", path.display(), String::from_utf8_lossy(&command).replace('\0', " ")));
        }
    }
    found
}

/// A manifest whose one arm is a shell script that never answers, and says in the file `started`
/// that it runs.
pub fn that_never_answers(script: &str, more: &str) -> String {
    format!(
        "\
apiVersion: gaugeblock.dev/v1alpha1
kind: BenchmarkRun
metadata: {{name: never}}
spec:
  purpose: Study
  targets:
    - name: only
      image: none
      local:
        command: [sh, -c, '{script}']
  scenarios:
    - name: any
      http:
        requests: [{{name: get, path: /}}]
        load: {{open: {{rate: 10}}}}
        warmUp: 0s
        measure: 1s
{more}"
    )
}
