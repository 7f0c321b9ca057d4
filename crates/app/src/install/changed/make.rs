//! The changed file: made from the original by the edits of an installation, each proven.

use std::path::{Path, PathBuf};

use coldstart_launch::Interrupt;
use coldstart_profile::printable;

use super::details::Details;
use crate::error::AppError;
use crate::order::order_by::OrderBy;
use crate::speedup::copies::{TrialDirectory, bound_from, ordered_from, packed_from};

/// A changed file, in a directory of its own on the file system of the original. It is removed when this is dropped.
pub(super) struct Made {
    pub(super) file: PathBuf,
    _directory: TrialDirectory,
}

/// Makes the file that replaces `file` from its `original`, which may have another name meanwhile.
///
/// # Errors
/// An edit that is refused, with its reason; also if there is nothing to gain any more.
pub(super) fn make(original: &Path, file: &Path, edits: &str, details: &Details) -> Result<Made, AppError> {
    let links = details.links.as_ref().map(|links| links.path());
    let interrupt = Interrupt::listen()?;
    let size = original.metadata().map_or(0, |found| found.len());
    let directory = TrialDirectory::beside(original, size.saturating_mul(2), &[])?;
    let mut made = original.to_owned();
    for (number, edit) in edits.split('+').enumerate() {
        let result = directory.path().join(format!("changed-{number}"));
        let refused = |reason: String| AppError::new(format!("cannot {edit} `{}`: {reason}", printable(file)));
        match (edit, links) {
            ("bind", Some(links)) => drop(bound_from(&made, file, &result, links, &interrupt).map_err(refused)?),
            ("order", _) => {
                let names: Vec<PathBuf> = details.order.iter().map(|name| name.path().to_owned()).collect();
                drop(ordered_from(&made, OrderBy::Names(&names), &result, &interrupt).map_err(refused)?);
            }
            ("pack", _) => drop(packed_from(&made, &result, &interrupt).map_err(refused)?),
            _ => return Err(refused("this version of coldstart does not know this edit".to_owned())),
        }
        made = result;
    }
    Ok(Made { file: made, _directory: directory })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use coldstart_install::Stored;
    use coldstart_testing::{scratch, succeed};

    use super::*;

    #[test]
    fn an_archive_of_a_later_version_is_put_into_order_by_its_names() {
        let directory = scratch();
        let path = |name: &str| directory.path().join(name);
        let write = |entries: &str| {
            let script = format!(
                "import zipfile\nz = zipfile.ZipFile('data.zip', 'w')\nfor n in {entries}: z.writestr(n, n * 9000)"
            );
            succeed(Command::new("python3").args(["-c", &script]).current_dir(directory.path()));
        };
        let details = Details {
            records: Stored::default(),
            registry: Stored::default(),
            installation: Stored::default(),
            links: None,
            order: ["gone", "c", "b"].map(Stored::new).into(),
        };
        let made = || make(&path("data.zip"), &path("data.zip"), "order", &details);
        write("'abcd'");
        let file = made().unwrap();
        let list = "import sys, zipfile\nprint(*[e.filename for e in sorted(zipfile.ZipFile(sys.argv[1]).infolist(), key=lambda e: e.header_offset)])";
        let listed = succeed(Command::new("python3").args(["-c", list]).arg(&file.file));
        assert_eq!(listed, "c b a d\n");
        // Of another program, it is not put into an order that means nothing.
        write("'xyz'");
        let refused = made().err().unwrap().sentence();
        assert!(refused.contains("none of the entries that a start used"), "{refused}");
    }
}
