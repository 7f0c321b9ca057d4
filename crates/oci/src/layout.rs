//! The files of a layout: which image, its configuration, its layers.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_image::Entry;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::blob::{Descriptor, Digest};
use crate::error::{OciError, OciProblem};
use crate::flatten::Tree;
use crate::layer::{Compression, unpack};

/// Indexes, manifests and configurations are small. Registries refuse manifests of more than 4 MiB (distribution specification).
const LARGEST_JSON: u64 = 4 << 20;
/// Indexes in indexes.
const DEEPEST: usize = 4;
pub(crate) const NAME: &str = "org.opencontainers.image.ref.name";

/// A layout's directory, and perhaps the name of an image in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The directory.
    pub directory: PathBuf,
    /// The name in its index.
    pub tag: Option<String>,
}

impl Reference {
    /// From `LAYOUT` or `LAYOUT:TAG`. A directory with that very name counts as a whole, colon or not.
    pub fn parse(text: &OsStr) -> Self {
        let whole = Self { directory: PathBuf::from(text), tag: None };
        if whole.directory.is_dir() {
            return whole;
        }
        let bytes = text.as_bytes();
        let Some(colon) = bytes.iter().rposition(|byte| *byte == b':').filter(|colon| *colon > 0) else { return whole };
        let (directory, tag) = bytes.split_at(colon);
        match std::str::from_utf8(tag.get(1..).unwrap_or_default()) {
            Ok(tag) if !tag.is_empty() && !tag.contains('/') => {
                Self { directory: PathBuf::from(OsStr::from_bytes(directory)), tag: Some(tag.to_owned()) }
            }
            _ => whole,
        }
    }
}

#[derive(Deserialize)]
struct Index {
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
struct Manifest {
    config: Descriptor,
    layers: Vec<Descriptor>,
    #[serde(default)]
    annotations: Map<String, Value>,
}

#[derive(Deserialize)]
struct Rootfs {
    diff_ids: Vec<String>,
}

/// An image of a layout, of which the small files have been read and checked.
#[derive(Debug)]
pub struct Layout {
    directory: PathBuf,
    /// The name of the image in the index, if it has one.
    pub tag: Option<String>,
    /// Its configuration, as it is.
    pub config: Map<String, Value>,
    pub(crate) annotations: Map<String, Value>,
    layers: Vec<(Descriptor, Digest, Digest)>,
}

impl Layout {
    /// Reads an image's index, manifest and configuration.
    ///
    /// # Errors
    /// [`OciError`]: not a layout, several images and no name, a wrong digest or size, layers of unknown types.
    pub fn open(reference: &Reference) -> Result<Self, OciError> {
        let directory = reference.directory.clone();
        let path = directory.join("index.json");
        if directory.is_dir() && !path.exists() {
            return Err(OciError::new(&directory, OciProblem::NoLayout));
        }
        let version: Map<String, Value> = json(&directory.join("oci-layout"), &small(&directory.join("oci-layout"))?)?;
        match version.get("imageLayoutVersion").and_then(Value::as_str) {
            Some("1.0.0") => {}
            other => {
                let problem = OciProblem::Version(other.unwrap_or("?").chars().take(50).collect());
                return Err(OciError::new(directory.join("oci-layout"), problem));
            }
        }
        let index: Index = json(&path, &small(&path)?)?;
        let chosen = named(&path, &index, reference.tag.as_deref())?;
        let tag = name_of(chosen).map(str::to_owned);
        let mut layout = Self { directory, tag, config: Map::new(), annotations: Map::new(), layers: Vec::new() };
        let mut manifest = chosen.clone();
        for _ in 0..DEEPEST {
            if !is_index(&manifest.media_type) {
                break;
            }
            let (path, bytes) = layout.blob_bytes(&manifest)?;
            let index: Index = json(&path, &bytes)?;
            manifest = of_this_machine(&path, index)?;
        }
        layout.read_manifest(&manifest)?;
        Ok(layout)
    }

    /// The layout's directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The entries of all layers, one over the other. Compressed layers are unpacked into files without names in `scratch`.
    /// `watch` is called now and then; with `false` it ends the work.
    ///
    /// # Errors
    /// [`OciError`]: a wrong digest, a damaged layer, an entry that must not be.
    pub fn entries(&self, scratch: &Path, watch: &mut dyn FnMut() -> bool) -> Result<Vec<Entry>, OciError> {
        let mut tree = Tree::new();
        let mut go_on = || if watch() { Ok(()) } else { Err(OciProblem::Interrupted) };
        for (layer, digest, diff_id) in &self.layers {
            let path = self.path(digest);
            let in_blob = |problem| OciError::new(&path, problem);
            let compression = Compression::of(&layer.media_type).map_err(in_blob)?;
            let blob = self.open_blob(digest, layer.size)?;
            let tar = unpack(blob, compression, digest, diff_id, scratch, &mut |_| go_on()).map_err(in_blob)?;
            tree.add_layer(tar, &path, &mut go_on).map_err(in_blob)?;
        }
        Ok(tree.into_entries())
    }

