//! `order appimage`: an AppImage with the files of its image in the order of a start.
//!
//! | step | file |
//! |---|---|
//! | the runtime, the image and what signs them | `file.rs` |
//! | squashfs-tools | `tools.rs` |
//! | the files of an image, and a digest of them | `tree.rs` |
//! | what the image costs a start, without a new one | `diagnosis.rs` |
//!
//! Not obvious: the image is compressed anew, so that the proof compares files and not bytes: both images are extracted.

mod diagnosis;
mod file;
mod tools;
mod tree;

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, Permissions};
use std::io::{BufWriter, Read, Write};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_archive::list::{ListForm, UsedFile};
use coldstart_image::{Entry, EntryKind};
use coldstart_launch::Interrupt;
use coldstart_output::{OutputTarget, StagedFile};
use coldstart_profile::trace::Trace;
use coldstart_profile::{JsonPath, printable};
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;
use rustix::process::geteuid;
use serde::Serialize;

#[doc(hidden)]
pub mod fuzzing;

pub use self::diagnosis::{AppImageDiagnosis, BlockCost, DiagnosisOptions, diagnose_appimage};
use self::file::{AppImage, Superblock};
use super::files::merged;
use super::order_by::OrderBy;
use super::used_pages::{RECORD, inputs_of};
use crate::error::{AppError, HintExt};
use crate::image::rooted::RootedFiles;
use crate::kinds;
use crate::prefetch::trace_with_pages;
use crate::reading;
use crate::text::{counted_are, plain};
use crate::writing::{AT_ONCE, Watched, try_out};

/// The block size of mksquashfs itself, in bytes.
const USUAL_BLOCK: u64 = 128 << 10;

/// What is put into order.
#[derive(Clone, Debug)]
pub struct AppImageOptions {
    /// The AppImage.
    pub file: PathBuf,
    /// Where to write the new one.
    pub output: PathBuf,
    /// Traces of starts from it.
    pub traces: Vec<PathBuf>,
    /// Where the image was mounted for the starts; the runtime's own `.mount_` directory if `None`.
    pub trace_root: Option<PathBuf>,
    /// The new image's compression, as mksquashfs names it; the old one's if `None`.
    pub compression: Option<&'static str>,
    /// The new image's block size in bytes; the old one's if `None`.
    pub block_size: Option<u32>,
    /// Clear a signature, which would be wrong; otherwise a signed file is refused.
    pub drop_signature: bool,
    /// Replace any file.
    pub force: bool,
}

/// Whether an AppImage of type 2 with a squashfs image is signed; `None` if these bytes are none.
pub(crate) fn appimage_signature(bytes: &[u8]) -> Option<bool> {
    AppImage::read(bytes).ok().map(|image| !image.signatures.is_empty())
}

/// How an image is made, and what a start reads of it.
#[derive(Clone, Debug, Serialize)]
pub struct SquashfsForm {
    /// As mksquashfs names it.
    pub compression: &'static str,
    /// Bytes that are decompressed together.
    pub block_size: u32,
    /// Bytes of the image.
    pub bytes: u64,
    /// Bytes of the blocks that the starts use, decompressed. The last part of a file often shares a block with others, so it is at least this.
    pub decompressed: u64,
}

/// An AppImage in the order of a start.
#[derive(Clone, Debug, Serialize)]
pub struct AppImageOutcome {
    /// The new file.
    #[serde(skip)]
    pub path: PathBuf,
    #[serde(flatten)]
    shown: JsonPath,
    /// Its size in bytes.
    pub bytes: u64,
    /// Regular files of the image.
    pub files: u64,
    /// Files that the starts used.
    pub used: u64,
    /// Bytes of all files.
    pub file_bytes: u64,
    /// Bytes of the pages that the starts used.
    pub used_bytes: u64,
    /// The image as it was.
    pub before: SquashfsForm,
    /// The new image.
    pub after: SquashfsForm,
    /// A digest of all files whatever their order, of both images.
    pub digest: String,
    /// Notes, a sentence each.
    pub notes: Vec<String>,
}

