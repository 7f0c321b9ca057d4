//! Debian packages: an ar file with two tar files, what dpkg needs to know and what it installs (deb(5)).

use std::fs::File;
use std::io::BufReader;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use coldstart_oci::{TarEntries, TarKind};

use super::limits::Room;
use super::unpacked::{Scratch, decoder};
use super::{ArchiveError, Bytes, PackageName, Receiver, give};

/// The control file is text; dpkg's own are a few kilobytes.
const LARGEST_CONTROL: u64 = 1 << 20;
/// Bytes that a decoder is given at once.
pub(super) const PORTION: usize = 1 << 16;

pub(super) fn members(
    archive: &[u8],
    scratch: &Scratch,
    room: &mut Room,
    named: &mut dyn FnMut(PackageName),
    receiver: Receiver<'_>,
) -> Result<(), ArchiveError> {
    let damaged = |error: std::io::Error| ArchiveError::Damaged(error.to_string());
    let mut parts = ar::Archive::new(archive);
    let mut has_data = false;
    while let Some(part) = parts.next_entry() {
        let part = part.map_err(damaged)?;
        let name = part.header().identifier().to_vec();
        let is_control = name.starts_with(b"control.tar");
        if !is_control && !name.starts_with(b"data.tar") {
            continue;
        }
        let tar = scratch.file(&mut decoder(BufReader::with_capacity(PORTION, part))?, room)?;
        if is_control {
            named(control(&tar)?);
        } else {
            has_data = true;
            let all = Bytes::whole(Arc::new(tar)).map_err(ArchiveError::Io)?;
            tar_members(&all, room, receiver)?;
        }
    }
    match has_data {
        true => Ok(()),
        false => Err(ArchiveError::Damaged("it has no `data.tar`".to_owned())),
    }
}

/// The regular files of a tar file.
fn tar_members(all: &Bytes, room: &mut Room, receiver: Receiver<'_>) -> Result<(), ArchiveError> {
    let damaged = |error: coldstart_oci::OciProblem| ArchiveError::Damaged(error.to_string());
    let mut entries = TarEntries::new(all.file()).map_err(damaged)?;
    while let Some(entry) = entries.next().map_err(damaged)? {
        let TarKind::Regular(offset, size) = entry.kind else { continue };
        let range = offset as usize..offset.saturating_add(size) as usize;
        let bytes = all.part(range).ok_or_else(|| ArchiveError::Damaged("a file lies outside".to_owned()))?;
        give(&entry.name, Some(bytes), room, receiver)?;
    }
    Ok(())
}

/// The name and version in the control file (deb-control(5)).
fn control(tar: &File) -> Result<PackageName, ArchiveError> {
    let damaged = |error: coldstart_oci::OciProblem| ArchiveError::Damaged(error.to_string());
    let mut entries = TarEntries::new(tar).map_err(damaged)?;
    while let Some(entry) = entries.next().map_err(damaged)? {
        let TarKind::Regular(offset, size) = entry.kind else { continue };
        if entry.name.strip_prefix(b"./").unwrap_or(&entry.name) != b"control" || size > LARGEST_CONTROL {
            continue;
        }
        let mut text = vec![0; size as usize];
        tar.read_exact_at(&mut text, offset).map_err(ArchiveError::Io)?;
        let text = String::from_utf8_lossy(&text);
        let field = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.unwrap_or_default().trim().to_owned()
        };
        return Ok(PackageName { name: field("Package"), version: field("Version") });
    }
    Err(ArchiveError::Damaged("it has no control file".to_owned()))
}
