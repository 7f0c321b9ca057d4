//! What is saved comes back, page by page, and what cannot is named.

use serde_json::Value;

use super::scene::{
    PAGES, PATTERNS, alone, coldstart, conversation, json, resident, restored_exactly, scratch, skip, tree, undisturbed,
};
use crate::cached::file_with;
use crate::cold::make_cold;

#[test]
fn a_tree_is_saved_and_added_again() {
    let _undisturbed = undisturbed();
    let (directory, held) = tree();
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["save", "state", "tree"])), @r"
    $ coldstart pagecache save state tree
    exit: 0
    --- stdout
    saved 98 pages (401 kB) of 4 files to `state`
    with [N] directories and 1 symbolic link on the way to them
    --- stderr
    ");
    drop(held);
    for (name, ..) in PATTERNS {
        make_cold(&directory.path().join("tree").join(name));
    }
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["restore", "--add", "state"])), @r"
    $ coldstart pagecache restore --add state
    exit: 0
    --- stdout
    asked back missing extra
    pages of files 98 98 0 0
    pages of block devices [N]
    directories [N]
    symbolic links 1 1 0 -
    --- stderr
    ");
    restored_exactly(directory.path(), &["restore", "--add", "--json", "state"]);
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 2, "nothing but the tree and the state: {left:?}");
}

#[test]
fn what_is_gone_or_changed_is_named() {
    let _undisturbed = undisturbed();
    let (directory, _held) = tree();
    let tree = directory.path().join("tree");
    assert_eq!(json(directory.path(), &["save", "--json", "state", "tree"]).0, 0);
    std::fs::remove_file(tree.join("half")).unwrap();
    std::fs::write(tree.join("hot"), "other").unwrap();
    let said = conversation(coldstart(directory.path(), &["restore", "--add", "state"]));
    // The front of a long path is cut.
    let mut settings = insta::Settings::clone_current();
    settings.add_filter(r"pages of \S*tree/", "pages of [TREE]/");
    settings.bind(|| {
        insta::assert_snapshot!(said, @r"
    $ coldstart pagecache restore --add state
    exit: 1
    --- stdout
    asked back missing extra
    pages of files 98 68 30 0
    pages of block devices [N]
    directories [N]
    symbolic links 1 1 0 -

    missing
      20 pages of [TREE]/half: it does not exist any more
      10 pages of [TREE]/hot: it has changed
    --- stderr
    ")
    });
    let (code, restored) = json(directory.path(), &["restore", "--add", "--json", "state"]);
    assert_eq!((code, &restored["schema"]), (1, &Value::from("coldstart.pagecache.restore/1")));
    let reasons: Vec<_> = restored["missing"].as_array().unwrap().iter().map(|missing| &missing["reason"]).collect();
    assert_eq!(reasons.len(), 2);
    assert!(reasons.contains(&&Value::from("gone")) && reasons.contains(&&Value::from("changed")), "{restored}");
}

#[test]
fn a_dropped_cache_comes_back_page_by_page() {
    let _alone = alone();
    if !rustix::process::geteuid().is_root() {
        return skip("only root may drop the page cache");
    }
    let (directory, held) = tree();
    let (code, saved) = json(directory.path(), &["save", "--json", "state", "tree"]);
    assert_eq!((code, &saved["pages"], &saved["files"]), (0, &Value::from(PAGES), &Value::from(4)), "{saved}");
    drop(held);
    // Must go: it was not saved.
    drop(file_with(&directory.path().join("tree/cold"), 100, &[(7, 3)]));
    let restored = restored_exactly(directory.path(), &["restore", "--json", "state"]);
    assert_eq!((&restored["dropped"], &restored["files"]["asked"]), (&Value::from(true), &Value::from(PAGES)));
    assert_eq!(restored["files"]["extra"], 0, "{restored}");
    assert_eq!(resident(&directory.path().join("tree/cold")), []);
    assert_eq!(restored["saved"]["this_boot"], true);
}

#[test]
fn nothing_saved_is_nothing_to_restore() {
    let _undisturbed = undisturbed();
    let directory = scratch();
    std::fs::create_dir(directory.path().join("empty")).unwrap();
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["save", "state", "empty"])), @r"
    $ coldstart pagecache save state empty
    exit: 0
    --- stdout
    saved 0 pages (0 B) of 0 files to `state`
    with [N] directories and 0 symbolic links on the way to them
    --- stderr
    ");
    insta::assert_snapshot!(conversation(coldstart(directory.path(), &["restore", "--add", "state"])), @r"
    $ coldstart pagecache restore --add state
    exit: 0
    --- stdout
    asked back missing extra
    pages of files 0 0 0 0
    pages of block devices [N]
    directories [N]
    symbolic links 0 0 0 -
    --- stderr
    note: the saved page cache has no pages of files
    ");
}
