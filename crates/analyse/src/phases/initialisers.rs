//! Functions that run before `main`, or at the end of a `dlopen`: by object, and one by one.

use std::collections::HashSet;

use coldstart_profile::trace::{FileId, Known, Moment, PhaseKind};

use super::timeline::Called;
use super::tree::{Node, Tree, Wanted};

/// Adds what was called inside a stage that ends at `end`, in order of time. `last_known` says how the end of the last one is
/// known; of the others it is the call of the next one, which comes at once.
pub(super) fn add(tree: &mut Tree, stage: Node, called: &[&Called], end: Moment, last_known: Known) {
    let mut left = called;
    while let Some(first) = left.first() {
        let count = left.iter().take_while(|called| called.object == first.object).count();
        let (group, rest) = left.split_at_checked(count).unwrap_or((left, &[]));
        left = rest;
        let (until, known) = rest.first().map_or((end, last_known), |next| (next.at, Known::Exactly));
        let wanted = Wanted::new(PhaseKind::Initialisers, first.at, until, known).of(first.file);
        let Some(object) = tree.add(Some(stage), wanted) else { continue };
        for (number, called) in group.iter().enumerate() {
            let next = group.get(number.saturating_add(1));
            let (until, known) = next.map_or((until, known), |next| (next.at, Known::Exactly));
            let wanted = Wanted::new(PhaseKind::Initialiser, called.at, until, known).of(called.file);
            tree.add(Some(object), Wanted { address: Some(called.address), ..wanted });
        }
    }
}

/// The initialisers of a stretch of time that belong to no `dlopen`.
pub(super) fn unclaimed<'all>(
    called: &'all [Called],
    claimed: &HashSet<usize>,
    begin: Moment,
    end: Moment,
) -> Vec<&'all Called> {
    let inside = called.iter().enumerate().filter(|(_, called)| begin <= called.at && called.at < end);
    inside.filter(|(number, _)| !claimed.contains(number)).map(|(_, called)| called).collect()
}

/// The files of objects, each once.
pub(super) fn files(files: impl IntoIterator<Item = FileId>) -> HashSet<FileId> {
    files.into_iter().collect()
}
