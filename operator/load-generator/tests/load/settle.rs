//! A real Postgres is settled and its counters are read; skipped, loudly, where there are no server
//! programs.

use std::{
    net::TcpListener,
    os::unix::{fs::chown, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Mutex,
    time::Duration,
};

use gaugeblock_load_generator::{Workload, run};
use gaugeblock_measurement::{GeneratorRecord, generator::GeneratorFailure, plan::Settle};
use postgres::{Client, NoTls};
use rustix::process::{Pid, Signal, kill_process};

use crate::{
    planned::{MILLISECOND, Planned, SECOND, alone, only, plan},
    target::{HELLO, plain, serving},
};

/// A throw-away server.
struct Server {
    child: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Server {
    fn start() -> Option<Self> {
        let programs = programs()?;
        // In /tmp, where an account of no rights may enter.
        let folder = tempfile::Builder::new().tempdir_in("/tmp").unwrap();
        let account = account();
        if let Some((uid, gid)) = account {
            chown(folder.path(), Some(uid), Some(gid)).unwrap();
        }
        let command = |name: &str| {
            let mut command = Command::new(programs.join(name));
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            command.current_dir(folder.path());
            if let Some((uid, gid)) = account {
                command.uid(uid).gid(gid);
            }
            command
        };
        let data = folder.path().join("data");
        let made = command("initdb").arg("-D").arg(&data).args(["-U", "test", "-A", "trust", "-N"]).status();
        assert!(made.unwrap().success(), "initdb failed");
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let child = command("postgres")
            .arg("-D")
            .arg(&data)
            .args(["-p", &port.to_string(), "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off"])
            .arg("-k")
            .arg(folder.path())
            .spawn()
            .unwrap();
        let server = Self { child, port, _folder: folder };
        for _ in 0..200 {
            if server.connect().is_ok() {
                return Some(server);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server did not start");
    }

    fn connect(&self) -> Result<Client, postgres::Error> {
        let text = format!("host=127.0.0.1 hostaddr=127.0.0.1 port={} user=test dbname=postgres", self.port);
        Client::connect(&text, NoTls)
    }

    fn settle(&self, database: &str) -> Settle {
        Settle::Postgres {
            dependency: "database".into(),
            host: "127.0.0.1".into(),
            port: self.port,
            user: "test".into(),
            database: database.into(),
            password_variable: "TEST_PASSWORD".into(),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Immediate shutdown: nothing is worth keeping.
        let _ = kill_process(Pid::from_child(&self.child), Signal::QUIT);
        let _ = self.child.wait();
    }
}

/// Folder of the server programs.
fn programs() -> Option<PathBuf> {
    let on_path = std::env::var_os("PATH")?;
    let mut folders: Vec<PathBuf> = std::env::split_paths(&on_path).collect();
    if let Ok(versions) = std::fs::read_dir("/usr/lib/postgresql") {
        folders.extend(versions.flatten().map(|version| version.path().join("bin")));
    }
    folders.into_iter().find(|folder| folder.join("initdb").exists() && folder.join("postgres").exists())
}

/// The server refuses to run as root: another account's user and group, when this is root.
fn account() -> Option<(u32, u32)> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let accounts = std::fs::read_to_string(Path::new("/etc/passwd")).unwrap();
    ["postgres:", "nobody:"].iter().find_map(|name| {
        let line = accounts.lines().find(|line| line.starts_with(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}

fn run_with(planned: &Planned, password: Option<&str>) -> GeneratorRecord {
    let workload = Workload::new(&planned.0).unwrap();
    let environment = |name: &str| password.filter(|_| name == "TEST_PASSWORD").map(str::to_owned);
    run(&workload, &environment, &mut |_| {}, &false.into()).unwrap()
}

#[test]
fn a_database_is_settled_and_counted() {
    let _alone = alone();
    let Some(server) = Server::start() else {
        eprintln!("SKIPPED: no Postgres server programs here (Debian: postgresql)");
        return;
    };
    let mut client = server.connect().unwrap();
    client.batch_execute("CREATE TABLE items (id serial, body text)").unwrap();
    // A target that writes one row of a known size per request.
    let client = Mutex::new(client);
    let target = serving(move |peer| {
        while peer.request().is_some() {
            let body = "x".repeat(1_000);
            let written = client.lock().unwrap().execute("INSERT INTO items (body) VALUES ($1)", &[&body]);
            if written.is_err() || !peer.say(HELLO) {
                return;
            }
        }
    });
    let mut planned = plan(target.address).open(200, 2).measuring(2 * SECOND).warming_up(1_200 * MILLISECOND);
    planned.0.scenarios[0].discard = 600 * MILLISECOND;
    planned.0.scenarios[0].settle = vec![server.settle("postgres")];
    let record = run_with(&planned, Some("word"));
    assert_eq!(record.failure, None);
    let scenario = &record.scenarios[0];
    let request = only(scenario);
    assert_eq!(request.correct + request.failures(), 400);
    assert!(request.correct >= 350, "{:?}", request.errors);
    let settled = &scenario.settled[0];
    assert_eq!(settled.dependency, "database");
    assert_eq!(settled.action, "VACUUM (ANALYZE); CHECKPOINT");
    assert!(settled.seconds > 0.0);
    let counted = &scenario.dependency_counters;
    let (requests, seconds) = (counted["requests"], counted["seconds"]);
    // From at most 250 ms before the window until the last of its answers.
    assert!((2.0..4.5).contains(&seconds), "{counted:?}");
    assert!(requests > 200.0 && (100.0..300.0).contains(&(requests / seconds)), "{counted:?}");
    let per_request = counted["wal_bytes"] / requests;
    // A row of 1,000 bytes with its headers and commit; full-page images after the checkpoint.
    assert!((1_000.0..4_000.0).contains(&per_request), "{counted:?}");
    assert!(counted["checkpoints"] < 0.5, "{counted:?}");
    // Reported at most a second late, at both ends.
    let rows = counted["rows_inserted"] / requests;
    assert!((0.3..1.7).contains(&rows), "{counted:?}");
}

#[test]
fn a_database_that_cannot_be_settled_is_told_in_its_own_words() {
    let _alone = alone();
    let target = plain();
    let failure = |settle: Settle, password: Option<&str>| {
        let mut planned = plan(target.address);
        planned.0.scenarios[0].settle = vec![settle];
        let record = run_with(&planned, password);
        assert!(record.scenarios.is_empty());
        match record.failure {
            Some(GeneratorFailure::SettleFailed { dependency, message }) => {
                assert_eq!(dependency, "database");
                message
            }
            other => panic!("{other:?}"),
        }
    };
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = socket.local_addr().unwrap().port();
    drop(socket);
    let nobody = Settle::Postgres {
        dependency: "database".into(),
        host: "127.0.0.1".into(),
        port,
        user: "test".into(),
        database: "postgres".into(),
        password_variable: "TEST_PASSWORD".into(),
    };
    let message = failure(nobody.clone(), None);
    assert!(message.contains("\"TEST_PASSWORD\""), "{message}");
    let message = failure(nobody, Some("hidden"));
    assert!(message.contains("refused") && !message.contains("hidden"), "{message}");
    let Some(server) = Server::start() else {
        eprintln!("SKIPPED: no Postgres server programs here (Debian: postgresql)");
        return;
    };
    let message = failure(server.settle("nowhere"), Some("word"));
    assert_eq!(message, "3D000: database \"nowhere\" does not exist");
}

#[test]
fn a_database_that_hangs_does_not_hold_up_the_generator() {
    let _alone = alone();
    let target = plain();
    // It listens and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut planned = plan(target.address).deadline(500 * MILLISECOND);
    planned.0.scenarios[0].settle = vec![Settle::Postgres {
        dependency: "database".into(),
        host: "127.0.0.1".into(),
        port: silent.local_addr().unwrap().port(),
        user: "test".into(),
        database: "postgres".into(),
        password_variable: "TEST_PASSWORD".into(),
    }];
    let record = run_with(&planned, Some("word"));
    assert_eq!(record.failure, Some(GeneratorFailure::DeadlineExceeded { scenario: "scenario".into() }));
    assert!(record.ended.seconds_since(record.started) < 1.5);
}
