//! Whether a program is the same with its index: the same modules from the same files, the same output and end.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use coldstart_index::log;
use coldstart_profile::printable;

use crate::speedup::sameness::{Start, compare};

/// Differences that are told of each kind.
const MOST_TOLD: usize = 5;

/// What was found and what was missing in a start.
pub(super) type Answers = BTreeSet<(u8, Vec<Vec<u8>>)>;

/// Differences of modules between starts without the index and with it, as clauses. What differs between plain starts is left out.
pub(super) fn of_modules(plain: &[&Answers], indexed: &Answers) -> Vec<String> {
    let (Some(first), rest) = (plain.first(), plain.iter().skip(1)) else { return Vec::new() };
    let mut common = (*first).clone();
    let mut any = (*first).clone();
    for other in rest {
        common.retain(|answer| other.contains(answer));
        any.extend(other.iter().cloned());
    }
    let mut told = Vec::new();
    tell(&mut told, common.difference(indexed).map(|answer| format!("without the index {}", clause(answer))));
    tell(&mut told, indexed.difference(&any).map(|answer| format!("with the index {}", clause(answer))));
    told
}

fn clause((kind, fields): &(u8, Vec<Vec<u8>>)) -> String {
    let field = |number: usize| {
        let bytes = fields.get(number).map(Vec::as_slice).unwrap_or_default();
        crate::text::harmless(bytes)
    };
    match (kind, field(2)) {
        (b'M', _) => format!("the module `{}` is missing", field(0)),
        (_, origin) if origin.is_empty() => format!("the module `{}` is a namespace", field(0)),
        (_, origin) => format!("the module `{}` comes from `{origin}`", field(0)),
    }
}

/// Differences of opened files below the index's directories, as clauses. `may_be_unread` tells files whose content is in the index.
pub(super) fn of_files(
    plain: &[BTreeSet<PathBuf>],
    indexed: &BTreeSet<PathBuf>,
    may_be_unread: &dyn Fn(&Path) -> bool,
) -> Vec<String> {
    let (Some(first), rest) = (plain.first(), plain.iter().skip(1)) else { return Vec::new() };
    let mut common = first.clone();
    let mut any = first.clone();
    for other in rest {
        common.retain(|file| other.contains(file));
        any.extend(other.iter().cloned());
    }
    let mut told = Vec::new();
    let unread = common.difference(indexed).filter(|file| !may_be_unread(file));
    tell(&mut told, unread.map(|file| format!("without the index `{}` is opened", printable(file))));
    tell(&mut told, indexed.difference(&any).map(|file| format!("with the index `{}` is opened", printable(file))));
    told
}

fn tell(told: &mut Vec<String>, differences: impl Iterator<Item = String>) {
    let mut more = 0_usize;
    for (number, difference) in differences.enumerate() {
        match number < MOST_TOLD {
            true => told.push(difference),
            false => more += 1,
        }
    }
    if more > 0 {
        told.push(format!("and {more} more"));
    }
}

/// The comparison of ends and outputs: differences, and what could not be compared, as clauses.
pub(super) fn of_outputs(plain: &[Start], indexed: &Start) -> (Vec<String>, Vec<String>) {
    let found = compare(plain, std::slice::from_ref(indexed));
    (if found.differs { found.findings } else { Vec::new() }, found.unchecked)
}

/// The answers in a log.
pub(super) fn answers(bytes: &[u8]) -> Answers {
    log::answers(&log::parse(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_without_the_index_is_no_difference() {
        let plain = answers(b"F\t1\ta\tL\t/x/a.py\t0\nM\t1\tsometimes\n");
        let again = answers(b"F\t1\ta\tL\t/x/a.py\t0\n");
        assert_eq!(of_modules(&[&plain, &again], &again), Vec::<String>::new());
        assert_eq!(of_modules(&[&plain], &again), ["without the index the module `sometimes` is missing"]);
        let other = answers(b"F\t1\ta\tL\t/y/a.py\t0\n");
        assert_eq!(
            of_modules(&[&plain, &again], &other),
            [
                "without the index the module `a` comes from `/x/a.py`",
                "with the index the module `a` comes from `/y/a.py`"
            ]
        );
    }

    #[test]
    fn files_whose_content_is_in_the_index_need_not_be_opened() {
        let set = |names: &[&str]| names.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
        let packed = |file: &Path| file == Path::new("/a.py");
        let plain = [set(&["/a.py", "/b.so"])];
        assert_eq!(of_files(&plain, &set(&["/b.so"]), &packed), Vec::<String>::new());
        assert_eq!(
            of_files(&plain, &set(&["/c.so"]), &packed),
            ["without the index `/b.so` is opened", "with the index `/c.so` is opened"]
        );
    }
}