/// Puts the image of an AppImage into the order of starts.
///
/// # Errors
/// If the file is signed, damaged or no AppImage of type 2, no trace used it, squashfs-tools are missing, or the output cannot be
/// written. An existing output is unchanged then.
pub fn order_appimage(options: &AppImageOptions) -> Result<AppImageOutcome, AppError> {
    let interrupt = Interrupt::listen()?;
    let inputs = inputs_of(&options.traces).with(format!("the AppImage `{}`", printable(&options.file)), &options.file);
    let place = OutputTarget::new(&options.output, kinds::REPACKED, options.force)?.not_over(inputs);
    try_out([&place])?;
    if let Some(root) = &options.trace_root {
        reading::directory("the root of the traces", root)?;
    }
    let cannot = || format!("cannot put `{}` into order", printable(&options.file));
    let file = open_regular(&options.file).with_context(cannot)?;
    let view = FileView::map(&file).with_context(cannot)?;
    let old = AppImage::read(view.bytes()).map_err(|error| error.within(cannot()))?;
    if !options.drop_signature {
        old.check_unsigned(&options.file)?;
    }
    let traces = options.traces.iter().map(|path| trace_with_pages(path)).collect::<Result<Vec<_>, _>>()?;
    let mut form = old.superblock.clone();
    form.compression = options.compression.unwrap_or(form.compression);
    form.block_size = options.block_size.unwrap_or(form.block_size);
    let used_of = |entries: &[Entry], notes: &mut Vec<String>| {
        used_files(&options.file, options.trace_root.as_deref(), &traces, entries, notes)
    };
    let is_new = !options.output.exists();
    let staged = place.begin()?;
    let room = std::env::temp_dir();
    let original = Original { path: &options.file, file: &file, view: &view, image: &old, room: &room };
    let Repacked { entries, used, superblock, bytes, digest, mut notes } =
        original.repack(&used_of, &form, &staged, &interrupt)?;
    if is_new {
        let mode = file.metadata().with_context(cannot)?.permissions().mode() & 0o777;
        staged.file().set_permissions(Permissions::from_mode(mode)).with_context(cannot)?;
    }
    place.finish(staged)?;

    let sizes = || entries.iter().filter_map(size_of);
    if !old.signatures.is_empty() {
        notes.push("the signature was cleared: sign the new file".to_owned());
    }
    if old.checksum.is_some() {
        notes.push("the checksum in the runtime (`.digest_md5`) was of the old file, and was cleared".to_owned());
    }
    notes.extend(advice(
        &form,
        decompressed(&used, &entries, u64::from(form.block_size)),
        decompressed(&used, &entries, USUAL_BLOCK),
    ));
    let shown_form = |superblock: &Superblock| SquashfsForm {
        compression: superblock.compression,
        block_size: superblock.block_size,
        bytes: superblock.size,
        decompressed: decompressed(&used, &entries, u64::from(superblock.block_size)),
    };
    Ok(AppImageOutcome {
        shown: JsonPath::new(&options.output),
        path: options.output.clone(),
        bytes,
        files: sizes().count() as u64,
        used: used.len() as u64,
        file_bytes: sizes().sum(),
        used_bytes: used.iter().flat_map(|file| &file.ranges).map(|(_, length)| *length).sum(),
        before: shown_form(&old.superblock),
        after: shown_form(&superblock),
        digest,
        notes,
    })
}

