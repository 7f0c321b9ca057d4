//! The parser of AppImages, for the fuzz targets of `fuzz/` only.
//!
//! Hidden, and not part of the public API.

use super::file::AppImage;

/// Reads them as the parts of an AppImage; whether they are one.
pub fn read(bytes: &[u8]) -> bool {
    AppImage::read(bytes).is_ok_and(|found| {
        let image = bytes.get(found.image..).unwrap_or_default();
        assert!(found.superblock.size <= image.len() as u64 && found.superblock.options().len() < 20);
        assert!(found.signatures.iter().chain(&found.checksum).all(|part| part.end <= found.image));
        true
    })
}
