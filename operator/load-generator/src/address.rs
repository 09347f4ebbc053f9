//! Addresses of target and dependencies: IP addresses, or names that `/etc/hosts` knows.
//!
//! The resolver of a static C library cannot load its modules, and a name server has no place in a
//! measurement: names resolve through the pod's host aliases, which stand in `/etc/hosts`.

use std::net::{IpAddr, SocketAddr};

/// A name or address that leads nowhere.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No `:port` at the end.
    #[error("{0:?} is not an address with a port, such as 198.18.2.7:8080 or [::1]:8080")]
    NoPort(String),
    /// Neither an address nor in `/etc/hosts`.
    #[error("{0:?} is neither an IP address nor a name in /etc/hosts")]
    Unknown(String),
}

/// The address of `host:port`.
pub fn socket_address(text: &str) -> Result<SocketAddr, AddressError> {
    if let Ok(address) = text.parse() {
        return Ok(address);
    }
    let no_port = || AddressError::NoPort(text.to_owned());
    let (host, port) = text.rsplit_once(':').ok_or_else(no_port)?;
    let port = port.parse().map_err(|_| no_port())?;
    Ok(SocketAddr::new(ip_address(host)?, port))
}

/// The address of a host.
pub fn ip_address(host: &str) -> Result<IpAddr, AddressError> {
    let hosts = std::fs::read_to_string("/etc/hosts").unwrap_or_default();
    in_hosts(host, &hosts).ok_or_else(|| AddressError::Unknown(host.to_owned()))
}

fn in_hosts(host: &str, hosts: &str) -> Option<IpAddr> {
    if let Ok(address) = host.parse() {
        return Some(address);
    }
    hosts.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_ascii_whitespace();
        let address = words.next()?.parse().ok()?;
        words.any(|name| name.eq_ignore_ascii_case(host)).then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_need_no_file_and_names_need_one() {
        let hosts = "# comment\n127.0.0.1\tlocalhost\n198.18.0.9 db db.local # the database\n";
        for (host, expected) in
            [("10.0.0.1", Some("10.0.0.1")), ("::1", Some("::1")), ("DB.local", Some("198.18.0.9")), ("database", None)]
        {
            assert_eq!(in_hosts(host, hosts), expected.map(|text| text.parse().unwrap()), "{host}");
        }
    }

    #[test]
    fn a_target_has_a_port() {
        assert_eq!(socket_address("[::1]:80"), Ok("[::1]:80".parse().unwrap()));
        assert_eq!(socket_address("localhost"), Err(AddressError::NoPort("localhost".into())));
        assert_eq!(socket_address("no.such.host:1"), Err(AddressError::Unknown("no.such.host".into())));
    }
}
