//! An AppImage of type 2 as it lies: a runtime, which is an ELF file, and behind it a squashfs image.
//!
//! Not obvious: nothing in the file names the image's offset. The runtime takes the end of its own section headers (`elf_size` in
//! AppImage/type2-runtime), so a runtime of another length moves the image.
//!
//! Sources: the AppImage specification, type 2; the squashfs on-disk format 4.0 (`fs/squashfs/squashfs_fs.h`).

use std::ops::Range;
use std::path::Path;

use anyhow::anyhow;
use coldstart_elf::ElfFile;
use coldstart_profile::printable;

use crate::error::{AppError, HintExt};

/// Bytes of a superblock.
const SUPERBLOCK: usize = 96;
/// Bytes that may follow the image: mksquashfs fills its last 4 KiB.
const MOST_PADDING: usize = 1 << 16;
/// Sections that a signature is in, or belongs to.
const SIGNATURES: [&str; 2] = [".sha256_sig", ".sig_key"];
/// A digest of the whole file.
const CHECKSUM: &str = ".digest_md5";

/// Where the parts of an AppImage lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AppImage {
    /// Offset of the squashfs image.
    pub(super) image: usize,
    /// What the image says of itself.
    pub(super) superblock: Superblock,
    /// Sections with a signature.
    pub(super) signatures: Vec<Range<usize>>,
    /// The section with a checksum, if it is filled in.
    pub(super) checksum: Option<Range<usize>>,
}

/// What matters here of the superblock of a squashfs image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    /// Seconds since 1970.
    pub(super) made_at: u32,
    pub(super) block_size: u32,
    /// As mksquashfs names it.
    pub(super) compression: &'static str,
    pub(super) flags: u16,
    /// Bytes of the image without padding.
    pub(super) size: u64,
}

impl AppImage {
    /// Finds the parts.
    ///
    /// # Errors
    /// If it is not an AppImage of type 2 with a squashfs image.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, AppError> {
        let no_appimage = |reason: String| {
            AppError::hinted(
                anyhow!("it is not an AppImage of type 2: {reason}"),
                "name a file with a runtime and a squashfs image; other images have tools of their own (`coldstart order files --for`)",
            )
        };
        let elf = ElfFile::parse(bytes).map_err(|error| no_appimage(error.to_string()))?;
        if let Some(problem) = elf.section_problem() {
            return Err(no_appimage(problem.to_string()));
        }
        let image = usize::try_from(elf.header().end_of_section_headers()).unwrap_or(usize::MAX);
        if image == 0 {
            return Err(no_appimage("the runtime has no section headers, whose end is the image's offset".to_owned()));
        }
        let superblock = Superblock::read(bytes.get(image..).unwrap_or_default()).map_err(no_appimage)?;
        let end = usize::try_from(superblock.size).ok().and_then(|size| image.checked_add(size));
        let Some(behind) = end.and_then(|end| bytes.get(end..)) else {
            return Err(AppError::hinted(anyhow!("its squashfs image is cut off"), "get the file again"));
        };
        if behind.len() > MOST_PADDING || behind.iter().any(|byte| *byte != 0) {
            return Err(anyhow!("{} bytes follow its squashfs image", behind.len()))
                .hint(|| "remove them: what they are for is not known, and they would be lost");
        }
        let filled = |name: &str| {
            let section = elf.section(name)?;
            let start = usize::try_from(section.header.offset.0).ok()?;
            let range = start..start.checked_add(usize::try_from(section.header.file_size()).ok()?)?;
            // Within the runtime: the image must not be written to.
            let is_filled = bytes.get(range.clone())?.iter().any(|byte| *byte != 0);
            (is_filled && range.end <= image).then_some(range)
        };
        Ok(Self {
            image,
            superblock,
            signatures: SIGNATURES.iter().filter_map(|name| filled(name)).collect(),
            checksum: filled(CHECKSUM),
        })
    }

    /// # Errors
    /// If it is signed: the signature would be wrong after any change.
    pub(super) fn check_unsigned(&self, path: &Path) -> Result<(), AppError> {
        match self.signatures.is_empty() {
            true => Ok(()),
            false => Err(anyhow!("cannot put `{}` into order: it is signed", printable(path)))
                .hint(|| "clear the signature with `--drop-signature`, and sign the new file"),
        }
    }
}

