//! What is mounted where, from `mountinfo` (`proc_pid_mountinfo(5)`).
//!
//! The kernel writes this table without asking any file system, so it can be read even when a mounted server does not respond.
//! A file system may be listed several times (bind mounts), and a later mount may hide an earlier one.
//!
//! Source: `show_mountinfo` in `fs/proc_namespace.c`.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Statx, StatxFlags, statx};

use crate::block_device::DeviceNumber;
use crate::process::ProcessFiles;
use crate::text::{decimal, without_octal_escapes};

/// The table of this process's mount namespace.
pub const TABLE: &str = "/proc/self/mountinfo";

/// One mount. Names are bytes as the user gave them, with octal escapes decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The mount's ID, as in `statx` (`STATX_MNT_ID`).
    pub id: u64,
    /// The file system's device. btrfs and file systems without a device have major number 0, and btrfs shows another number here
    /// than `stat` does.
    pub device: DeviceNumber,
    /// The directory of the file system that is mounted, or the file: `/` unless a part of it is bound.
    pub root: PathBuf,
    /// The mount point.
    pub place: PathBuf,
    /// Options of the mount, separated by commas.
    pub options: OsString,
    /// The file system's type, such as `ext4` or `fuse.sshfs`.
    pub file_system: OsString,
    /// The source: a device's path, a server's name, or any text.
    pub source: PathBuf,
    /// Options of the file system, separated by commas.
    pub file_system_options: OsString,
}

impl Mount {
    /// A line: `id parent major:minor root place options [optional fields] - type source options`.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|&byte| byte == b' ');
        let id = decimal(fields.next()?)?;
        let device = DeviceNumber::parse(fields.nth(1)?)?;
        let root = PathBuf::from(name(fields.next()?));
        let place = PathBuf::from(name(fields.next()?));
        let options = OsString::from_vec(fields.next()?.to_vec());
        let mut rest = fields.skip_while(|field| *field != b"-").skip(1);
        Some(Self {
            id,
            device,
            root,
            place,
            options,
            file_system: name(rest.next()?),
            source: PathBuf::from(name(rest.next().unwrap_or_default())),
            file_system_options: OsString::from_vec(rest.next().unwrap_or_default().to_vec()),
        })
    }

    /// All options: those of the file system, then those of the mount.
    pub fn all_options(&self) -> impl Iterator<Item = &OsStr> {
        [&self.file_system_options, &self.options]
            .into_iter()
            .flat_map(|list| list.as_bytes().split(|&byte| byte == b',').map(OsStr::from_bytes))
    }

    /// Where a path of the file system, from its own root, lies in this mount; `None` if it does not.
    pub fn path_of(&self, inside: &Path) -> Option<PathBuf> {
        let rest = inside.strip_prefix(&self.root).ok()?;
        // Without a slash at the end, which a bound file must not have.
        Some(if rest.as_os_str().is_empty() { self.place.clone() } else { self.place.join(rest) })
    }

    /// The path from the file system's own root of what lies in this mount.
    pub fn path_inside(&self, path: &Path) -> Option<PathBuf> {
        let rest = path.strip_prefix(&self.place).ok()?;
        Some(if rest.as_os_str().is_empty() { self.root.clone() } else { self.root.join(rest) })
    }

    /// Whether the mount or the file system has this option.
    pub fn has_option(&self, option: &str) -> bool {
        self.all_options().any(|found| found == option)
    }

    /// Whether the mount or the file system may not be written to.
    pub fn is_read_only(&self) -> bool {
        self.has_option("ro")
    }

    /// Whether look-ups are answered by a server or another process, and not from a disk of this machine. FUSE counts, but for its block
    /// devices.
    pub fn is_remote(&self) -> bool {
        let name = self.file_system.as_bytes();
        // The part after the dot is chosen by the FUSE server.
        name == b"fuse" || name.starts_with(b"fuse.") || self.file_system.to_str().is_some_and(is_network_type)
    }
}

