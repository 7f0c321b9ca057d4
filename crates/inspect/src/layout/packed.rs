//! The packed relocation formats that a file uses.

use coldstart_elf::Tag;
use serde::Serialize;

use crate::object::Object;

/// A packed relocation format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExistingPacking {
    /// `DT_RELR`: glibc since 2.36, musl since 1.2.4, bionic since Android 11.
    Relr,
    /// The same under its earlier tag (`DT_ANDROID_RELR`), for bionic only.
    AndroidRelr,
    /// Android's own format (`DT_ANDROID_REL`, `DT_ANDROID_RELA`: "APS2"), for bionic only.
    AndroidPacked,
    /// Firefox's elfhack: code in the file applies them before the first initialiser.
    Elfhack,
    /// Firefox's relrhack: `DT_RELR` under tags unknown to loaders, applied by code in the file.
    Relrhack,
}

/// Added by relrhack to tags, so that loaders ignore them (Firefox `build/unix/elfhack/relrhack.cpp`).
const RELRHACK_BIT: u64 = 0x0800_0000;

pub(super) fn packings(object: &Object<'_>) -> Vec<ExistingPacking> {
    let has = |tag| object.tag(tag).is_some();
    let elfhack = || object.file.sections().iter().any(|section| section.name.starts_with(b".elfhack."));
    let signs = [
        (ExistingPacking::Relr, has(Tag::RELR)),
        (ExistingPacking::AndroidRelr, has(Tag::ANDROID_RELR)),
        (ExistingPacking::AndroidPacked, has(Tag::ANDROID_REL) || has(Tag::ANDROID_RELA)),
        (ExistingPacking::Elfhack, elfhack()),
        (ExistingPacking::Relrhack, has(Tag(Tag::RELR.0 | RELRHACK_BIT))),
    ];
    signs.iter().filter(|(_, is_there)| *is_there).map(|(packing, _)| *packing).collect()
}
