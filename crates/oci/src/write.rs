//! A new layout with one layer, which is an EROFS image: whole, or not there. Its directory is held open, so that it is where it was begun
//! even if another user exchanges a directory above it.
//!
//! Not obvious: the specification knows tar layers alone, but lets others be stored and copied. containerd takes a layer of the type
//! `application/vnd.erofs.layer.v1` as it is (`core/images/mediatypes.go`, `plugins/diff/erofs/differ.go`), and marks such images by the
//! feature `erofs` of the platform (`UpdateManifestPlatform` in `core/images/converter/erofs/erofs.go`).

use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use coldstart_output::{HeldDirectory, flush_directory};
use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::blob::{Digest, digest_of};
use crate::error::{OciError, OciProblem};
use crate::layout::{Layout, NAME, Reference, architecture};

/// The media type of an EROFS layer, by containerd.
pub const EROFS_LAYER: &str = "application/vnd.erofs.layer.v1";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";

/// A layout that is being written, in a directory beside its place.
#[derive(Debug)]
pub struct NewLayout {
    place: PathBuf,
    tag: String,
    // Removed before the directory that it is in is closed, which its path begins with.
    staged: TempDir,
    /// The same.
    held: HeldDirectory,
    above: HeldDirectory,
}

/// A written layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenLayout {
    /// Digest of the manifest.
    pub manifest: String,
    /// Digest of the layer, which is not compressed, so it is its diffID, too.
    pub layer: String,
    /// The image's name in the index.
    pub tag: String,
}

impl NewLayout {
    /// Begins a layout. Without a tag it is that of the image that it is made of, or `latest`.
    ///
    /// # Errors
    /// [`OciError`]: something is at its place, or the directory beside it cannot be made.
    pub fn begin(reference: &Reference, source: Option<&Layout>) -> Result<Self, OciError> {
        let place = reference.directory.clone();
        let tag = reference.tag.clone().or_else(|| source.and_then(|source| source.tag.clone()));
        let tag = tag.unwrap_or_else(|| "latest".to_owned());
        if place.symlink_metadata().is_ok() {
            return Err(OciError::new(&place, OciProblem::Exists));
        }
        let parent = place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let above = HeldDirectory::find(parent).map_err(|refusal| OciError::refused(parent, refusal))?;
        let staged = tempfile::Builder::new().prefix(&format!(".{name}.coldstart-")).tempdir_in(above.sure());
        let staged = staged.map_err(|error| OciError::io(parent, error))?;
        let held = above.inside(staged.path().file_name().unwrap_or_default());
        let held = held.map_err(|error| OciError::io(parent, error))?;
        let layout = Self { place, tag, staged, held, above };
        std::fs::create_dir_all(layout.blobs()).map_err(|error| layout.failed(error))?;
        Ok(layout)
    }

    /// The directory that the layout is written to, for other files without names.
    pub fn scratch(&self) -> &Path {
        self.held.sure()
    }

    /// An empty file for the layer.
    ///
    /// # Errors
    /// [`OciError`] if it cannot be made.
    pub fn layer(&self) -> Result<File, OciError> {
        let options = File::options().read(true).write(true).create_new(true).open(self.unnamed());
        options.map_err(|error| self.failed(error))
    }