/// Writes an AppImage to `replacement`, where nothing is, with the files that a start used first, and the rest of its form as it was. Returns their
/// names, in their order.
///
/// # Errors
/// As [`order_appimage`]; a signed file is refused.
pub(super) fn ordered_appimage(
    path: &Path,
    by: OrderBy<'_>,
    replacement: &Path,
    interrupt: &Interrupt,
) -> Result<Vec<PathBuf>, AppError> {
    let cannot = || format!("cannot put `{}` into order", printable(path));
    let file = open_regular(path).with_context(cannot)?;
    let view = FileView::map(&file).with_context(cannot)?;
    let image = AppImage::read(view.bytes()).map_err(|error| error.within(cannot()))?;
    image.check_unsigned(path)?;
    let used_of = |entries: &[Entry], notes: &mut Vec<String>| match by {
        OrderBy::Start(trace) => used_files(path, None, std::slice::from_ref(trace), entries, notes),
        OrderBy::Names(names) => {
            let known = names_of(entries);
            let of_name = |name: &PathBuf| UsedFile { path: name.clone(), ranges: Vec::new() };
            let used: Vec<UsedFile> =
                names.iter().filter(|name| known.contains(Path::new("/").join(name).as_path())).map(of_name).collect();
            match used.is_empty() {
                true => Err(AppError::new(format!("`{}` has none of the files that a start used", printable(path)))),
                false => Ok(used),
            }
        }
    };
    let place = OutputTarget::new(replacement, kinds::REPACKED, false)?;
    let staged = place.begin()?;
    // Beside the copy, where it is found and removed after a kill.
    let room = replacement.parent().unwrap_or(Path::new("."));
    let original = Original { path, file: &file, view: &view, image: &image, room };
    let repacked = original.repack(&used_of, &image.superblock, &staged, interrupt)?;
    place.finish(staged)?;
    Ok(repacked.used.into_iter().map(|file| file.path).collect())
}

/// An AppImage that is read.
struct Original<'a> {
    path: &'a Path,
    file: &'a File,
    view: &'a FileView,
    image: &'a AppImage,
    /// The directory for the image's files while it is made anew.
    room: &'a Path,
}

/// What was written.
struct Repacked {
    /// All that the image holds.
    entries: Vec<Entry>,
    used: Vec<UsedFile>,
    /// That of the new image.
    superblock: Superblock,
    /// Bytes of the new file.
    bytes: u64,
    digest: String,
    notes: Vec<String>,
}

/// From what an image holds to the files that come first; adds notes.
type UsedOf<'a> = &'a dyn Fn(&[Entry], &mut Vec<String>) -> Result<Vec<UsedFile>, AppError>;

impl Original<'_> {
    /// Makes the image anew in this form, behind the same runtime without a signature and a checksum, and compares the files of both.
    fn repack(
        &self,
        used_of: UsedOf<'_>,
        form: &Superblock,
        staged: &StagedFile,
        interrupt: &Interrupt,
    ) -> Result<Repacked, AppError> {
        let mut notes = Vec::new();
        let room = tempfile::tempdir_in(self.room).context("cannot make a directory for the image's files")?;
        let tree_before = room.path().join("before");
        let name = tools::name_for_others(self.file);
        tools::extract(&name, self.image.image, &tree_before, interrupt)?;
        let listed = tools::list(&name, self.image.image, interrupt)?;
        let entries = tree::entries_of(&tree_before, interrupt)?;
        let used = used_of(&entries, &mut notes)?;
        let list = ListForm::Squashfs.make(&used);
        if let Some(first) = list.unnamed.first() {
            let count = plain(&counted_are(list.unnamed.len() as u64, "file"));
            notes.push(format!(
                "{count} in no order, because lists have no line breaks; the first: {}",
                printable(first)
            ));
        }
        let order = room.path().join("order");
        fs::write(&order, &list.bytes).context("cannot write the order of the files")?;
        let image = room.path().join("image");
        let owners = owner_of_all(&listed)?;
        let owner = owners.as_ref().map(|(user, group)| (user.as_str(), group.as_str()));
        tools::make(&tree_before, &image, &order, form, owner, interrupt)?;

        let cleared = self.image.signatures.iter().chain(&self.image.checksum).cloned().collect::<Vec<_>>();
        let runtime = self.view.bytes().get(..self.image.image).unwrap_or_default();
        let bytes = write(staged, runtime, &cleared, &image, interrupt)
            .map_err(|error| error.within(format!("cannot put `{}` into order", printable(self.path))))?;
        fs::remove_file(&image).context("cannot remove a temporary image")?;

        let different =
            || format!("the new file does not hold the same as `{}`, and was not kept", printable(self.path));
        let written = FileView::map(staged.file()).with_context(different)?;
        let new = AppImage::read(written.bytes()).map_err(|error| error.within(different()))?;
        let tree_after = room.path().join("after");
        let name = tools::name_for_others(staged.file());
        tools::extract(&name, new.image, &tree_after, interrupt)?;
        let digest = tree::digest(&tree_before, &entries, &listed)?;
        let entries_after = tree::entries_of(&tree_after, interrupt)?;
        let listed_after = tools::list(&name, new.image, interrupt)?;
        let is_cut = self.view.shrank() || written.shrank();
        if is_cut || tree::digest(&tree_after, &entries_after, &listed_after)? != digest {
            return Err(AppError::new(different()));
        }
        Ok(Repacked { entries, used, superblock: new.superblock, bytes, digest, notes })
    }
}

