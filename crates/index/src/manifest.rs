//! What an index is for and what it depends on: the file that says that a directory is an index.
//!
//! Format: docs/formats/index.md.

use std::io;
use std::path::{Path, PathBuf};

use coldstart_sys::named_file::read_regular;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::ahead::RemoteNames;
use crate::guard::{Guard, path_as_bytes};
use crate::identity::Identity;
use crate::language::Language;
use crate::place::CURRENT;

/// The manifest's name in an index's content.
pub const MANIFEST: &str = "coldstart-index";
/// First bytes of a manifest.
const MAGIC: &[u8; 8] = b"CSINDEX\0";
/// Version of the format.
const VERSION: u32 = 1;
/// Largest manifest that is read, in bytes: a guard takes about 100, and 100 000 modules lie in fewer directories.
const LARGEST: u64 = 256 << 20;

/// What an index is for and depends on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The program and its arguments, as they were recorded.
    pub command: Vec<Vec<u8>>,
    /// The languages in it.
    pub languages: Vec<LanguageIndex>,
    /// What else a start asks of file servers.
    pub remote: RemoteNames,
}

/// The index for one language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LanguageIndex {
    /// The language.
    pub language: Language,
    /// The interpreter that was recorded.
    #[serde(with = "path_as_bytes")]
    pub interpreter: PathBuf,
    /// Its version, as it tells it itself.
    pub version: String,
    /// Number of names of modules with a known place.
    pub modules: u64,
    /// Number of names that are known to be absent.
    pub missing: u64,
    /// What must be as it was for an absence to be believed.
    pub guards: Vec<Guard>,
    /// Sources whose code is in the pack.
    pub sources: Vec<SourceFile>,
    /// Size of the pack in bytes.
    pub pack_bytes: u64,
    /// Files that a start opens or looks for, to be read ahead; without those in the pack.
    pub read_ahead: Vec<Vec<u8>>,
}

/// A source whose code is in a pack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path, as the interpreter names it.
    #[serde(with = "path_as_bytes")]
    pub path: PathBuf,
    /// Its identity when its code was read.
    pub identity: Identity,
    /// Its size in bytes.
    pub bytes: u64,
}

/// Why a manifest cannot be read.
#[derive(Debug, Error)]
pub enum ManifestError {
    /// There is none.
    #[error("it is not an index made by coldstart")]
    NotAnIndex,
    /// Of a later release.
    #[error("it was made by a later release of coldstart (version {0} of the format, this release knows {VERSION})")]
    Newer(u32),
    /// Malformed.
    #[error("its manifest is damaged")]
    Damaged,
    /// The kernel's.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ManifestError {
    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotAnIndex => Some("name a directory made by `coldstart index make`"),
            Self::Newer(_) => Some("use that release, or make the index again"),
            Self::Damaged => Some("make the index again with `coldstart index make`"),
            Self::Io(_) => None,
        }
    }
}

coldstart_hint::hinted!(ManifestError);

impl Manifest {
    /// As bytes.
    ///
    /// # Errors
    /// [`ManifestError::Damaged`], which cannot happen for values of these types.
    pub fn encode(&self) -> Result<Vec<u8>, ManifestError> {
        let start = [MAGIC.as_slice(), &VERSION.to_le_bytes()].concat();
        postcard::to_extend(self, start).map_err(|_| ManifestError::Damaged)
    }

    /// From bytes.
    ///
    /// # Errors
    /// All but [`ManifestError::Io`].
    pub fn decode(bytes: &[u8]) -> Result<Self, ManifestError> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(ManifestError::NotAnIndex)?;
        let (version, rest) = rest.split_first_chunk().ok_or(ManifestError::Damaged)?;
        match u32::from_le_bytes(*version) {
            VERSION => match postcard::take_from_bytes(rest) {
                Ok((manifest, [])) => Ok(manifest),
                _ => Err(ManifestError::Damaged),
            },
            0 => Err(ManifestError::Damaged),
            newer => Err(ManifestError::Newer(newer)),
        }
    }

    /// Of an index.
    ///
    /// # Errors
    /// [`ManifestError`].
    pub fn read(index: &Path) -> Result<Self, ManifestError> {
        match Self::of(&index.join(CURRENT)) {
            Err(ManifestError::Io(error)) if error.kind() == io::ErrorKind::NotFound && index.is_dir() => {
                Err(ManifestError::NotAnIndex)
            }
            read => read,
        }
    }

    /// Of the content of an index.
    pub(crate) fn of(content: &Path) -> Result<Self, ManifestError> {
        Self::decode(&read_regular(&content.join(MANIFEST), LARGEST)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    fn some() -> Manifest {
        let odd = PathBuf::from(OsString::from_vec(b"/a/\xff".to_vec()));
        let identity = Identity { device: Some(1), inode: 2, modified: 3, changed: -4 };
        Manifest {
            command: vec![b"python3".to_vec(), b"\xfe".to_vec()],
            languages: vec![LanguageIndex {
                language: Language::Python,
                interpreter: "/usr/bin/python3.11".into(),
                version: "3.11".into(),
                modules: 1,
                missing: 2,
                guards: vec![
                    Guard { path: odd.clone(), identity: Some(identity) },
                    Guard { path: odd.clone(), identity: None },
                ],
                sources: vec![SourceFile { path: odd, identity, bytes: 9 }],
                pack_bytes: 7,
                read_ahead: vec![b"/b/\xfe".to_vec()],
            }],
            remote: RemoteNames { names: vec![b"/c".to_vec(), b"/c/\xfe".to_vec()], files: vec![b"/c".to_vec()] },
        }
    }

    #[test]
    fn a_manifest_reads_back_and_a_damaged_one_is_told() {
        let bytes = some().encode().unwrap();
        assert_eq!(Manifest::decode(&bytes).unwrap(), some());
        assert!(matches!(Manifest::decode(b"other"), Err(ManifestError::NotAnIndex)));
        for length in MAGIC.len()..bytes.len() {
            assert!(matches!(Manifest::decode(&bytes[..length]), Err(ManifestError::Damaged)), "{length}");
        }
        let longer = [&*bytes, b"x"].concat();
        assert!(matches!(Manifest::decode(&longer), Err(ManifestError::Damaged)));
        let mut newer = bytes;
        newer[MAGIC.len()] = 9;
        assert!(matches!(Manifest::decode(&newer), Err(ManifestError::Newer(9))));
    }

    proptest! {
        #[test]
        fn hostile_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Manifest::decode(&[MAGIC.as_slice(), &VERSION.to_le_bytes(), &bytes].concat());
        }
    }
}
