//! A target of known use: this test program itself, run again with a task to do.
//!
//! Each test program that starts children holds the test [`children_do_their_task`][do_task], in
//! which they end up.

use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpListener,
    os::unix::process::CommandExt as _,
    process::{Child, ChildStdout, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use gaugeblock_measurement::UnixNanos;

const VARIABLE: &str = "SAMPLER_TEST_TASK";

/// Does the task, if this process is a child, and then ends.
pub fn do_task() {
    let Ok(task) = std::env::var(VARIABLE) else { return };
    let words: Vec<&str> = task.split(' ').collect();
    let number = |at: usize| words[at].parse::<u64>().unwrap();
    match words[0] {
        "spin" => spin(number(1), number(2)),
        "burn" => burn(Duration::from_millis(number(1))),
        "breed" => breed(number(1), number(2)),
        "idle" => idle(number(1)),
        "parent" => parent(&words[1..].join(" ")),
        "hold" => hold(number(1)),
        "workers" => workers(number(1), number(2)),
        "prefork" => prefork(number(1), number(2), number(3)),
        "listen" => listen(number(1), number(2) as u16, words.get(3).unwrap_or(&"127.0.0.1")),
        "cache" => cache(number(1), words[2]),
        "gorge" => gorge(number(1)),
        "devour" => drop(devour(number(1))),
        other => panic!("no task {other}"),
    }
    std::process::exit(0);
}

/// A child at its task.
pub struct Task {
    pub child: Child,
    out: BufReader<ChildStdout>,
}

/// The command that does a task.
pub fn command(task: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "children_do_their_task", "--nocapture", "--test-threads=1"])
        .env(VARIABLE, task)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

impl Task {
    pub fn start(task: &str) -> Self {
        Self::of(&mut command(task))
    }

    /// Starts it inside cgroups: it joins them before it becomes the task's program, as under runc.
    #[allow(unsafe_code)]
    pub fn start_in(task: &str, lists: Vec<std::path::PathBuf>) -> Self {
        let mut command = command(task);
        let join = move || lists.iter().try_for_each(|list| std::fs::write(list, "0"));
        // SAFETY: the child of a fork only opens, writes and closes files.
        unsafe { command.pre_exec(join) };
        Self::of(&mut command)
    }

