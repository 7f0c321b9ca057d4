//! What an AppImage's image costs its starts, before anything is made anew.

use std::path::PathBuf;

use anyhow::Context;
use coldstart_launch::Interrupt;
use coldstart_profile::{JsonPath, printable};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;
use serde::Serialize;

use super::file::AppImage;
use super::{SquashfsForm, USUAL_BLOCK, advice, decompressed, size_of, tools, tree, used_files};
use crate::error::AppError;
use crate::prefetch::trace_with_pages;
use crate::reading;

/// What is looked at.
#[derive(Clone, Debug)]
pub struct DiagnosisOptions {
    /// The AppImage.
    pub file: PathBuf,
    /// Traces of starts from it.
    pub traces: Vec<PathBuf>,
    /// Where the image was mounted for the starts; the runtime's own `.mount_` directory if `None`.
    pub trace_root: Option<PathBuf>,
}

/// What an AppImage costs its starts.
#[derive(Clone, Debug, Serialize)]
pub struct AppImageDiagnosis {
    /// The AppImage.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(flatten)]
    shown: JsonPath,
    /// Whether it is signed, and would lose the signature.
    pub is_signed: bool,
    /// Regular files of the image.
    pub files: u64,
    /// Bytes of all files.
    pub file_bytes: u64,
    /// Files that the starts used.
    pub used: u64,
    /// Bytes of the pages that the starts used.
    pub used_bytes: u64,
    /// The image.
    pub form: SquashfsForm,
    /// What the starts would decompress with blocks of other sizes, the smallest first.
    pub blocks: Vec<BlockCost>,
    /// Notes, a sentence each.
    pub notes: Vec<String>,
}

/// What starts decompress with blocks of one size.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BlockCost {
    /// In bytes.
    pub block_size: u32,
    /// Bytes of the blocks that the starts use, decompressed; at least.
    pub decompressed: u64,
}

/// Looks at an AppImage, and writes nothing.
///
/// # Errors
/// If the file is damaged or no AppImage of type 2, no trace used it, or squashfs-tools are missing.
pub fn diagnose_appimage(options: &DiagnosisOptions) -> Result<AppImageDiagnosis, AppError> {
    let interrupt = Interrupt::listen()?;
    if let Some(root) = &options.trace_root {
        reading::directory("the root of the traces", root)?;
    }
    let cannot = || format!("cannot read the AppImage `{}`", printable(&options.file));
    let file = open_regular(&options.file).with_context(cannot)?;
    let view = FileView::map(&file).with_context(cannot)?;
    let image = AppImage::read(view.bytes()).map_err(|error| error.within(cannot()))?;
    let traces = options.traces.iter().map(|path| trace_with_pages(path)).collect::<Result<Vec<_>, _>>()?;
    let room = tempfile::tempdir().context("cannot make a directory for the image's files")?;
    let files = room.path().join("files");
    tools::extract(&tools::name_for_others(&file), image.image, &files, &interrupt)?;
    let entries = tree::entries_of(&files, &interrupt)?;
    let mut notes = Vec::new();
    let used = used_files(&options.file, options.trace_root.as_deref(), &traces, &entries, &mut notes)?;
    let with_blocks = |size: u64| decompressed(&used, &entries, size);
    let own = with_blocks(u64::from(image.superblock.block_size));
    notes.extend(advice(&image.superblock, own, with_blocks(USUAL_BLOCK)));
    Ok(AppImageDiagnosis {
        shown: JsonPath::new(&options.file),
        path: options.file.clone(),
        is_signed: !image.signatures.is_empty(),
        files: entries.iter().filter_map(size_of).count() as u64,
        file_bytes: entries.iter().filter_map(size_of).sum(),
        used: used.len() as u64,
        used_bytes: used.iter().flat_map(|file| &file.ranges).map(|(_, length)| *length).sum(),
        form: SquashfsForm {
            compression: image.superblock.compression,
            block_size: image.superblock.block_size,
            bytes: image.superblock.size,
            decompressed: own,
        },
        // squashfs has powers of two from 4 KiB to 1 MiB.
        blocks: [4 << 10, 16 << 10, 64 << 10, 128 << 10, 256 << 10, 1 << 20]
            .into_iter()
            .map(|block_size| BlockCost { block_size, decompressed: with_blocks(u64::from(block_size)) })
            .collect(),
        notes,
    })
}
