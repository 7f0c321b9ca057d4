//! Cautions about a bound program as sentences.

use coldstart_bind::{Caution, KeepReason, Writer};
use coldstart_profile::{escaped, printable};

use crate::text::counted;

/// Maximum number of names before "and N more".
const SOME: usize = 4;

/// A caution as a sentence.
pub fn caution_sentence(caution: &Caution) -> String {
    match caution {
        Caution::NotOverridable { libraries } => format!(
            "LD_LIBRARY_PATH no longer overrides {}: the program has an RPATH, which is searched first",
            names(libraries)
        ),
        Caution::NowOverridable { libraries } => {
            format!("LD_LIBRARY_PATH now overrides {}, which an RPATH prevented before", names(libraries))
        }
        Caution::KeepsPath { library, reason, failed_probes } => {
            let why = match reason {
                KeepReason::OpensByOrigin => "opens libraries relative to itself ($ORIGIN)",
                KeepReason::NeedsByOrigin => "needs libraries relative to itself ($ORIGIN)",
                KeepReason::AsksOwnPath => "can query its own path (dladdr) to find files relative to it",
                KeepReason::Asked => "keeps its path on request",
            };
            let probes = counted(*failed_probes as u64, "failed probe");
            format!("`{}` {why}; it has no link and costs {probes}", escaped(library))
        }
        Caution::NotSearched { library } => {
            format!("`--keep-path {}`: the program does not search for a library of that name", escaped(library))
        }
        Caution::InheritedPathLost { library, from } => {
            format!(
                "libraries that `{}` opens later are no longer searched on the RPATH of `{}`",
                escaped(library),
                escaped(from)
            )
        }
        Caution::LdLibraryPathLost => "LD_LIBRARY_PATH no longer overrides any library".to_owned(),
        Caution::PreloadTwice => "a needed library in LD_PRELOAD is loaded twice unless it is the same file".to_owned(),
        Caution::NameIsNotSoname { library, soname } => {
            let soname = soname.as_deref().map_or("no soname".to_owned(), |name| format!("`{}`", escaped(name)));
            format!("`{}` is requested by a name other than its soname ({soname})", escaped(library))
        }
        Caution::ResidualProbes { count } => {
            format!("{} remain because of such names", counted(*count as u64, "failed probe"))
        }
        Caution::LevelFrozen { levels } if levels.is_empty() => {
            "only baseline libraries are linked; this machine has variants for processor levels".to_owned()
        }
        Caution::LevelFrozen { levels } => {
            format!("only variants for {} are linked; there are others", escaped(&levels.join(", ")))
        }
        Caution::OriginMoves => {
            "$ORIGIN in its search path now means another directory, because the bound program is in another one"
                .to_owned()
        }
        Caution::AuditLibraryWritable { path, by } => {
            let by = match by {
                Writer::Others => "every user",
                Writer::Group => "its group, which cannot write to the program,",
                Writer::Owner => "its owner, which does not own the program,",
            };
            format!("{by} can write to `{}` and thereby run code in the program", printable(path))
        }
        Caution::NameWithoutMeaning { name } => {
            format!("`{}` has no meaning on this machine and is now last", escaped(name))
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