/// Whether a file system's type, as in the table, means that a server has its files.
pub fn is_network_type(name: &str) -> bool {
    const TYPES: [&str; 19] = [
        "9p",
        "afs",
        "beegfs",
        "ceph",
        "cifs",
        "coda",
        "cvmfs2",
        "davfs",
        "glusterfs",
        "gpfs",
        "lustre",
        "ncpfs",
        "nfs",
        "nfs4",
        "orangefs",
        "pvfs2",
        "smb3",
        "smbfs",
        "virtiofs",
    ];
    TYPES.contains(&name)
}

fn name(field: &[u8]) -> OsString {
    OsString::from_vec(without_octal_escapes(field))
}

/// The mounts of a mount namespace, in the order of the table: of two at the same mount point the later covers the earlier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    list: Vec<Mount>,
}

impl Mounts {
    /// The mounts visible to this process.
    ///
    /// # Errors
    /// The kernel's error; `NotFound` without `/proc`.
    pub fn here() -> io::Result<Self> {
        Ok(Self::parse(&std::fs::read(TABLE)?))
    }

    /// The mounts visible to a process.
    ///
    /// # Errors
    /// The kernel's error; `NotFound` for a process that has ended.
    pub fn of_process(process: &ProcessFiles) -> io::Result<Self> {
        Ok(Self::parse(&std::fs::read(process.at("mountinfo"))?))
    }

    /// The mounts in the bytes of a `mountinfo` file. Malformed lines are skipped.
    pub fn parse(table: &[u8]) -> Self {
        Self { list: table.split(|&byte| byte == b'\n').filter_map(Mount::parse).collect() }
    }

    /// All of them.
    pub fn all(&self) -> &[Mount] {
        &self.list
    }

    /// The mount that contains an absolute path without symbolic links: the last one at the nearest mount point above it.
    pub fn of(&self, path: &Path) -> Option<&Mount> {
        let above = self.list.iter().filter(|mount| path.starts_with(&mount.place));
        // Of equals, `max_by_key` takes the last.
        above.max_by_key(|mount| mount.place.components().count())
    }

    /// The mount with this ID.
    pub fn numbered(&self, id: u64) -> Option<&Mount> {
        self.list.iter().find(|mount| mount.id == id)
    }
}

/// The ID of the mount through which a path reaches its file (Linux 5.8); symbolic links are followed.
pub fn mount_id(path: &Path) -> Option<u64> {
    id(&statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?)
}

/// The same of an open file.
pub fn mount_id_of(file: impl AsFd) -> Option<u64> {
    id(&statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok()?)
}

/// Whether an open file is on the mount of our root directory. Before Linux 5.8 mounts have no IDs, and the file system's device
/// stands in for them.
pub fn is_on_root_mount(file: impl AsFd) -> bool {
    let mount = |found: Statx| (id(&found), found.stx_dev_major, found.stx_dev_minor);
    let root = statx(CWD, c"/", AtFlags::empty(), StatxFlags::MNT_ID).map(mount);
    let of_file = statx(file, c"", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).map(mount);
    of_file.is_ok() && of_file == root
}