    fn read_manifest(&mut self, descriptor: &Descriptor) -> Result<(), OciError> {
        let (path, bytes) = self.blob_bytes(descriptor)?;
        let manifest: Manifest = json(&path, &bytes)?;
        let (config_path, bytes) = self.blob_bytes(&manifest.config)?;
        self.config = json(&config_path, &bytes)?;
        let rootfs = self.config.get("rootfs").cloned().unwrap_or_default();
        let rootfs: Rootfs =
            serde_json::from_value(rootfs).map_err(|error| OciError::new(&config_path, OciProblem::Json(error)))?;
        let (layers, diff_ids) = (manifest.layers.len(), rootfs.diff_ids.len());
        if layers != diff_ids {
            return Err(OciError::new(&path, OciProblem::Layers { layers, diff_ids }));
        }
        self.annotations = manifest.annotations;
        for (layer, diff_id) in manifest.layers.into_iter().zip(rootfs.diff_ids) {
            let digest = Digest::parse(&layer.digest).map_err(|problem| OciError::new(&path, problem))?;
            let diff_id = Digest::parse(&diff_id).map_err(|problem| OciError::new(&config_path, problem))?;
            Compression::of(&layer.media_type).map_err(|problem| OciError::new(&path, problem))?;
            drop(self.open_blob(&digest, layer.size)?);
            self.layers.push((layer, digest, diff_id));
        }
        Ok(())
    }

    fn path(&self, digest: &Digest) -> PathBuf {
        self.directory.join("blobs/sha256").join(digest.digits())
    }

    /// A blob, which must be a regular file of the declared size.
    fn open_blob(&self, digest: &Digest, size: u64) -> Result<File, OciError> {
        let path = self.path(digest);
        let metadata = std::fs::metadata(&path).map_err(|error| OciError::io(&path, error))?;
        let found = metadata.len();
        if !metadata.is_file() || found != size {
            return Err(OciError::new(&path, OciProblem::Size { found, expected: size, said: "declared" }));
        }
        File::open(&path).map_err(|error| OciError::io(&path, error))
    }

    fn blob_bytes(&self, descriptor: &Descriptor) -> Result<(PathBuf, Vec<u8>), OciError> {
        let digest = Digest::parse(&descriptor.digest)
            .map_err(|problem| OciError::new(self.directory.join("index.json"), problem))?;
        drop(self.open_blob(&digest, descriptor.size)?);
        let path = self.path(&digest);
        let bytes = small(&path)?;
        Digest::of(&bytes).must_be(&digest).map_err(|problem| OciError::new(&path, problem))?;
        Ok((path, bytes))
    }
}

fn is_index(media_type: &str) -> bool {
    ["application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json"]
        .contains(&media_type)
}

fn name_of(descriptor: &Descriptor) -> Option<&str> {
    descriptor.annotations.get(NAME)?.as_str()
}

fn named<'index>(path: &Path, index: &'index Index, tag: Option<&str>) -> Result<&'index Descriptor, OciError> {
    let names: BTreeSet<&str> = index.manifests.iter().filter_map(name_of).collect();
    let names =
        if names.is_empty() { "none with a name".to_owned() } else { names.into_iter().collect::<Vec<_>>().join(", ") };
    let problem = match (tag, index.manifests.as_slice()) {
        (Some(tag), manifests) => match manifests.iter().find(|manifest| name_of(manifest) == Some(tag)) {
            Some(found) => return Ok(found),
            None => OciProblem::NoTag { wanted: tag.to_owned(), names },
        },
        (None, [only]) => return Ok(only),
        (None, _) => OciProblem::Several(names),
    };
    Err(OciError::new(path, problem))
}

/// The image of an index for Linux on this machine.
fn of_this_machine(path: &Path, index: Index) -> Result<Descriptor, OciError> {
    let is_ours = |manifest: &Descriptor| {
        let is = |key: &str, value: &str| {
            let platform = manifest.platform.as_ref();
            platform.and_then(|platform| platform.get(key)).and_then(Value::as_str) == Some(value)
        };
        is("os", "linux") && is("architecture", architecture())
    };
    let mut manifests = index.manifests;
    if let [_] = manifests.as_slice()
        && manifests.first().is_some_and(|only| only.platform.is_none())
    {
        return Ok(manifests.remove(0));
    }
    let found = manifests.into_iter().find(is_ours);
    found.ok_or_else(|| OciError::new(path, OciProblem::Platform(architecture().to_owned())))
}

/// This machine's architecture by its name in Go, which the specification uses.
pub(crate) fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        "loongarch64" => "loong64",
        other => other,
    }
}

/// A small file, whole.
fn small(path: &Path) -> Result<Vec<u8>, OciError> {
    let failed = |error| OciError::io(path, error);
    let metadata = std::fs::metadata(path).map_err(failed)?;
    if !metadata.is_file() || metadata.len() > LARGEST_JSON {
        let problem = OciProblem::Size { found: metadata.len(), expected: LARGEST_JSON, said: "the limit" };
        return Err(OciError::new(path, problem));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|file| file.take(LARGEST_JSON).read_to_end(&mut bytes)).map_err(failed)?;
    Ok(bytes)
}

fn json<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, OciError> {
    serde_json::from_slice(bytes).map_err(|error| OciError::new(path, OciProblem::Json(error)))
}

/// For tests of names alone.
impl From<&str> for Reference {
    fn from(text: &str) -> Self {
        Self::parse(&OsString::from(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_follows_the_last_colon() {
        let parsed = |text: &str| {
            let reference = Reference::from(text);
            (reference.directory.to_str().unwrap().to_owned(), reference.tag)
        };
        let tag = |tag: &str| Some(tag.to_owned());
        assert_eq!(parsed("no such/a"), ("no such/a".into(), None));
        assert_eq!(parsed("no such/a:b"), ("no such/a".into(), tag("b")));
        assert_eq!(parsed("no:such/a:1.2"), ("no:such/a".into(), tag("1.2")));
        assert_eq!(parsed("no:such/a"), ("no:such/a".into(), None));
        assert_eq!(parsed("a:"), ("a:".into(), None));
    }
}
