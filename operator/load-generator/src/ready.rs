//! Waiting for the first right answer.

use std::{
    io::{ErrorKind, Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    time::Duration,
};

use gaugeblock_measurement::{GeneratorPlan, generator::Ready};

use crate::{
    clock::{self, MILLISECOND, SECOND},
    response::{Fed, Parser},
    watch::{Halt, Watch},
};

/// Time between two attempts. The error of the start-up time is about half of it (measured with
/// 5 ms: 2.2 ms at the median, 4.8 ms at the 95th percentile).
const POLL: u64 = 5 * MILLISECOND;
/// Time for connecting: a SYN to an address that does not answer yet is resent only after a second,
/// so a longer attempt would be late by that much.
const CONNECT: Duration = Duration::from_millis(50);
/// Time for one answer: a first answer may be slow, and giving it up too early would never see it.
const ANSWER: u64 = SECOND;

/// Why there was no right answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReady {
    /// The time allowed is used up; the last thing that was wrong.
    Never(String),
    /// Everything has to end.
    Halted(Halt),
}

/// Asks until the target answers as it should.
pub fn wait(
    plan: &GeneratorPlan,
    target: SocketAddr,
    watch: &Watch,
    mut each: impl FnMut(u64),
) -> Result<Ready, NotReady> {
    let began = clock::monotonic();
    let until = began.saturating_add(plan.ready.time_out);
    let request = format!("GET {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", plan.ready.path, plan.host);
    let mut attempts = 0;
    let mut said = began;
    each(began);
    loop {
        let asked = clock::monotonic();
        watch.check(asked).map_err(NotReady::Halted)?;
        if asked >= said + SECOND {
            said = asked;
            each(asked);
        }
        attempts += 1;
        let last = match attempt(target, &request, watch) {
            Ok(status) if status == plan.ready.status => {
                return Ok(Ready { at: clock::wall(), attempts });
            }
            Ok(status) => format!("status {status} instead of {}", plan.ready.status),
            Err(why) => why,
        };
        let now = clock::monotonic();
        if now >= until {
            return Err(NotReady::Never(last));
        }
        let next = (asked + POLL).clamp(now, until);
        watch.sleep(next, |_| {}).map_err(NotReady::Halted)?;
    }
}

/// One request on a connection of its own; its status, once the whole answer is there.
fn attempt(target: SocketAddr, request: &str, watch: &Watch) -> Result<u16, String> {
    let mut stream = TcpStream::connect_timeout(&target, CONNECT)
        .map_err(|error| format!("failed to connect to {target}: {error}"))?;
    let set = stream
        .set_nodelay(true)
        .and_then(|()| stream.set_read_timeout(Some(CONNECT)))
        .and_then(|()| stream.set_write_timeout(Some(CONNECT)));
    set.and_then(|()| stream.write_all(request.as_bytes()))
        .map_err(|error| format!("failed to send to {target}: {error}"))?;
    let until = clock::monotonic() + ANSWER;
    let mut parser = Parser::default();
    parser.begin(false);
    let mut buffer = [0; 4096];
    loop {
        let now = clock::monotonic();
        if now >= until || watch.check(now).is_err() {
            return Err(format!("{target} did not answer within a second"));
        }
        let ended = match stream.read(&mut buffer) {
            Ok(0) => parser.end().map(|()| true),
            Ok(count) => parser.feed(&buffer[..count], |_| {}).map(|fed| matches!(fed, Fed::Complete { .. })),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) =>
            {
                continue;
            }
            Err(error) => return Err(format!("failed to read from {target}: {error}")),
        };
        match ended {
            Ok(true) => return Ok(parser.status()),
            Ok(false) => {}
            Err(why) => return Err(format!("{target} gave no HTTP answer: {why}")),
        }
    }
}
