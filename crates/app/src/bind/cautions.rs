//! What the user of a bound program should know, as sentences.

use coldstart_bind::{Caution, KeepReason, Writer};
use coldstart_profile::{escaped, printable};

use crate::text::counted;

/// Names that are told before "and N more".
const SOME: usize = 4;

/// Something the user should know, as a sentence.
pub fn caution_sentence(caution: &Caution) -> String {
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
