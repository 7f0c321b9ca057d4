//! Hints for files that cannot be restored as they are.

use std::path::Path;

use coldstart_profile::escaped;
use coldstart_rewrite::{Change, Pass, Refusal};

use crate::command;
use crate::rewriting::Refused;

/// The hint for a file that was changed after coldstart wrote it, by the name of its last edit. Its commands are quoted for
/// a shell.
pub fn changed_file_hint(path: &Path, change: &Change, edit: Option<&str>) -> String {
    let verb = match edit {
        Some(edit) if Pass::is_edit(edit) => Some("unpack"),
        Some("bind") => Some("unbind"),
        _ => None,
    };
    let undo = |verb: &str, option: &str| command::of_ours_in_prose(&format!("{verb} --in-place {option}"), path);
    match (change, verb) {
        (Change::Appended { size_before, .. }, verb) => {
            let keep =
                verb.map(|verb| format!("`{}` keeps them after the restored file; ", undo(verb, "--keep-payload")));
            let truncate = command::in_prose(&["truncate", "-s", &size_before.to_string()], path);
            format!("{}`{truncate}` removes the appended bytes", keep.unwrap_or_default())
        }
        (Change::Edited { .. }, Some(verb)) => {
            format!("`{}` restores the original without the changes, if possible", undo(verb, "--discard-changes"))
        }
        _ => Refusal::ChangedSince(change.clone()).hint().unwrap_or_default(),
    }
}

/// The refusal if the file's last edit is not the one to undo.
pub fn other_edit(last: &str) -> Refused {
    let reason = match last {
        "bind" => "its last edit is a binding".to_owned(),
        last if Pass::is_edit(last) => "its last edit is packing".to_owned(),
        "nix-note" => "its last edit is a resolution note for Nix's loader".to_owned(),
        last => format!("its last edit is `{}`", escaped(last)),
    };
    Refused { code: "other-edit", reason, hint: taken_back_by(last) }
}

/// The hint to undo an edit of coldstart first, by its name in the note.
pub fn taken_back_by(edit: &str) -> Option<String> {
    let verb = match edit {
        "bind" => "unbind --in-place FILE",
        edit if Pass::is_edit(edit) => "unpack --in-place FILE",
        "nix-note" => "ldcache write --note FILE --remove --in-place",
        _ => return None,
    };
    Some(format!("`coldstart {verb}` undoes that first"))
}
