//! A layout in a temporary directory, with layers made by the crate `tar`.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

use coldstart_image::{Entry, EntryKind, Source};
use coldstart_oci::{Layout, OciError, Reference};
use coldstart_testing::scratch;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::os::unix::fs::FileExt;
use tar::{Builder, EntryType, Header};
use tempfile::TempDir;

pub(crate) const TAR: &str = "application/vnd.oci.image.layer.v1.tar";
pub(crate) const GZIP: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

pub(crate) struct Scene {
    directory: TempDir,
}

/// A layer: its media type, its bytes as stored, the digest of its tar file.
#[derive(Clone)]
pub(crate) struct Layer {
    pub(crate) media_type: String,
    pub(crate) stored: Vec<u8>,
    pub(crate) diff_id: String,
}

impl Layer {
    pub(crate) fn plain(tar: Vec<u8>) -> Self {
        Self { media_type: TAR.to_owned(), diff_id: digest(&tar), stored: tar }
    }

    pub(crate) fn gzip(tar: &[u8]) -> Self {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(tar).unwrap();
        Self { media_type: GZIP.to_owned(), diff_id: digest(tar), stored: encoder.finish().unwrap() }
    }
}

pub(crate) fn digest(bytes: &[u8]) -> String {
    let digits: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

impl Scene {
    pub(crate) fn new() -> Self {
        let directory = scratch();
        fs::create_dir_all(directory.path().join("layout/blobs/sha256")).unwrap();
        fs::write(directory.path().join("layout/oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
        Self { directory }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// A blob and its descriptor.
    pub(crate) fn blob(&self, media_type: &str, bytes: &[u8]) -> Value {
        let digest = digest(bytes);
        fs::write(self.path("layout/blobs").join(digest.replace(':', "/")), bytes).unwrap();
        json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
    }

    /// Puts an image of these layers into the layout.
    pub(crate) fn image(&self, layers: &[Layer]) {
        let diff_ids: Vec<&str> = layers.iter().map(|layer| layer.diff_id.as_str()).collect();
        let config = json!({
            "architecture": "amd64", "os": "linux", "config": {"Cmd": ["/run"]},
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        });
        let config = self.blob("application/vnd.oci.image.config.v1+json", config.to_string().as_bytes());
        let layers: Vec<Value> = layers.iter().map(|layer| self.blob(&layer.media_type, &layer.stored)).collect();
        self.manifest(&json!({"schemaVersion": 2, "config": config, "layers": layers}));
    }

    pub(crate) fn manifest(&self, manifest: &Value) {
        let mut manifest = self.blob("application/vnd.oci.image.manifest.v1+json", manifest.to_string().as_bytes());
        manifest["annotations"] = json!({"org.opencontainers.image.ref.name": "here"});
        let index = json!({"schemaVersion": 2, "manifests": [manifest]});
        fs::write(self.path("layout/index.json"), index.to_string()).unwrap();
    }

    pub(crate) fn read(&self) -> Result<Vec<Entry>, OciError> {
        let layout = Layout::open(&Reference::parse(self.path("layout").as_os_str()))?;
        layout.entries(self.directory.path(), &mut || true)
    }

    /// Path to what is there, in a few words: the content of files.
    #[track_caller]
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        in_words(&self.read().unwrap())
    }
}

pub(crate) fn in_words(entries: &[Entry]) -> BTreeMap<String, String> {
    let words = |entry: &Entry| match &entry.kind {
        EntryKind::Regular(content) => {
            let mut bytes = vec![0; content.size as usize];
            let Source::Part(part) = &content.source else { panic!("{entry:?}") };
            part.file.read_exact_at(&mut bytes, part.offset).unwrap();
            String::from_utf8(bytes).unwrap()
        }
        EntryKind::Directory => "/".to_owned(),
        EntryKind::Symlink(target) => format!("-> {}", target.to_string_lossy()),
        EntryKind::HardLink(first) => format!("= {}", first.display()),
        other => other.words().to_owned(),
    };
    entries.iter().map(|entry| (entry.path.to_str().unwrap().to_owned(), words(entry))).collect()
}

/// A tar file of entries: `name/` is a directory, `name -> target` a symbolic, `name = target` a hard link, `name: text` a file.
pub(crate) fn tar(entries: &[&str]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for entry in entries {
        let mut header = Header::new_ustar();
        header.set_mode(0o644);
        header.set_mtime(5);
        let (name, kind, target, content) = if let Some((name, target)) = entry.split_once(" -> ") {
            (name, EntryType::Symlink, target, "")
        } else if let Some((name, target)) = entry.split_once(" = ") {
            (name, EntryType::Link, target, "")
        } else if let Some((name, text)) = entry.split_once(": ") {
            (name, EntryType::Regular, "", text)
        } else {
            (*entry, EntryType::Directory, "", "")
        };
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        // As bytes: the crate itself refuses `..`.
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.as_old_mut().linkname[..target.len()].copy_from_slice(target.as_bytes());
        header.set_cksum();
        builder.append(&header, content.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

pub(crate) fn reference(text: &OsStr) -> Reference {
    Reference::parse(text)
}
