//! What a signature or a table of hashes covers.
//!
//! Not obvious: a jar's signature covers each entry, not their order. But readers of a stream want the signature's files in front, and other formats
//! hash headers or offsets, too. So everything that is signed is refused: it is put into order first, and signed then.

use super::read::shown;
use super::{ZipArchive, ZipError};

/// Names in capitals, and what signs the archive.
const WHOLE: &[(&str, &str)] = &[
    ("META-INF/COSE.SIG", "of an add-on of Mozilla"),
    ("META-INF/DOCUMENTSIGNATURES.XML", "of an OpenDocument file"),
    ("META-INF/MACROSIGNATURES.XML", "of an OpenDocument file"),
    (".SIGNATURE.P7S", "of a NuGet package"),
    ("APPXSIGNATURE.P7X", "of an app package"),
    ("APPXBLOCKMAP.XML", "with hashes of blocks and sizes of headers"),
];

impl ZipArchive<'_> {
    /// Refuses an archive that is signed.
    ///
    /// # Errors
    /// [`ZipError::Signed`] with what signs it.
    pub fn check_unsigned(&self) -> Result<(), ZipError> {
        for entry in self.entries() {
            let name = entry.name.to_ascii_uppercase();
            let name = String::from_utf8_lossy(&name);
            if let Some(what) = signature(&name) {
                return Err(ZipError::Signed { what: format!("`{}`, {what}", shown(&entry.name)) });
            }
        }
        Ok(())
    }
}

/// What an entry with this name in capitals signs.
fn signature(name: &str) -> Option<&'static str> {
    if let Some((_, what)) = WHOLE.iter().find(|(whole, _)| *whole == name) {
        return Some(what);
    }
    if name.starts_with("_XMLSIGNATURES/") {
        return Some("of an Office document");
    }
    // The JAR File Specification, "Signature File" and "Signature Block File".
    let file = name.strip_prefix("META-INF/").filter(|file| !file.contains('/'))?;
    let is_signature = file.starts_with("SIG-") || [".SF", ".RSA", ".DSA", ".EC"].iter().any(|end| file.ends_with(end));
    is_signature.then_some("of a jar")
}
