//! What the tests of replacing share: files with all that may belong to them, other users, mounts that are undone.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

use coldstart_elf::{ByteOrder, Class, Encoding, FileOffset, FileSpan};
use coldstart_output::{OutputError, OutputKind, OutputTarget};
use coldstart_prove::Source;
use coldstart_rewrite::{OriginalFile, Piece, ReplaceError, Replacement, Script, Target, WriteError, write_proven};
use coldstart_testing::attempt;
pub(crate) use coldstart_testing::{Mount, is_root, scratch, skip};
use rustix::fs::XattrFlags;
use rustix::process::{Gid, Uid};
use tempfile::TempDir;

/// `CAP_NET_RAW` permitted and effective, as `security.capability` says it (`struct vfs_cap_data`, version 2).
pub(crate) const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// A directory in memory.
pub(crate) fn in_memory() -> TempDir {
    TempDir::new_in("/dev/shm").unwrap()
}

/// A file of `content` that anybody may read.
pub(crate) fn file(directory: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, content).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    path
}

/// A copy of a range of the original.
pub(crate) fn copy(range: std::ops::Range<u64>) -> Piece {
    Piece::Copy(FileSpan::between(FileOffset(range.start), FileOffset(range.end)).unwrap())
}

/// A script that makes these pieces.
pub(crate) fn script(pieces: Vec<Piece>) -> Script {
    Script::new(Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 }, pieces, Vec::new())
        .unwrap()
}

/// Opens a file, makes it `content` and puts that at `target`, with a proof that looks whether it is.
pub(crate) fn replace(
    path: &Path,
    content: &[u8],
    target: &Target,
    keep: Option<&Path>,
) -> Result<Replacement<usize>, WriteError<io::Error>> {
    let original = OriginalFile::open(path)?;
    replace_opened(&original, script(vec![Piece::Bytes(content.to_vec())]), target, keep, content)
}

/// Any file at all: the rule for what stands there is tested where it is.
pub(crate) const ANY: OutputKind = OutputKind { name: "any file", recognises: |_| Ok(true), same_bytes: false };

/// An output of this name.
pub(crate) fn output_at(path: &Path) -> Result<Target, OutputError> {
    Ok(Target::At(Box::new(OutputTarget::new(path, ANY, false)?)))
}

/// As [`replace`], with an output of its own.
pub(crate) fn replace_at(
    path: &Path,
    content: &[u8],
    output: &Path,
    keep: Option<&Path>,
) -> Result<Replacement<usize>, WriteError<io::Error>> {
    replace(path, content, &output_at(output).map_err(ReplaceError::from)?, keep)
}

/// As [`replace`], of an opened file by a script.
pub(crate) fn replace_opened(
    original: &OriginalFile,
    script: Script,
    target: &Target,
    keep: Option<&Path>,
    expected: &[u8],
) -> Result<Replacement<usize>, WriteError<io::Error>> {
    let view = original.map().unwrap();
    write_proven(original, Source::in_memory(view.bytes()), &script, target, keep, |new| {
        assert!(new.bytes == expected, "not what was to be written");
        Ok(new.bytes.len())
    })
}

/// The names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What `stat` of the coreutils says in this format.
pub(crate) fn stat(path: &Path, format: &str) -> String {
    run("stat", &["-c".as_ref(), format.as_ref(), path.as_os_str()]).unwrap().trim().to_owned()
}

pub(crate) fn set_attribute(path: &Path, name: &str, value: &[u8]) -> rustix::io::Result<()> {
    rustix::fs::lsetxattr(path, name, value, XattrFlags::empty())
}

pub(crate) fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = Vec::with_capacity(1 << 16);
    rustix::fs::lgetxattr(path, name, rustix::buffer::spare_capacity(&mut value)).ok()?;
    Some(value)
}

/// An access list as the kernel stores it (`struct posix_acl_xattr_header`): its owner may do all, user 1234 read and
/// execute, its group what `group` says, the mask is read and execute, others nothing.
pub(crate) fn access_list(group: u16) -> Vec<u8> {
    const NOBODY: u32 = u32::MAX;
    let entries =
        [(0x01_u16, 7_u16, NOBODY), (0x02, 5, 1234), (0x04, group, NOBODY), (0x10, 5, NOBODY), (0x20, 0, NOBODY)];
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, permissions, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(permissions.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

/// Does `work` as a user and group who own nothing, in a thread of its own, which is enough for the kernel.
pub(crate) fn as_user<T: Send>(user: u32, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let (user, group) = (Uid::from_raw(user), Gid::from_raw(user));
            rustix::thread::set_thread_groups(&[]).unwrap();
            rustix::thread::set_thread_res_gid(group, group, group).unwrap();
            rustix::thread::set_thread_res_uid(user, user, user).unwrap();
            work()
        });
        worker.join().unwrap()
    })
}

/// Runs a command that has to succeed; the error is its stderr.
pub(crate) fn run<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> Result<String, String> {
    attempt(Command::new(program).args(arguments))
}

/// Starts a program that was just written. Another test's thread that forks at the wrong instant has our descriptors
/// until its child runs, so "busy" is asked again.
pub(crate) fn start(program: &Path, arguments: &[&str]) -> Child {
    for _ in 0..100 {
        match Command::new(program).args(arguments).spawn() {
            Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
            result => return result.unwrap(),
        }
    }
    panic!("{} stays busy", program.display());
}

/// Runs a program that was just written.
pub(crate) fn status_of(program: &Path, arguments: &[&str]) -> ExitStatus {
    start(program, arguments).wait().unwrap()
}

/// A mark of `chattr` that is taken away when the test ends.
pub(crate) struct Mark<'a> {
    path: &'a Path,
    letter: char,
}

impl<'a> Mark<'a> {
    pub(crate) fn set(path: &'a Path, letter: char) -> Result<Self, String> {
        run("chattr", &[format!("+{letter}").as_ref(), path.as_os_str()])?;
        Ok(Self { path, letter })
    }
}

impl Drop for Mark<'_> {
    fn drop(&mut self) {
        let _ = run("chattr", &[format!("-{}", self.letter).as_ref(), self.path.as_os_str()]);
    }
}

/// Reads a file through a descriptor opened before.
pub(crate) fn content_of(file: &File) -> Vec<u8> {
    use std::os::unix::fs::FileExt;
    let mut content = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut content, 0).unwrap();
    content
}
