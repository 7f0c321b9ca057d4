//! No circle of files across directories: in each crate, what a file uses in another directory never uses that file in turn.
//!
//! Files of one directory may belong together, and so may a module and those within it; two directories that need each other are
//! one, or have something in common that belongs below both. Paths are read from the sources (`use`, and paths in code); a name that a module re-exports counts as a use of the
//! module that defines it. Unit tests may use what they like.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Item, ItemMod, ItemUse, UseTree, Visibility};

/// A module's path in its crate.
type ModulePath = Vec<String>;

/// What one source file says of others.
#[derive(Default)]
struct Source {
    /// Paths that begin with `crate`, `super`, `self` or the name of a child.
    paths: BTreeSet<Vec<String>>,
    /// Names that it passes on, and where they come from.
    re_exports: BTreeMap<String, Vec<String>>,
    /// How many modules within the file are around what is visited.
    depth: usize,
}

impl Source {
    fn path(&mut self, mut segments: Vec<String>) {
        // `super` of a module within the file is the file.
        for _ in 0..self.depth {
            if segments.first().is_some_and(|first| first == "super") {
                segments.remove(0);
            }
        }
        if segments.len() > 1 {
            self.paths.insert(segments);
        }
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

/// All paths of a `use`, each with the name that it gets.
fn leaves(tree: &UseTree, before: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(path) => leaves(&path.tree, &with(&path.ident), found),
        UseTree::Name(name) if name.ident == "self" => {
            found.push((before.to_vec(), before.last().cloned().unwrap_or_default()));
        }
        UseTree::Name(name) => found.push((with(&name.ident), name.ident.to_string())),
        UseTree::Rename(rename) => found.push((with(&rename.ident), rename.rename.to_string())),
        UseTree::Glob(_) => found.push((before.to_vec(), "*".to_owned())),
        UseTree::Group(group) => group.items.iter().for_each(|item| leaves(item, before, found)),
    }
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.depth += 1;
        visit::visit_item_mod(self, item);
        self.depth -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let mut found = Vec::new();
        leaves(&item.tree, &[], &mut found);
        for (path, name) in found {
            // What is passed on is not used here; who asks for it is led to where it comes from.
            if matches!(item.vis, Visibility::Inherited) {
                self.path(path);
            } else {
                self.re_exports.insert(name, path);
            }
        }
    }

    /// `pub(in path)` says who may use this, not what is used here.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }
}

/// The files of one crate.
struct Sources {
    files: BTreeMap<ModulePath, (PathBuf, Source)>,
}

impl Sources {
    fn read(directory: &Path) -> Self {
        let mut files = BTreeMap::new();
        let mut waiting = vec![directory.to_path_buf()];
        while let Some(next) = waiting.pop() {
            for entry in std::fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    waiting.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let relative = path.strip_prefix(directory).unwrap().to_path_buf();
                    let mut module: ModulePath =
                        relative.with_extension("").iter().map(|part| part.to_str().unwrap().to_owned()).collect();
                    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                        module.pop();
                    }
                    let mut source = Source::default();
                    source.visit_file(&syn::parse_file(&std::fs::read_to_string(&path).unwrap()).unwrap());
                    files.insert(module, (relative, source));
                }
            }
        }
        Self { files }
    }

    /// The module that a path in `from` leads to; `None` outside the crate.
    fn resolve(&self, from: &ModulePath, path: &[String], depth: usize) -> Option<ModulePath> {
        let mut at = from.clone();
        let mut rest = path;
        match rest.first()?.as_str() {
            "crate" => (at, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {
                while rest.first().is_some_and(|first| first == "super") {
                    at.pop()?;
                    rest = &rest[1..];
                }
            }
            child => {
                let is_child = self.files.contains_key(&[from.as_slice(), &[child.to_owned()]].concat());
                if !is_child {
                    return None;
                }
            }
        }
        for (place, name) in rest.iter().enumerate() {
            let child = [at.as_slice(), std::slice::from_ref(name)].concat();
            if self.files.contains_key(&child) {
                at = child;
            } else if let Some(target) = self.files.get(&at).and_then(|(_, source)| source.re_exports.get(name)) {
                let further = [target.as_slice(), &rest[place + 1..]].concat();
                return if depth == 0 { None } else { self.resolve(&at, &further, depth - 1) };
            } else {
                break;
            }
        }
        self.files.contains_key(&at).then_some(at)
    }

    fn uses(&self) -> BTreeMap<&ModulePath, BTreeSet<ModulePath>> {
        let used = |module: &ModulePath, source: &Source| {
            source.paths.iter().filter_map(|path| self.resolve(module, path, 8)).filter(|to| to != module).collect()
        };
        self.files.iter().map(|(module, (_, source))| (module, used(module, source))).collect()
    }

    /// Uses that lead to another directory and, in the end, back.
    fn circles(&self) -> Vec<String> {
        let uses = self.uses();
        let reaches = |from: &ModulePath, to: &ModulePath| {
            let (mut seen, mut waiting) = (BTreeSet::new(), vec![from.clone()]);
            while let Some(next) = waiting.pop() {
                if next == *to {
                    return true;
                }
                if seen.insert(next.clone()) {
                    waiting.extend(uses.get(&next).into_iter().flatten().cloned());
                }
            }
            false
        };
        let file = |module: &ModulePath| self.files[module].0.as_path();
        let edges = uses.iter().flat_map(|(from, to)| to.iter().map(move |to| (*from, to)));
        edges
            .filter(|(from, to)| file(from).parent() != file(to).parent())
            .filter(|(from, to)| !from.starts_with(to) && !to.starts_with(from))
            .filter(|(from, to)| reaches(to, from))
            .map(|(from, to)| format!("{} -> {}", file(from).display(), file(to).display()))
            .collect()
    }
}

#[test]
fn no_circle_of_files_crosses_directories() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let crates = std::fs::read_dir(workspace.join("crates")).unwrap().map(|entry| entry.unwrap().path());
    let mut found = Vec::new();
    for package in crates.chain([workspace.join("bench/testbed"), workspace.join("xtask")]) {
        let circles = Sources::read(&package.join("src")).circles();
        found.extend(circles.iter().map(|circle| format!("{}: {circle}", package.display())));
    }
    assert!(found.is_empty(), "each of these is a part of a circle:\n{}", found.join("\n"));
}

#[test]
fn a_circle_is_found() {
    let scratch = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = scratch.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("lib.rs", "mod inner; mod outer; pub use outer::Thing;");
    write("outer.rs", "pub struct Thing; pub fn go() { crate::inner::work() }");
    write("inner/mod.rs", "mod deep; pub fn work() {} #[cfg(test)] mod tests { use crate::outer; }");
    assert_eq!(Sources::read(scratch.path()).circles(), [""; 0]);
    write("inner/mod.rs", "mod deep; pub fn work() { deep::dig() }");
    write("inner/deep.rs", "use crate::Thing; pub fn dig() {}");
    assert_eq!(Sources::read(scratch.path()).circles(), ["inner/deep.rs -> outer.rs", "outer.rs -> inner/mod.rs"]);
}
