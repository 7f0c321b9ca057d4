//! Which archive a file is, by its first bytes.

/// The kinds of archives that are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A Debian package (deb(5)).
    Deb,
    /// An RPM package.
    Rpm,
    /// A squashfs image.
    Squashfs,
    /// An ELF file with a squashfs image behind it: an AppImage of type 2.
    AppImage,
}

impl Format {
    /// As many first bytes as the decision needs.
    pub const BYTES: usize = 132;

    /// By the first bytes of a file.
    ///
    /// Sources: deb(5); rpm's `docs/manual/format_lead.md`; `fs/squashfs/squashfs_fs.h`; the AppImage specification, type 2.
    pub fn of(start: &[u8]) -> Option<Self> {
        if start.starts_with(b"!<arch>\ndebian-binary") {
            Some(Self::Deb)
        } else if start.starts_with(&[0xed, 0xab, 0xee, 0xdb]) {
            Some(Self::Rpm)
        } else if start.starts_with(b"hsqs") {
            Some(Self::Squashfs)
        } else if start.starts_with(b"\x7fELF") && start.get(8..11) == Some(b"AI\x02") {
            Some(Self::AppImage)
        } else {
            None
        }
    }
}
