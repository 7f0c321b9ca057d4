//! What is surveyed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use coldstart_elf::FileKind;
use coldstart_oci::Reference;
use coldstart_profile::printable;
use coldstart_sys::named_file::read_beginning;

use crate::archive::Format;
use crate::error::SurveyError;

/// One thing that is surveyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// As the user named it; the column `source`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its kind.
    pub kind: SourceKind,
}

/// The kinds of sources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceKind {
    /// A root file system: programs find their libraries in it, and a package manager knows the owners of files. Packages that lie in
    /// it are not opened, because what is in them may be installed there.
    Root,
    /// Any other directory: packages and images in it are opened.
    Directory,
    /// A package or an image.
    Archive(Format),
    /// A single ELF file.
    Object,
    /// An image of an OCI layout.
    Layout(Reference),
}

impl SourceKind {
    /// Its name in the manifest.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Root => "root file system",
            Self::Directory => "directory",
            Self::Archive(Format::Deb) => "Debian package",
            Self::Archive(Format::Rpm) => "RPM package",
            Self::Archive(Format::Squashfs) => "squashfs image",
            Self::Archive(Format::AppImage) => "AppImage",
            Self::Object => "ELF file",
            Self::Layout(_) => "OCI image layout",
        }
    }
}

impl Source {
    /// From an argument.
    ///
    /// # Errors
    /// If it cannot be read, or is of no known kind.
    pub fn of(typed: &OsStr) -> Result<Self, SurveyError> {
        let path = PathBuf::from(typed);
        let name = printable(&path);
        let reference = Reference::parse(typed);
        if reference.directory.join("oci-layout").is_file() {
            return Ok(Self { name, path: reference.directory.clone(), kind: SourceKind::Layout(reference) });
        }
        let failed = |source| SurveyError::Source { path: path.clone(), source };
        let kind = if std::fs::metadata(&path).map_err(failed)?.is_dir() {
            if is_root(&path) { SourceKind::Root } else { SourceKind::Directory }
        } else {
            let start = read_beginning(&path, 512).map_err(failed)?;
            match (Format::of(&start), FileKind::of(&start)) {
                (Some(format), _) => SourceKind::Archive(format),
                (None, FileKind::Elf) => SourceKind::Object,
                (None, _) => return Err(SurveyError::UnknownSource(path)),
            }
        };
        Ok(Self { name, path, kind })
    }
}

/// Whether a directory is the root of a system (os-release(5)).
fn is_root(path: &Path) -> bool {
    path.join("usr").is_dir() && ["etc/os-release", "usr/lib/os-release"].iter().any(|file| path.join(file).exists())
}
