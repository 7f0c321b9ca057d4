//! What binding did, in words.

use coldstart_bind::{BindPlan, Caution, KeepReason, Mode, Predicted, Writer};
use coldstart_rewrite::{SearchRoom, SearchSummary};

use crate::output::path::printable;
use crate::output::text::{counted, escaped, number, size};

/// Names that are told before "and N more".
const SOME: usize = 4;

/// What a start tries in vain, before and after.
pub(super) fn probes(predicted: &Predicted, mode: Mode) -> String {
    let before = counted(predicted.failed_probes_before as u64, "failed probe");
    let after = number(predicted.failed_probes_after as u64);
    let rest = match (mode, predicted.failed_probes_after) {
        (_, 0) => "",
        (Mode::Audit, _) => ", for names that the table does not answer",
        (Mode::Soname, _) => ", as foreseen",
        _ => "",
    };
    let libraries = counted(predicted.objects as u64, "library");
    format!("{libraries}: {before} before, {after} after{rest}")
}

/// The folder of links, or what stands in its place.
pub(super) fn links(plan: &BindPlan) -> String {
    let Some(farm) = &plan.farm else { return String::new() };
    let links = counted(farm.links.len() as u64, "link");
    format!("{links} in `{}`, first on the search path as `{}`", printable(&farm.directory), escaped(&farm.text))
}

/// What became of the file.
pub(super) fn file(summary: &SearchSummary) -> String {
    let sizes = format!("{} before, {} after", size(summary.size_before), size(summary.size_after));
    let room = match summary.room {
        SearchRoom::SegmentGrown => "its last segment grew",
        SearchRoom::NewSegmentInstead | SearchRoom::NewSegment => "one segment more",
    };
    let moved = if summary.dynamic_moved { ", with the dynamic table, which is writable there" } else { "" };
    format!("{sizes}; {room}{moved}")
}

/// Something the user should know, as a sentence.
pub(in crate::commands) fn caution(caution: &Caution) -> String {
    match caution {
        Caution::NotOverridable { libraries } => format!(
            "LD_LIBRARY_PATH no longer replaces {}: the program has an RPATH, which goes before it",
            names(libraries)
        ),
        Caution::NowOverridable { libraries } => {
            format!("LD_LIBRARY_PATH now replaces {}, which an RPATH protected from it", names(libraries))
        }
        Caution::KeepsPath { library, reason, failed_probes } => {
            let why = match reason {
                KeepReason::OpensByOrigin => "opens others beside itself ($ORIGIN)",
                KeepReason::NeedsByOrigin => "needs others by their place beside itself ($ORIGIN)",
                KeepReason::AsksOwnPath => "can ask by which path it was opened (dladdr), to look beside itself",
                KeepReason::Asked => "was to keep its path",
            };
            let probes = counted(*failed_probes as u64, "failed probe");
            format!("`{}` {why}, so that it has no link and costs {probes}", escaped(library))
        }
        Caution::NotSearched { library } => {
            format!("`--keep-path {}`: the program searches for no library of that name", escaped(library))
        }
        Caution::InheritedPathLost { library, from } => {
            format!("what `{}` opens later is no longer searched by the RPATH of `{}`", escaped(library), escaped(from))
        }
        Caution::LdLibraryPathLost => "LD_LIBRARY_PATH no longer replaces any library".to_owned(),
        Caution::PreloadTwice => {
            "a library in LD_PRELOAD that is needed, too, is loaded twice unless it is the very same file".to_owned()
        }
        Caution::NameIsNotSoname { library, soname } => {
            let soname =
                soname.as_deref().map_or("no name of its own".to_owned(), |name| format!("`{}`", escaped(name)));
            format!("`{}` is asked for by a name that is not its own ({soname})", escaped(library))
        }
        Caution::ResidualProbes { count } => {
            format!("{} remain because of such names", counted(*count as u64, "failed probe"))
        }
        Caution::LevelFrozen { levels } if levels.is_empty() => {
            "only plain libraries are linked; this machine has variants for processor levels".to_owned()
        }
        Caution::LevelFrozen { levels } => {
            format!("only variants for {} are linked; there are others", escaped(&levels.join(", ")))
        }
        Caution::OriginMoves => {
            "$ORIGIN in its search path means another folder now, because the bound program stands in another"
                .to_owned()
        }
        Caution::AuditLibraryWritable { path, by } => {
            let by = match by {
                Writer::Others => "every user",
                Writer::Group => "its group, which may not write to the program,",
                Writer::Owner => "its owner, who does not own the program,",
            };
            format!("{by} may write to `{}`, and so run code in the program", printable(path))
        }
        Caution::NameWithoutMeaning { name } => {
            format!("`{}` has no meaning on this machine, and stands last now", escaped(name))
        }
    }
}

/// A few names and how many more.
fn names(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(SOME).map(|name| format!("`{}`", escaped(name))).collect();
    let more = names.len().saturating_sub(SOME);
    let shown = shown.join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}
