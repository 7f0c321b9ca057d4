//! Sparse files: finding their data, and copying only that.
//!
//! Not obvious: a file system without holes reports one extent over the whole file (lseek(2), SEEK_DATA),
//! so everything here also works there, only slower.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use fs_err::os::unix::fs::OpenOptionsExt;
use rustix::fs::{SeekFrom, ioctl_ficlone, seek, statvfs};
use rustix::io::Errno;

use crate::system::interrupt::Interrupt;

/// Byte ranges of `file` that hold data, in order.
pub(crate) fn data_extents(file: &File) -> Result<Vec<Range<u64>>> {
    let mut extents = Vec::new();
    let mut position = 0;
    loop {
        let start = match seek(file, SeekFrom::Data(position)) {
            // No data from here to the end.
            Err(Errno::NXIO) => return Ok(extents),
            other => other?,
        };
        position = seek(file, SeekFrom::Hole(start))?;
        extents.push(start..position);
    }
}

/// Copies `source` to the new file `target`, sharing the blocks where the file system can, and else data only.
///
/// # Errors
/// When `target` exists, when its file system has not the room, or when `interrupt` says so. What was written so far
/// stays; the caller has noted it.
pub(crate) fn copy(source: &Path, target: &Path, interrupt: &Interrupt) -> Result<()> {
    let from = fs::File::open(source)?.into_parts().0;
    // The copy may lie where everybody may look, and files that only root may read may be in it.
    let to = fs::File::options().read(true).write(true).create_new(true).mode(0o600).open(target)?.into_parts().0;
    if ioctl_ficlone(&to, &from).is_ok() {
        return Ok(());
    }
    let extents = data_extents(&from)?;
    let needed: u64 = extents.iter().map(|extent| extent.end - extent.start).sum();
    let space = statvfs(target)?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    ensure!(
        needed < free,
        "{} has {} MB left, but the copy of {} takes {} MB",
        target.parent().unwrap_or(target).display(),
        free / 1_000_000,
        source.display(),
        needed / 1_000_000
    );
    to.set_len(from.metadata()?.len())?;
    let mut buffer = vec![0; 4 << 20];
    for extent in extents {
        let mut position = extent.start;
        while position < extent.end {
            interrupt.check()?;
            let length = buffer.len().min(usize::try_from(extent.end - position).unwrap_or(usize::MAX));
            let piece = &mut buffer[..length];
            from.read_exact_at(piece, position).with_context(|| format!("cannot read {}", source.display()))?;
            to.write_all_at(piece, position).with_context(|| format!("cannot write {}", target.display()))?;
            position += length as u64;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_copy_has_the_bytes_and_the_holes() {
        let directory = tempfile::tempdir().unwrap();
        let (source, target) = (directory.path().join("a"), directory.path().join("b"));
        let file = File::create(&source).unwrap();
        file.set_len(64 << 20).unwrap();
        file.write_all_at(b"head", 0).unwrap();
        file.write_all_at(b"middle", 32 << 20).unwrap();
        let interrupt = Interrupt::watch().unwrap();
        copy(&source, &target, &interrupt).unwrap();
        assert_eq!(fs::read(&source).unwrap(), fs::read(&target).unwrap());
        assert!(fs::metadata(&target).unwrap().blocks() * 512 < 1 << 20);
        assert!(copy(&source, &target, &interrupt).is_err(), "an existing file was overwritten");
    }
}
