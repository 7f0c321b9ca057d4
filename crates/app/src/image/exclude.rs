//! Files that an image is made without (`image make --exclude`).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use coldstart_image::{Entry, EntryKind, HotOrder};

/// Leaves out what is excluded, and everything below it. The first of the other names of a file that is left out keeps its content. A tree of
/// which something is left out is not whole any more.
pub(super) fn leave_out(exclude: &[PathBuf], entries: &mut Vec<Entry>, trees: &mut Vec<PathBuf>, hot: &mut HotOrder) {
    let is_out = |path: &Path| exclude.iter().any(|excluded| path.starts_with(excluded));
    let (out, mut kept): (Vec<Entry>, Vec<Entry>) =
        std::mem::take(entries).into_iter().partition(|entry| is_out(&entry.path));
    let mut contents: HashMap<PathBuf, EntryKind> = out.into_iter().map(|entry| (entry.path, entry.kind)).collect();
    let mut firsts: HashMap<PathBuf, PathBuf> = HashMap::new();
    for entry in &mut kept {
        let EntryKind::HardLink(first) = &entry.kind else { continue };
        if let Some(new) = firsts.get(first) {
            entry.kind = EntryKind::HardLink(new.clone());
        } else if let Some(content) = contents.remove(first) {
            firsts.insert(first.clone(), entry.path.clone());
            entry.kind = content;
        }
    }
    *entries = kept;
    trees.retain(|tree| !exclude.iter().any(|excluded| excluded.starts_with(tree)) && !is_out(tree));
    hot.runs.retain(|run| !is_out(&run.path));
}

#[cfg(test)]
mod tests {
    use std::fs;

    use coldstart_image::HotRun;
    use coldstart_image::tree::Collector;
    use coldstart_profile::PageRange;
    use coldstart_testing::scratch;

    use super::*;

    #[test]
    fn what_is_excluded_is_gone_and_another_name_keeps_the_content() {
        let directory = scratch();
        let root = directory.path().canonicalize().unwrap();
        for name in ["keep/a", "out/first", "outside"] {
            fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            fs::write(root.join(name), name).unwrap();
        }
        for name in ["out-2", "out-3"] {
            fs::hard_link(root.join("out/first"), root.join(name)).unwrap();
        }
        let mut collector = Collector::new(Path::new("/")).unwrap();
        collector.add_tree(&root).unwrap();
        let (mut entries, mut trees) = collector.finish();
        assert_eq!(trees, std::slice::from_ref(&root));
        let run =
            |name: &str| HotRun { path: root.join(name).into(), pages: PageRange::new(0, 1).unwrap(), programs: 1 };
        let runs = ["keep/a", "out/first", "outside"].map(run).to_vec();
        let mut hot = HotOrder { programs: vec!["x".into()], runs, ..HotOrder::default() };
        leave_out(&[root.join("out")], &mut entries, &mut trees, &mut hot);
        assert!(trees.is_empty());
        let kept: Vec<&Path> = hot.runs.iter().map(|run| &*run.path).collect();
        assert_eq!(kept, [root.join("keep/a"), root.join("outside")]);
        let kind = |name: &str| entries.iter().find(|entry| entry.path == root.join(name)).map(|entry| &entry.kind);
        assert!(kind("out").is_none() && kind("out/first").is_none());
        assert!(matches!(kind("outside"), Some(EntryKind::Regular(_))), "only a whole name counts");
        let links: Vec<bool> =
            ["out-2", "out-3"].map(|name| matches!(kind(name), Some(EntryKind::HardLink(_)))).to_vec();
        assert_eq!(links.iter().filter(|is_link| **is_link).count(), 1, "{links:?}");
    }
}
