//! The sockets that listen in the target's network namespace, and the namespace's addresses, from its
//! own `/proc/PID/net`, which shows them to everybody (`proc_net.c`).
//!
//! Reading the table of sockets walks the whole machine's table of connections (a millisecond and
//! more), so it is not what a start is timed by: it tells whose a socket is, and finds a target that listens where
//! nobody can reach it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{
    kernel_file::{Buffer, KernelFile, read_once},
    process::{Proc, ProcessId},
};

/// State of a listening socket (`TCP_LISTEN` of `include/net/tcp_states.h`).
const LISTEN: &str = "0A";

/// The tables of listening sockets of one network namespace, kept open.
#[derive(Debug)]
pub struct Listeners {
    tables: Vec<KernelFile>,
    port: u16,
}

/// A listening socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// Address that it is bound to.
    pub address: IpAddr,
    /// Inode of the socket.
    pub inode: u64,
}

impl Listeners {
    /// Opens the tables of the namespace that a process lives in.
    pub fn open(proc: &Proc, process: ProcessId, port: u16) -> Self {
        let tables = ["net/tcp", "net/tcp6"]
            .iter()
            .filter_map(|table| KernelFile::open(&proc.path(process, table)).ok())
            .collect();
        Self { tables, port }
    }

    /// Whether there is a table to read.
    pub fn are_readable(&self) -> bool {
        !self.tables.is_empty()
    }

    /// The sockets that listen on the port (several, with `SO_REUSEPORT`). The kernel lists listening
    /// sockets first: the table is read no further than its first other socket.
    pub fn find(&self, buffer: &mut Buffer) -> Vec<Listener> {
        let mut found = Vec::new();
        for table in &self.tables {
            let text = table.read_until(buffer, |text, _| {
                text.lines().skip(1).any(|line| state(line).is_some_and(|state| state != LISTEN))
            });
            found.extend(text.unwrap_or_default().lines().skip(1).filter_map(|line| parse(line, self.port)));
        }
        found
    }
}

fn state(line: &str) -> Option<&str> {
    line.split_ascii_whitespace().nth(3)
}

fn parse(line: &str, port: u16) -> Option<Listener> {
    let mut fields = line.split_ascii_whitespace();
    let (address, bound) = fields.nth(1)?.split_once(':')?;
    if u16::from_str_radix(bound, 16).ok()? != port || fields.nth(1)? != LISTEN {
        return None;
    }
    Some(Listener { address: parse_address(address)?, inode: fields.nth(5)?.parse().ok()? })
}

/// An address in hexadecimal, each word in the machine's own order of bytes.
fn parse_address(text: &str) -> Option<IpAddr> {
    let word = |at: usize| u32::from_str_radix(text.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    match text.len() {
        8 => Some(Ipv4Addr::from(word(0)?).into()),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            Some(Ipv6Addr::from(<[u8; 16]>::try_from(words).ok()?).to_canonical())
        }
        _ => None,
    }
}

/// Addresses at which a process can be reached: a pod's own, at most one of each family, or, when
/// `local`, this machine's loopback.
pub fn addresses(proc: &Proc, process: ProcessId, local: bool) -> Vec<IpAddr> {
    if local {
        return vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    }
    let table = |name: &str| read_once(&proc.path(process, name)).unwrap_or_default();
    let version4 = local_addresses(&table("net/fib_trie")).into_iter().map(IpAddr::from).next();
    let version6 = global_addresses(&table("net/if_inet6")).into_iter().map(IpAddr::from).next();
    version4.into_iter().chain(version6).collect()
}

impl Listener {
    /// An address to reach it at, other than [`addresses`]: that which it is bound to.
    pub fn reachable(&self, local: bool) -> Option<IpAddr> {
        let elsewhere = !self.address.is_unspecified() && (local || !self.address.is_loopback());
        elsewhere.then_some(self.address)
    }
}

/// Local IPv4 addresses of a namespace, without loopback, from its `fib_trie`.
fn local_addresses(trie: &str) -> Vec<Ipv4Addr> {
    let mut found = Vec::new();
    let mut leaf = None;
    for line in trie.lines() {
        if let Some((_, address)) = line.split_once("|-- ") {
            leaf = address.trim().parse::<Ipv4Addr>().ok();
        } else if line.contains("/32 host LOCAL")
            && let Some(address) = leaf
            && !address.is_loopback()
            && !found.contains(&address)
        {
            found.push(address);
        }
    }
    found
}

/// Global IPv6 addresses of a namespace, from its `if_inet6`: address, interface, prefix, scope (0 is
/// global), flags, name.
fn global_addresses(table: &str) -> Vec<Ipv6Addr> {
    table
        .lines()
        .filter_map(|line| {
            let fields: Vec<&str> = line.split_ascii_whitespace().collect();
            (*fields.get(3)? == "00").then_some(())?;
            Some(Ipv6Addr::from(u128::from_str_radix(fields[0], 16).ok()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 65532 0 4711 1 0000000000000000 100 0 0 10 0";

    #[test]
    fn a_listening_socket_is_found_by_its_port() {
        let socket = parse(LINE, 8080).unwrap();
        assert_eq!((socket.address, socket.inode), (Ipv4Addr::UNSPECIFIED.into(), 4711));
        assert_eq!(parse(LINE, 8081), None);
        assert_eq!(parse(&LINE.replace(" 0A ", " 01 "), 8080), None);
    }

    #[test]
    fn addresses_are_read_in_the_machines_order() {
        if cfg!(target_endian = "little") {
            assert_eq!(parse_address("0100007F").unwrap(), IpAddr::from(Ipv4Addr::LOCALHOST));
            assert_eq!(parse_address("00000000000000000000000001000000").unwrap(), IpAddr::from(Ipv6Addr::LOCALHOST));
        }
    }

    #[test]
    fn the_pods_address_is_the_one_that_is_not_loopback() {
        let trie = "Local:\n  +-- 0.0.0.0/0 2 0 2\n     |-- 127.0.0.1\n        /32 host LOCAL\n     |-- 198.18.2.7\n        /32 host LOCAL\n     |-- 198.18.2.255\n        /32 link BROADCAST\n";
        assert_eq!(local_addresses(trie), [Ipv4Addr::new(198, 18, 2, 7)]);
        let table =
            "00000000000000000000000000000001 01 80 10 80 lo\nfd000000000000000000000000000007 02 40 00 80 eth0\n";
        assert_eq!(global_addresses(table), ["fd00::7".parse::<Ipv6Addr>().unwrap()]);
    }
}
