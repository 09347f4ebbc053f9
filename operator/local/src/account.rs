//! The user that a Postgres server runs as: it refuses to run as root.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

use rustix::process::geteuid;

/// A user of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// Name.
    pub name: String,
    /// User ID.
    pub uid: u32,
    /// Group ID.
    pub gid: u32,
}

impl Account {
    /// The user to change to: none unless this process is root's; else `postgres`, or `nobody`
    /// where there is no such user.
    pub fn for_server() -> Option<Self> {
        if !geteuid().is_root() {
            return None;
        }
        // Read rather than asked for: a static C library cannot load the system's name services.
        let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let nobody = || Self { name: "nobody".to_owned(), uid: 65534, gid: 65534 };
        Some(find(&users, "postgres").or_else(|| find(&users, "nobody")).unwrap_or_else(nobody))
    }

    /// Whether this user can reach a folder: may pass through all that lead to it.
    pub fn reaches(&self, folder: &Path) -> bool {
        folder.ancestors().all(|folder| {
            fs::metadata(folder).is_ok_and(|metadata| {
                let mode = metadata.mode();
                let passes = if metadata.uid() == self.uid {
                    0o100
                } else if metadata.gid() == self.gid {
                    0o010
                } else {
                    0o001
                };
                mode & passes != 0
            })
        })
    }
}

/// Finds a user in the text of `/etc/passwd`.
fn find(users: &str, name: &str) -> Option<Account> {
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        if fields.next()? != name {
            return None;
        }
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        Some(Account { name: name.to_owned(), uid, gid })
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let users = "root:x:0:0:root:/root:/bin/bash\npostgres2:x:1:2::/:\npostgres:x:101:104:,,,:/:/bin/sh\n";
        let found = find(users, "postgres").unwrap();
        assert_eq!((found.uid, found.gid), (101, 104));
        assert_eq!(find(users, "nobody"), None);
    }

    #[test]
    fn a_private_folder_is_out_of_reach() {
        let folder = tempfile::tempdir().unwrap();
        let stranger = Account { name: "stranger".into(), uid: 54_321, gid: 54_321 };
        let mode = |mode| fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
        mode(0o755);
        assert!(stranger.reaches(folder.path()));
        mode(0o700);
        assert!(!stranger.reaches(folder.path()));
        assert!(stranger.reaches(Path::new("/")));
    }
}