fn id(found: &Statx) -> Option<u64> {
    (found.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(found.stx_mnt_id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TABLE_OF_MANY: &[u8] = b"27 1 254:0 / / rw,relatime shared:1 master:2 - ext4 /dev/vda rw,errors=remount-ro\n\
        22 27 0:21 / /proc rw - proc proc rw\n\
        40 27 0:40 /@home /home\\040of\\134all rw,noatime - btrfs /dev/sdb1 rw\n\
        41 27 0:41 / /net ro - nfs4 server:/\\043a rw\n\
        42 27 254:0 /usr /mnt rw - ext4 /dev/vda rw\n\
        43 42 0:43 / /mnt rw - tmpfs none rw\n\
        nonsense\n\
        44 27 8:1 / /\xff\xfe rw - fuseblk /dev/sda1 rw\n\
        45 27 0:45 / /o rw - overlay overlay\n";

    #[test]
    fn lines_are_read_whatever_bytes_names_have() {
        let mounts = Mounts::parse(TABLE_OF_MANY);
        let places: Vec<_> = mounts.all().iter().map(|mount| mount.place.as_os_str().as_bytes()).collect();
        assert_eq!(places, [&b"/"[..], b"/proc", b"/home of\\all", b"/net", b"/mnt", b"/mnt", b"/\xff\xfe", b"/o"]);
        let root = &mounts.all()[0];
        assert_eq!(
            (root.id, root.device, &*root.source),
            (27, DeviceNumber { major: 254, minor: 0 }, Path::new("/dev/vda"))
        );
        assert!(root.has_option("relatime") && root.has_option("errors=remount-ro") && !root.is_read_only());
        assert!(mounts.all()[3].is_read_only());
        assert_eq!(mounts.all()[3].source, Path::new("server:/#a"));
    }

    #[test]
    fn the_nearest_and_last_mount_counts() {
        let mounts = Mounts::parse(TABLE_OF_MANY);
        let of = |path: &str| mounts.of(Path::new(path)).unwrap().file_system.to_str().unwrap().to_owned();
        assert_eq!((of("/mnt/a"), of("/mntx"), of("/mnt")), ("tmpfs".into(), "ext4".into(), "tmpfs".into()));
        assert_eq!(of("/home of\\all/x"), "btrfs");
        assert_eq!(mounts.of(Path::new("relative")), None);
        assert_eq!(mounts.numbered(41).unwrap().file_system, "nfs4");
        assert!(mounts.numbered(41).unwrap().is_remote() && !mounts.numbered(44).is_some_and(Mount::is_remote));
        assert_eq!(mounts.numbered(4), None);
    }

    #[test]
    fn this_machines_table_is_understood_line_by_line() {
        let table = std::fs::read(TABLE).unwrap();
        let lines = table.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
        assert_eq!(Mounts::parse(&table).all().len(), lines);
        let proc = Mounts::of_process(&ProcessFiles::own()).unwrap().of(Path::new(TABLE)).cloned().unwrap();
        assert_eq!(proc.file_system, "proc");
        // Linux before 5.8 does not report the mount.
        if let Some(id) = mount_id(Path::new(TABLE)) {
            assert_eq!(Mounts::here().unwrap().numbered(id).unwrap().file_system, "proc");
        }
        let is_on_root = |path: &str| is_on_root_mount(std::fs::File::open(path).unwrap());
        assert!(is_on_root("/") && !is_on_root(TABLE));
    }

    proptest! {
        #[test]
        fn hostile_tables_are_harmless(table in prop::collection::vec(prop_oneof![any::<u8>(), Just(b' '), Just(b'\n'), Just(b'-')], 0..300)) {
            let mounts = Mounts::parse(&table);
            prop_assert!(mounts.all().len() <= table.split(|&byte| byte == b'\n').count());
        }

        #[test]
        fn a_name_says_nothing_about_the_rest_of_the_line(place in prop::collection::vec(1..=255u8, 0..20)) {
            let escape = |&byte: &u8| match byte {
                b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{byte:03o}").into_bytes(),
                other => vec![other],
            };
            let escaped: Vec<u8> = place.iter().flat_map(escape).collect();
            let line = [b"24 1 8:1 / /", &*escaped, b" rw shared:1 - ext4 /dev/sda1 rw,quota\n"].concat();
            let mounts = Mounts::parse(&line);
            prop_assert_eq!(mounts.all().len(), 1);
            prop_assert_eq!(mounts.all()[0].place.as_os_str().as_bytes(), [b"/", &*place].concat());
            prop_assert!(mounts.all()[0].has_option("quota"));
        }
    }
}