impl Superblock {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let bytes: &[u8; SUPERBLOCK] = bytes
            .get(..SUPERBLOCK)
            .and_then(|bytes| bytes.try_into().ok())
            .ok_or_else(|| "no image follows the runtime".to_owned())?;
        if !bytes.starts_with(b"hsqs") {
            return Err("no squashfs image follows the runtime".to_owned());
        }
        let short = |at: usize| {
            let field = bytes.get(at..).and_then(|bytes| bytes.first_chunk::<2>());
            field.map_or(0, |field| u16::from_le_bytes(*field))
        };
        let word = |at: usize| u32::from(short(at)) | u32::from(short(at.saturating_add(2))) << 16;
        let (major, minor) = (short(28), short(30));
        if major != 4 {
            return Err(format!("its squashfs image has version {major}.{minor}"));
        }
        let compression = match short(20) {
            1 => "gzip",
            2 => "lzma",
            3 => "lzo",
            4 => "xz",
            5 => "lz4",
            6 => "zstd",
            other => return Err(format!("its squashfs image has the unknown compression {other}")),
        };
        let block_size = word(12);
        if !block_size.is_power_of_two() || !(4096..=1 << 20).contains(&block_size) {
            return Err(format!("its squashfs image has blocks of {block_size} bytes"));
        }
        let size = u64::from(word(40)) | u64::from(word(44)) << 32;
        if size < SUPERBLOCK as u64 {
            return Err("its squashfs image is shorter than its superblock".to_owned());
        }
        Ok(Self { made_at: word(8), block_size, compression, flags: short(24), size })
    }

    /// Options by which mksquashfs makes an image of the same form.
    pub(super) fn options(&self) -> Vec<&'static str> {
        // SQUASHFS_NOI, NOD, NOF, NO_FRAG, ALWAYS_FRAG, NO_XATTR, NOID.
        let by_flag = [
            (0, "-noI"),
            (1, "-noD"),
            (3, "-noF"),
            (4, "-no-fragments"),
            (5, "-always-use-fragments"),
            (9, "-no-xattrs"),
            (11, "-noId"),
        ];
        let mut options: Vec<&str> = Vec::new();
        options.extend(by_flag.iter().filter(|(bit, _)| self.flags >> bit & 1 == 1).map(|(_, option)| *option));
        // SQUASHFS_DUPLICATES, SQUASHFS_EXPORT: these are on unless they are switched off.
        let by_absence = [(6, "-no-duplicates"), (7, "-no-exports")];
        options.extend(by_absence.iter().filter(|(bit, _)| self.flags >> bit & 1 == 0).map(|(_, option)| *option));
        options
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A superblock with blocks of 128 KiB in zstd, `behind` bytes of it behind its own.
    fn superblock(compression: u8, size: u64) -> Vec<u8> {
        let mut bytes = vec![0; SUPERBLOCK];
        bytes[..4].copy_from_slice(b"hsqs");
        bytes[12..16].copy_from_slice(&(1u32 << 17).to_le_bytes());
        bytes[20] = compression;
        bytes[24] = 0xc0;
        bytes[28] = 4;
        bytes[40..48].copy_from_slice(&size.to_le_bytes());
        bytes
    }

    /// /bin/true cut behind its section headers, and an image.
    fn appimage(image: &[u8]) -> (Vec<u8>, usize) {
        let mut bytes = std::fs::read("/bin/true").unwrap();
        let header = *ElfFile::parse(&bytes).unwrap().header();
        let table = usize::from(header.section_count) * usize::from(header.section_entry_size);
        let end = usize::try_from(header.sections_offset.0).unwrap() + table;
        bytes.truncate(end);
        bytes.extend_from_slice(image);
        (bytes, end)
    }

    #[test]
    fn the_image_begins_behind_the_section_headers() {
        let (bytes, end) = appimage(&[superblock(6, 96), vec![0; 4000]].concat());
        let found = AppImage::read(&bytes).unwrap();
        assert_eq!((found.image, found.superblock.compression, found.superblock.block_size), (end, "zstd", 1 << 17));
        assert_eq!(found.superblock.options(), Vec::<&str>::new());
        assert!(found.signatures.is_empty());
    }

    #[test]
    fn what_is_cut_off_followed_by_bytes_or_unknown_is_refused() {
        let refused = |image: &[u8], words: &str| {
            let sentence = AppImage::read(&appimage(image).0).unwrap_err().sentence();
            assert!(sentence.contains(words), "{sentence}");
        };
        refused(&superblock(4, 97), "cut off");
        refused(&[superblock(4, 96), vec![1]].concat(), "1 bytes follow");
        refused(&[superblock(4, 96), vec![0; MOST_PADDING + 1]].concat(), "bytes follow");
        refused(&superblock(9, 96), "unknown compression 9");
        refused(&superblock(4, 5), "shorter than its superblock");
        refused(b"", "no image");
        refused(&[0; 200], "no squashfs image");
    }
}
