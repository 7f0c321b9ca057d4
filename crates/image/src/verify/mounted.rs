//! The same comparison with the kernel as the reader: through a mount that nobody else sees.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_sys::facility_error::FacilityError;
use coldstart_sys::image_mount::ImageMount;
use coldstart_sys::named_file::{LastLink, NamedFile};

use crate::tree::{DescribedKind, describe};

use super::compare::{CompareError, Comparer, Comparison, Scope, read_up_to};

/// Compares an image, as the kernel sees it, with the tree below `root`; `Err` on the outside where it cannot be mounted here.
///
/// # Errors
/// [`FacilityError`] from mounting; inside, [`CompareError`].
pub fn compare_mounted(
    image: &File,
    root: &Path,
    scope: &Scope,
) -> Result<Result<Comparison, CompareError>, FacilityError> {
    let mount = ImageMount::erofs(image)?;
    Ok(compare_trees(&mount.root(), root, scope))
}

/// Compares the tree at `image` with the tree at `root`, as if the first were an image.
///
/// # Errors
/// [`CompareError::Tree`].
pub fn compare_trees(image: &Path, root: &Path, scope: &Scope) -> Result<Comparison, CompareError> {
    let mut comparer = Comparer::new(root, scope);
    let mut pending = vec![PathBuf::from("/")];
    while let Some(path) = pending.pop() {
        let inside = image.join(path.strip_prefix("/").unwrap_or(&path));
        // The path of a mount's descriptor is a link to it.
        let looked = if path == Path::new("/") { inside.join(".") } else { inside.clone() };
        let described = describe(&looked).map_err(CompareError::tree(&inside))?;
        let file = match described.kind {
            DescribedKind::Regular(_) => {
                let opened = NamedFile::find(&inside, LastLink::Keep).and_then(|file| file.open_quietly());
                Some(opened.map_err(CompareError::tree(&inside))?.0)
            }
            _ => None,
        };
        let bytes = |offset: u64, buffer: &mut [u8]| {
            let Some(file) = &file else { return Ok(()) };
            match read_up_to(file, buffer, offset).map_err(CompareError::tree(&inside))? {
                length if length == buffer.len() => Ok(()),
                _ => Err(CompareError::tree(&inside)(io::ErrorKind::UnexpectedEof.into())),
            }
        };
        comparer.compare(&path, &described, &bytes)?;
        if described.kind == DescribedKind::Directory {
            let names = std::fs::read_dir(&looked).and_then(|names| names.collect::<io::Result<Vec<_>>>());
            let mut names = names.map_err(CompareError::tree(&inside))?;
            names.sort_by_key(|name| std::cmp::Reverse(name.file_name()));
            pending.extend(names.into_iter().map(|name| path.join(name.file_name())));
        }
    }
    comparer.finish()
}
