//! What an image holds: its extracted files in the order of their names, and a digest of them.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Context;
use blake3::Hasher;
use coldstart_image::tree::Collector;
use coldstart_image::{Entry, EntryKind};
use coldstart_launch::Interrupt;
use coldstart_profile::printable;
use coldstart_sys::named_file::open_regular;
use std::os::unix::ffi::OsStrExt;

use crate::error::AppError;

/// The files of an extracted image.
///
/// # Errors
/// If one cannot be looked at, or after a signal.
pub(super) fn entries_of(tree: &Path, interrupt: &Interrupt) -> Result<Vec<Entry>, AppError> {
    let mut collector = Collector::new(tree)?;
    collector.add_tree_watched(Path::new("/"), &mut |_| match interrupt.signal() {
        Some(_) => ControlFlow::Break(()),
        None => ControlFlow::Continue(()),
    })?;
    Ok(collector.finish().0)
}

/// A digest of names, modes, owners, times, attributes, links, devices and contents, whatever their order in the image. `listed` are the
/// lines of a list of the image: they hold owners that a user other than root cannot extract.
///
/// # Errors
/// If a file cannot be read.
pub(super) fn digest(tree: &Path, entries: &[Entry], listed: &[Vec<u8>]) -> Result<String, AppError> {
    let mut whole = Hasher::new();
    let mut add = |bytes: &[u8]| {
        whole.update(&(bytes.len() as u64).to_le_bytes());
        whole.update(bytes);
    };
    // By name: the collector sorts them.
    for entry in entries {
        add(entry.path.as_os_str().as_bytes());
        if let EntryKind::HardLink(first) = &entry.kind {
            add(b"another name of");
            add(first.as_os_str().as_bytes());
            continue;
        }
        let attributes = &entry.attributes;
        add(&attributes.mode.to_le_bytes());
        add(&attributes.user.to_le_bytes());
        add(&attributes.group.to_le_bytes());
        add(&attributes.modified.seconds.to_le_bytes());
        add(&(attributes.xattrs.len() as u64).to_le_bytes());
        for xattr in attributes.xattrs.iter() {
            add(&xattr.name);
            add(&xattr.value);
        }
        add(entry.kind.words().as_bytes());
        match &entry.kind {
            EntryKind::Symlink(target) => add(target.as_bytes()),
            EntryKind::CharacterDevice(number) | EntryKind::BlockDevice(number) => {
                add(&number.major.to_le_bytes());
                add(&number.minor.to_le_bytes());
            }
            EntryKind::Regular(_) => {
                let path = tree.join(entry.path.strip_prefix("/").unwrap_or(&entry.path));
                let content = content(&path).with_context(|| format!("cannot read `{}`", printable(&path)))?;
                add(content.as_bytes());
            }
            EntryKind::Directory | EntryKind::Fifo | EntryKind::Socket | EntryKind::HardLink(_) => {}
        }
    }
    for line in listed {
        add(line);
    }
    Ok(whole.finalize().to_hex().to_string())
}

fn content(path: &Path) -> io::Result<blake3::Hash> {
    let mut file = open_regular(path)?;
    let (mut hasher, mut buffer) = (Hasher::new(), vec![0; 1 << 16]);
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(hasher.finalize());
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
    }
}
