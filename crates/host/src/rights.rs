//! Privileges in a program's file: set-user-ID, set-group-ID, file capabilities.
//!
//! Such a program is started with `AT_SECURE`: the loader ignores most of its environment, and a tracer other than root makes
//! it lose the privileges. Source: `bprm_fill_uid` in `fs/exec.c`, `cap_bprm_creds_from_file` in `security/commoncap.c`.
//!
//! Not checked: `nosuid` mounts and `PR_SET_NO_NEW_PRIVS`, which take effect at the start.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const SET_USER_ID: u32 = 0o4000;
/// Without group execution, the bit once meant mandatory locking and grants nothing.
const SET_GROUP_ID: u32 = 0o2010;

/// The privileges in a program's file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedRights {
    /// The user it runs as (set-user-ID).
    pub user: Option<u32>,
    /// The group it runs as (set-group-ID).
    pub group: Option<u32>,
    /// It has file capabilities (`security.capability`).
    pub capabilities: bool,
}

impl AskedRights {
    /// Of the file at `program`; symbolic links are followed.
    ///
    /// # Errors
    /// The kernel's error when the file cannot be examined.
    pub fn of(program: &Path) -> io::Result<Self> {
        let metadata = std::fs::metadata(program)?;
        let has_capabilities = || {
            let size = rustix::fs::getxattr(program, c"security.capability", &mut [0_u8; 64]);
            size.is_ok_and(|size| size != 0)
        };
        Ok(Self { capabilities: has_capabilities(), ..Self::of_mode(metadata.mode(), metadata.uid(), metadata.gid()) })
    }

    /// By a file's mode and owner.
    pub fn of_mode(mode: u32, owner: u32, group: u32) -> Self {
        let has = |bits: u32| mode & bits == bits;
        Self { user: has(SET_USER_ID).then_some(owner), group: has(SET_GROUP_ID).then_some(group), capabilities: false }
    }

    /// Whether it has any, for any caller.
    pub fn any(self) -> bool {
        self.user.is_some() || self.group.is_some() || self.capabilities
    }

    /// Whether they exceed those of a given user and group.
    pub fn differ_from(self, user: u32, group: u32) -> bool {
        self.user.is_some_and(|asked| asked != user)
            || self.group.is_some_and(|asked| asked != group)
            || self.capabilities
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_group_needs_the_right_to_execute() {
        let of = |mode| AskedRights::of_mode(mode, 5, 6);
        assert_eq!(of(0o755), AskedRights::default());
        assert_eq!(of(0o4755), AskedRights { user: Some(5), ..AskedRights::default() });
        assert_eq!(of(0o2755), AskedRights { group: Some(6), ..AskedRights::default() });
        assert!(!of(0o2745).any());
        assert!(of(0o6755).differ_from(5, 7) && of(0o6755).differ_from(7, 6) && !of(0o6755).differ_from(5, 6));
        assert!(AskedRights { capabilities: true, ..AskedRights::default() }.differ_from(5, 6));
    }

    #[test]
    fn a_file_is_asked() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("program");
        std::fs::write(&path, "").unwrap();
        assert!(!AskedRights::of(&path).unwrap().any());
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).unwrap();
        let owner = std::fs::metadata(&path).unwrap().uid();
        assert_eq!(AskedRights::of(&path).unwrap().user, Some(owner));
        assert!(AskedRights::of(&directory.path().join("none")).is_err());
    }
}