/// The names of an image, with a slash in front.
fn names_of(entries: &[Entry]) -> HashSet<&Path> {
    entries.iter().map(|entry| entry.path.as_path()).collect()
}

/// What would be cheaper to read than this form: of its blocks, and of those of mksquashfs' own size, the starts decompress so
/// many bytes.
fn advice(form: &Superblock, own: u64, usual: u64) -> Vec<String> {
    let mut notes = Vec::new();
    if usual.saturating_mul(5) < own.saturating_mul(4) {
        notes.push(format!(
            "with `--block-size {USUAL_BLOCK}`, these starts would decompress {usual} bytes instead of {own}; the file may become larger"
        ));
    }
    if matches!(form.compression, "xz" | "lzma" | "gzip") {
        notes.push(format!(
            "{} is slower to decompress than zstd: if the runtime can read it, measure a file made with `--compression zstd`",
            form.compression
        ));
    }
    notes
}

/// The files of the image that starts used.
fn used_files(
    file: &Path,
    trace_root: Option<&Path>,
    traces: &[Trace],
    entries: &[Entry],
    notes: &mut Vec<String>,
) -> Result<Vec<UsedFile>, AppError> {
    let known = names_of(entries);
    let mut starts = Vec::new();
    for trace in traces {
        let root = trace_root.map(Path::to_owned).or_else(|| mounted_at(trace));
        let Some(root) = root else { continue };
        let pages = RootedFiles::new(entries, Some(&root)).of_trace(Default::default(), trace);
        if let Some(first) = pages.changed.first() {
            let count = plain(&counted_are(pages.changed.len() as u64, "file"));
            notes.push(format!(
                "{count} left out because of another size or time in the image; the first: {}",
                printable(first)
            ));
        }
        let mut pages = pages.touches.pages;
        pages.retain(|(path, _)| known.contains(path.as_path()));
        starts.push(pages);
    }
    let used = merged(&starts);
    if used.is_empty() {
        return Err(anyhow!("no traced start used a file of `{}`", printable(file))).hint(|| {
            format!("{RECORD}, as root; if the image was not mounted by its runtime, name with `--trace-root` where its files were")
        });
    }
    Ok(used)
}

/// Where a runtime mounted its image: in a directory of its own, `.mount_` and letters.
fn mounted_at(trace: &Trace) -> Option<PathBuf> {
    let mount = |path: &Path| {
        let is_mount =
            |part: &Component<'_>| matches!(part, Component::Normal(name) if name.as_bytes().starts_with(b".mount_"));
        let place = path.components().position(|part| is_mount(&part))?;
        Some(path.components().take(place.saturating_add(1)).collect::<PathBuf>())
    };
    trace.files.iter().find_map(|file| mount(&file.path))
}

