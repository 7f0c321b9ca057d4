//! The classes of a Java run time that starts used, for `jlink`.

use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use coldstart_archive::jimage::{resources, used_resources};
use coldstart_archive::list::UsedFile;
use coldstart_profile::printable;
use coldstart_profile::trace::Trace;
use coldstart_sys::file_view::FileView;
use coldstart_sys::named_file::open_regular;

use super::files::FilesOptions;
use super::used_pages::used_pages;
use crate::error::{AppError, HintExt};

/// The file with all classes, below the directory of a run time.
const MODULES: &str = "lib/modules";

/// The resources of the run time that starts used, in the order of their first use.
pub(super) fn resources_of(
    options: &FilesOptions,
    traces: &[Trace],
    notes: &mut Vec<String>,
) -> Result<Vec<UsedFile>, AppError> {
    let path = match &options.root {
        Some(root) => root.join(MODULES),
        None => modules_of(traces)?,
    };
    let cannot = || format!("cannot use the modules `{}`", printable(&path));
    let view = FileView::map(&open_regular(&path).with_context(cannot)?).with_context(cannot)?;
    let all = resources(view.bytes()).with_context(cannot)?;
    if view.shrank() {
        return Err(AppError::new(format!("`{}` became shorter while it was read", printable(&path))));
    }
    let used = used_resources(&all, &used_pages(&path, &options.traces)?);
    let archive = traces.iter().flat_map(|trace| &trace.files).find(|file| is_archive_of_classes(&file.path));
    if let Some(archive) = archive {
        notes.push(format!(
            "the classes in the archive `{}` were not read from the modules, and are not listed: with that archive, their order costs and saves little",
            printable(&archive.path)
        ));
    }
    Ok(used)
}

/// Archives of class data sharing.
fn is_archive_of_classes(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "jsa")
}

/// The modules that the starts opened.
fn modules_of(traces: &[Trace]) -> Result<PathBuf, AppError> {
    let opened = traces.iter().flat_map(|trace| &trace.files).map(|file| file.path.as_path());
    let mut modules: Vec<&Path> = opened.filter(|path| path.ends_with(MODULES)).collect();
    modules.sort_unstable();
    modules.dedup();
    match modules.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => Err(anyhow!("no traced start read the modules of a Java run time (`{MODULES}`)"))
            .hint(|| "record a start of the image that `jlink` wrote, as root"),
        [first, second, ..] => Err(anyhow!(
            "the traced starts used several Java run times, `{}` and `{}`",
            printable(first),
            printable(second)
        ))
        .hint(|| "name the directory of one with --root"),
    }
}