    /// Finishes the layout with the file of [`Self::layer`], when the image has been written to it.
    ///
    /// # Errors
    /// [`OciError`]: nothing is at the place then.
    pub fn finish(
        self,
        mut layer: File,
        source: Option<&Layout>,
        watch: &mut dyn FnMut() -> bool,
    ) -> Result<WrittenLayout, OciError> {
        let failed = |error| self.failed(error);
        layer.sync_all().and_then(|()| layer.seek(SeekFrom::Start(0))).map_err(failed)?;
        let mut go_on = |_| if watch() { Ok(()) } else { Err(OciProblem::Interrupted) };
        let digest = digest_of(&layer, &mut go_on).map_err(|problem| OciError::new(&self.place, problem))?;
        let size = layer.metadata().map_err(failed)?.len();
        std::fs::rename(self.unnamed(), self.blob(&digest)).map_err(failed)?;
        let layer = digest.to_string();
        let config = self.put(&Value::Object(config(source, &layer)))?;
        let mut manifest = json!({
            "schemaVersion": 2,
            "mediaType": MANIFEST,
            "config": {"mediaType": CONFIG, "digest": config.0.to_string(), "size": config.1},
            "layers": [{"mediaType": EROFS_LAYER, "digest": layer, "size": size}],
        });
        let annotations = source.map(|source| source.annotations.clone()).unwrap_or_default();
        if let (false, Some(manifest)) = (annotations.is_empty(), manifest.as_object_mut()) {
            manifest.insert("annotations".to_owned(), annotations.into());
        }
        let (manifest, length) = self.put(&manifest)?;
        let platform = |key: &str, other: &str| {
            source.and_then(|source| source.config.get(key)?.as_str()).unwrap_or(other).to_owned()
        };
        let index = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.index.v1+json",
            "manifests": [{
                "mediaType": MANIFEST,
                "digest": manifest.to_string(),
                "size": length,
                "annotations": {NAME: self.tag},
                "platform": {
                    "architecture": platform("architecture", architecture()),
                    "os": platform("os", "linux"),
                    "os.features": ["erofs"],
                },
            }],
        });
        self.file("index.json", index.to_string().as_bytes())?;
        self.file("oci-layout", json!({"imageLayoutVersion": "1.0.0"}).to_string().as_bytes())?;
        self.publish()?;
        Ok(WrittenLayout { manifest: manifest.to_string(), layer, tag: self.tag })
    }

    /// Gives the directory its name.
    fn publish(&self) -> Result<(), OciError> {
        let failed = |error| self.failed(error);
        let staged = self.held.sure();
        std::fs::set_permissions(staged, std::fs::Permissions::from_mode(0o755)).map_err(failed)?;
        let within = File::open(staged).map_err(failed)?;
        for directory in [&self.blobs(), &staged.join("blobs"), staged] as [&Path; 3] {
            flush_directory(directory, &within).map_err(failed)?;
        }
        // Another one may have been made meanwhile: a directory is replaced only if it is empty.
        let place = self.above.sure().join(self.place.file_name().unwrap_or_default());
        std::fs::rename(self.staged.path(), place).map_err(failed)?;
        flush_directory(self.above.sure(), &within).map_err(failed)
    }

    fn put(&self, value: &Value) -> Result<(Digest, u64), OciError> {
        let bytes = value.to_string().into_bytes();
        let digest = Digest::of(&bytes);
        self.file(&format!("blobs/sha256/{}", digest.digits()), &bytes)?;
        Ok((digest, bytes.len() as u64))
    }

    fn file(&self, name: &str, bytes: &[u8]) -> Result<(), OciError> {
        let mut file = File::create_new(self.held.sure().join(name)).map_err(|error| self.failed(error))?;
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(|error| self.failed(error))
    }

    fn blobs(&self) -> PathBuf {
        self.held.sure().join("blobs/sha256")
    }

    fn blob(&self, digest: &Digest) -> PathBuf {
        self.blobs().join(digest.digits())
    }

    fn unnamed(&self) -> PathBuf {
        self.blobs().join("layer")
    }

    fn failed(&self, error: std::io::Error) -> OciError {
        OciError::io(&self.place, error)
    }
}

/// The configuration of an image with this one layer: what the container starts is unchanged.
fn config(source: Option<&Layout>, diff_id: &str) -> Map<String, Value> {
    let mut config = source.map(|source| source.config.clone()).unwrap_or_default();
    config.entry("architecture").or_insert_with(|| architecture().into());
    config.entry("os").or_insert_with(|| "linux".into());
    config.entry("config").or_insert_with(|| json!({}));
    let mut features: Vec<Value> = config.get("os.features").and_then(Value::as_array).cloned().unwrap_or_default();
    if !features.contains(&"erofs".into()) {
        features.push("erofs".into());
    }
    config.insert("os.features".to_owned(), features.into());
    config.insert("rootfs".to_owned(), json!({"type": "layers", "diff_ids": [diff_id]}));
    // Each step without `empty_layer` stands for one layer.
    let mut history = config.get("history").and_then(Value::as_array).cloned().unwrap_or_default();
    for step in history.iter_mut().filter_map(Value::as_object_mut) {
        step.insert("empty_layer".to_owned(), true.into());
    }
    // Some tools need a time; our own would make each layout another one.
    let created = config.get("created").cloned().unwrap_or_else(|| "1970-01-01T00:00:00Z".into());
    history.push(
        json!({"created": created, "created_by": "coldstart image make", "comment": "all layers in one EROFS image"}),
    );
    config.insert("history".to_owned(), history.into());
    config
}
