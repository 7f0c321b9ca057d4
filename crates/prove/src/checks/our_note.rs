//! The section that we add: its header, its notes, and the identity of the file in them.
//!
//! Its format is in docs/formats/rewrite-note.md; this module shares no code with the writer.

use object::elf::SHT_NOTE;

use crate::image::Image;
use crate::image::headers::Section;
use crate::source::Source;
use crate::tables::notes::{self, Note};
use crate::verdict::{NotProven, Which, broken, differs, hex};

const WHAT: &str = "our note";
const NAME: &[u8] = b".note.coldstart";
/// Type of the note with the file's identity, and the offsets in it, in bytes.
const IDENTITY: u64 = 4;
const SIZE: usize = 8;
const DIGEST_END: usize = 40;
const CHECK_END: usize = 48;
/// Size of a note before its content: three numbers, and our name with its padding.
const BEFORE_CONTENT: usize = 24;

/// Whether a section has our name.
pub(crate) fn is_named(section: &Section<'_>) -> bool {
    section.name == NAME
}

/// Checks our section: every field of its header, and its notes, which have checksums.
pub(crate) fn check(image: &Image<'_>, section: &Section<'_>) -> Result<(), NotProven> {
    let wrong = |problem: &str| Err(broken(image.which, WHAT, section.shown_name(), problem));
    let fields = [
        ("sh_type", u64::from(section.kind.0), u64::from(SHT_NOTE.0)),
        ("sh_flags", section.flags.0, 0),
        ("sh_addr", section.address, 0),
        ("sh_link", section.link.into(), 0),
        ("sh_info", section.info.into(), 0),
        ("sh_addralign", section.align, 4),
        ("sh_entsize", section.entry_size, 0),
    ];
    if let Some((name, is, wanted)) = fields.iter().find(|(_, is, wanted)| is != wanted) {
        return wrong(&format!("{name} is {is:#x}, expected {wanted:#x}"));
    }
    let Some(bytes) = image.file(section.offset, section.size) else { return wrong("outside the file") };
    let Some(at) = identity(image, bytes) else {
        return wrong("not valid coldstart notes with an identity");
    };
    let place = |from: usize, to: usize| at.saturating_add(from)..at.saturating_add(to);
    let check = bytes.get(place(DIGEST_END, CHECK_END)).unwrap_or(&[]);
    let mut checked = bytes.to_vec();
    if let Some(check) = checked.get_mut(place(DIGEST_END, CHECK_END)) {
        check.fill(0);
    }
    match blake3::hash(&checked).as_bytes().starts_with(check) {
        true => Ok(()),
        false => wrong("its content was changed after it was written"),
    }
}

/// Offset of the identity note's content in a section; `None` if there is not exactly one, or there are notes other
/// than ours.
fn identity(image: &Image<'_>, bytes: &[u8]) -> Option<usize> {
    let notes = notes::divide(image, bytes)?;
    if !notes.iter().all(|(_, note)| note.name == b"coldstart\0" && (1..=IDENTITY).contains(&note.kind)) {
        return None;
    }
    let is_identity = |note: &Note| note.kind == IDENTITY && note.content.len() >= CHECK_END;
    let mut identities = notes.iter().filter(|(_, note)| is_identity(note));
    let (at, _) = identities.next().filter(|_| identities.next().is_none())?;
    usize::try_from(*at).ok()?.checked_add(BEFORE_CONTENT)
}

/// Verifies that a file is the one that its note was written for, by its size and the digest of its content.
///
/// # Errors
/// If it has no note of ours, or is another file.
pub fn prove_identity(output: Source<'_>) -> Result<(), NotProven> {
    let image = Image::read(Which::Output, output)?;
    let Some(section) = image.sections.iter().rfind(|section| is_named(section)) else {
        return Err(broken(image.which, WHAT, "the sections", "there is none"));
    };
    check(&image, section)?;
    let bytes = image.file(section.offset, section.size).unwrap_or(&[]);
    let at = identity(&image, bytes).unwrap_or(0);
    let content = bytes.get(at..).unwrap_or(&[]);
    let recorded_size = content.first_chunk().map_or(0, |size| u64::from_le_bytes(*size));
    let size = output.bytes.len() as u64;
    if recorded_size != size {
        return Err(differs(WHAT, "the size of the file", recorded_size, size));
    }
    let start = usize::try_from(section.offset).unwrap_or(0).saturating_add(at);
    let (before, rest) = output.bytes.split_at_checked(start.saturating_add(SIZE)).unwrap_or_default();
    let behind = rest.get(CHECK_END.saturating_sub(SIZE)..).unwrap_or(&[]);
    let mut hasher = blake3::Hasher::new();
    hasher.update_rayon(before).update(&[0; CHECK_END - SIZE]).update_rayon(behind);
    match content.get(SIZE..DIGEST_END) == Some(hasher.finalize().as_bytes()) {
        true => Ok(()),
        false => Err(differs(WHAT, hex(section.offset), "the digest of the file", "another digest")),
    }
}