    fn of(command: &mut Command) -> Self {
        let mut child = command.spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Self { child, out }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the child's next mark: its words.
    pub fn mark(&mut self) -> Vec<i64> {
        let mut line = String::new();
        loop {
            line.clear();
            assert!(self.out.read_line(&mut line).unwrap() > 0, "the child ended without a mark");
            if let Some((_, words)) = line.split_once("MARK ") {
                return words.split_ascii_whitespace().map(|word| word.parse().unwrap()).collect();
            }
        }
    }

    /// Tells it to go on.
    pub fn go_on(&mut self) {
        self.child.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    }

    /// Waits until it ends by itself; answers whether it ended well.
    pub fn end(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    /// Ends it and waits for its end.
    pub fn kill(mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The wall clock.
pub fn now() -> UnixNanos {
    gaugeblock_sampler::clock::now()
}

fn mark(words: &[i64]) {
    let words: Vec<String> = words.iter().map(i64::to_string).collect();
    println!("MARK {}", words.join(" "));
    std::io::stdout().flush().unwrap();
}

fn wait() {
    std::io::stdin().read_exact(&mut [0]).unwrap();
}

fn own_cpu() -> i64 {
    gaugeblock_sampler::process_clock::cpu_time(std::process::id() as i32).unwrap() as i64
}

fn burn(span: Duration) {
    let end = Instant::now() + span;
    let mut state = 1u64;
    while Instant::now() < end {
        for _ in 0..1000 {
            state = std::hint::black_box(state.wrapping_mul(3).wrapping_add(1));
        }
    }
}

/// Idles, spins in some threads, idles, with a mark of the wall clock and its own CPU time in each pause.
fn spin(milliseconds: u64, threads: u64) {
    let pause = Duration::from_millis(400);
    sleep(pause);
    mark(&[now().0, own_cpu()]);
    let spinners: Vec<_> =
        (0..threads).map(|_| std::thread::spawn(move || burn(Duration::from_millis(milliseconds)))).collect();
    for spinner in spinners {
        spinner.join().unwrap();
    }
    sleep(pause);
    mark(&[now().0, own_cpu()]);
    sleep(pause);
}

/// Starts one short-lived process after another.
#[allow(unsafe_code)]
fn breed(count: u64, milliseconds: u64) {
    let pause = Duration::from_millis(400);
    let children_cpu = || {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the place is valid, and getrusage fills it.
        let usage = unsafe {
            libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr());
            usage.assume_init()
        };
        let nanos = |time: libc::timeval| time.tv_sec * 1_000_000_000 + time.tv_usec * 1_000;
        nanos(usage.ru_utime) + nanos(usage.ru_stime)
    };
    sleep(pause);
    mark(&[now().0, own_cpu() + children_cpu()]);
    for _ in 0..count {
        command(&format!("burn {milliseconds}")).stdout(Stdio::null()).status().unwrap();
    }
    sleep(pause);
    mark(&[now().0, own_cpu() + children_cpu()]);
    sleep(pause);
}

/// Leaves its task to a process of its own, which ends with it.
#[allow(unsafe_code)]
fn parent(task: &str) {
    let mut command = command(task);
    // SAFETY: the child of a fork only makes one system call.
    unsafe {
        command.stdout(Stdio::inherit()).pre_exec(|| {
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    command.status().unwrap();
}

/// Does as good as nothing in some threads.
fn idle(threads: u64) {
    for _ in 0..threads {
        std::thread::spawn(|| {
            loop {
                sleep(Duration::from_millis(20));
            }
        });
    }
    wait();
}

fn devour(mebibytes: u64) -> Vec<u8> {
    let mut memory = vec![0u8; (mebibytes << 20) as usize];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::hint::black_box(memory)
}

/// Idles, takes memory, and holds it until told to end.
fn hold(mebibytes: u64) {
    sleep(Duration::from_millis(300));
    mark(&[now().0]);
    let memory = devour(mebibytes);
    mark(&[now().0]);
    wait();
    drop(memory);
}

/// Idles, starts processes that each hold memory, and waits until told to end.
fn workers(count: u64, mebibytes: u64) {
    sleep(Duration::from_millis(300));
    mark(&[now().0]);
    let mut workers: Vec<Task> = (0..count).map(|_| Task::start(&format!("hold {mebibytes}"))).collect();
    for worker in &mut workers {
        worker.mark();
        worker.mark();
    }
    mark(&[now().0]);
    wait();
}

/// Idles, takes memory, forks workers that each take some of their own, and waits until told to end.
#[allow(unsafe_code)]
fn prefork(count: u64, shared: u64, own: u64) {
    sleep(Duration::from_millis(300));
    mark(&[now().0]);
    let memory = devour(shared);
    let mut workers = Vec::new();
    for _ in 0..count {
        // SAFETY: the child only maps and touches memory and sleeps; no other thread holds a lock that it needs.
        match unsafe { libc::fork() } {
            0 => {
                // SAFETY: as above; an anonymous mapping of its own.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    let length = (own << 20) as usize;
                    let place = libc::mmap(
                        std::ptr::null_mut(),
                        length,
                        libc::PROT_READ | libc::PROT_WRITE,
                        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                        -1,
                        0,
                    );
                    libc::memset(place, 1, length);
                    loop {
                        libc::pause();
                    }
                }
            }
            child => workers.push(child),
        }
    }
    sleep(Duration::from_millis(300));
    mark(&[now().0]);
    wait();
    for worker in workers {
        // SAFETY: a child of this process that has not been waited for.
        unsafe {
            libc::kill(worker, libc::SIGKILL);
            libc::waitpid(worker, std::ptr::null_mut(), 0);
        }
    }
    drop(memory);
}

/// Listens after a delay, and tells when; answers every request.
fn listen(milliseconds: u64, port: u16, address: &str) {
    sleep(Duration::from_millis(milliseconds));
    let listener = TcpListener::bind((address, port)).unwrap();
    let since = now();
    std::thread::spawn(move || mark(&[since.0]));
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let _ = stream.read(&mut [0; 1024]);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    }
}

/// Idles, writes a file and reads it, and holds until told to end: page cache, not memory of its own.
fn cache(mebibytes: u64, path: &str) {
    sleep(Duration::from_millis(300));
    mark(&[now().0]);
    let block = vec![1u8; 1 << 20];
    let mut file = std::fs::File::create(path).unwrap();
    (0..mebibytes).for_each(|_| file.write_all(&block).unwrap());
    file.sync_all().unwrap();
    let _ = std::io::copy(&mut std::fs::File::open(path).unwrap(), &mut std::io::sink()).unwrap();
    mark(&[now().0]);
    wait();
}

/// Has a child of its own take more memory than there is, survives it, and waits until told to end.
fn gorge(mebibytes: u64) {
    sleep(Duration::from_millis(300));
    let status = command(&format!("devour {mebibytes}")).stdout(Stdio::null()).status().unwrap();
    mark(&[now().0, i64::from(status.success())]);
    wait();
}