/// The owner of all files, for a user other than root, whose extracted files are his own; `None` for root.
fn owner_of_all(listed: &[Vec<u8>]) -> Result<Option<(String, String)>, AppError> {
    if geteuid().is_root() {
        return Ok(None);
    }
    let owner = |line: &[u8]| {
        let words = String::from_utf8_lossy(line).into_owned();
        let (user, group) = words.split_whitespace().nth(1)?.split_once('/')?;
        user.parse::<u32>().ok().zip(group.parse::<u32>().ok())?;
        Some((user.to_owned(), group.to_owned()))
    };
    let mut owners = listed.iter().filter_map(|line| owner(line));
    let first = owners.next();
    match owners.all(|other| Some(&other) == first.as_ref()) {
        true => Ok(first),
        false => Err(AppError::hinted(
            anyhow!("the files of the image have several owners, which only root can keep"),
            "run it as root",
        )),
    }
}

/// Copies the runtime without what is cleared, and the image. Returns the size in bytes.
fn write(
    staged: &StagedFile,
    runtime: &[u8],
    cleared: &[Range<usize>],
    image: &Path,
    interrupt: &Interrupt,
) -> Result<u64, AppError> {
    let mut runtime = runtime.to_vec();
    for range in cleared {
        if let Some(bytes) = runtime.get_mut(range.clone()) {
            bytes.fill(0);
        }
    }
    let mut out = BufWriter::with_capacity(AT_ONCE, Watched::new(staged.file(), Some(interrupt)));
    out.write_all(&runtime)?;
    let mut image = File::open(image)?;
    let mut buffer = vec![0; AT_ONCE / 2];
    loop {
        let count = image.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        out.write_all(buffer.get(..count).unwrap_or_default())?;
    }
    out.flush()?;
    Ok(out.get_ref().count())
}

fn size_of(entry: &Entry) -> Option<u64> {
    match &entry.kind {
        EntryKind::Regular(content) => Some(content.size),
        _ => None,
    }
}

/// Bytes of the blocks that hold what was used.
fn decompressed(used: &[UsedFile], entries: &[Entry], block: u64) -> u64 {
    let sizes: HashMap<&Path, u64> =
        entries.iter().filter_map(|entry| Some((entry.path.strip_prefix("/").ok()?, size_of(entry)?))).collect();
    let mut bytes = 0u64;
    for file in used {
        let Some(size) = sizes.get(file.path.as_path()) else { continue };
        let mut blocks: Vec<u64> = Vec::new();
        for (offset, length) in &file.ranges {
            let end = offset.saturating_add(*length).min(*size);
            let first = offset.checked_div(block).unwrap_or_default();
            blocks.extend(first..end.div_ceil(block.max(1)).max(first));
        }
        blocks.sort_unstable();
        blocks.dedup();
        let of_block = |number: &u64| size.saturating_sub(number.saturating_mul(block)).min(block);
        bytes = bytes.saturating_add(blocks.iter().map(of_block).sum());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use coldstart_image::{Attributes, Content, Source};

    use super::*;

    #[test]
    fn a_block_counts_once_and_the_last_one_only_as_far_as_its_file_goes() {
        let content = Content { size: 300_000, holes: Vec::new(), source: Source::File("/a".into()), origin: None };
        let entries =
            [Entry { path: "/a".into(), attributes: Attributes::default(), kind: EntryKind::Regular(content) }];
        let used = [UsedFile { path: "a".into(), ranges: vec![(0, 4096), (8192, 4096), (299_008, 4096)] }];
        assert_eq!(decompressed(&used, &entries, 131_072), 131_072 + 300_000 - 2 * 131_072);
        assert_eq!(decompressed(&used, &entries, 1 << 20), 300_000);
        assert_eq!(decompressed(&used, &entries, 4096), 4096 * 2 + 300_000 - 299_008);
    }
}
