//! A file server: what a start asks it for, beyond the modules, is asked before the program starts.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use coldstart_index::{Guard, IndexPlace, Language, LanguageIndex, Manifest, RemoteNames, prepare};
use coldstart_testing::skip;
use fuser::{
    BackgroundSession, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, OpenFlags, ReplyAttr,
    ReplyEntry, ReplyOpen, Request,
};

use crate::folding::attributes;

const FOREVER: Duration = Duration::from_secs(3600);
const FILE: INodeNo = INodeNo(2);

/// A directory with one file, `file`, that remembers what it was asked for.
#[derive(Clone, Default)]
struct Server(Arc<Mutex<BTreeSet<String>>>);

impl Server {
    fn remember(&self, request: &str, name: &str) {
        self.0.lock().unwrap().insert(format!("{request} {name}"));
    }

    fn mounted(&self, at: &Path) -> Option<BackgroundSession> {
        fs::create_dir(at).unwrap();
        fuser::spawn_mount(self.clone(), at, &fuser::Config::default())
            .map_err(|error| skip(&format!("FUSE: {error}")))
            .ok()
    }
}

impl Filesystem for Server {
    fn lookup(&self, _request: &Request, _parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        self.remember("lookup", &name.to_string_lossy());
        match name == "file" {
            true => reply.entry(&FOREVER, &attributes(FILE), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _request: &Request, inode: INodeNo, _handle: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &attributes(inode));
    }

    fn open(&self, _request: &Request, inode: INodeNo, _flags: OpenFlags, reply: ReplyOpen) {
        self.remember("open", if inode == FILE { "file" } else { "?" });
        reply.opened(FileHandle(0), FopenFlags::empty());
    }
}

fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_bytes().to_vec()
}

#[test]
fn names_and_files_of_a_server_are_remembered_but_for_those_that_are_asked_anyway() {
    let directory = tempfile::tempdir().unwrap();
    let local = directory.path().canonicalize().unwrap();
    let server = local.join("server");
    let Some(_session) = Server::default().mounted(&server) else { return };
    let below = |name: &str| server.join(name);
    fs::write(local.join("own"), "").unwrap();
    let part = LanguageIndex {
        language: Language::Perl,
        interpreter: "/no/interpreter".into(),
        version: "0".to_owned(),
        modules: 0,
        missing: 0,
        guards: vec![Guard { path: below("guarded"), identity: None }],
        sources: Vec::new(),
        pack_bytes: 0,
        read_ahead: vec![bytes(&below("read"))],
    };
    let asked = [
        below("z"),
        local.join("own"),
        below("guarded"),
        below("read"),
        below("a"),
        below("index/current/perl/hook.pl"),
    ];
    let opened = [below("file"), local.join("own"), below("read")];
    let found = RemoteNames::of(
        asked.iter().map(PathBuf::as_path),
        opened.iter().map(PathBuf::as_path),
        &[part],
        &below("index"),
    );
    assert_eq!(found.names, [bytes(&below("z")), bytes(&below("a"))], "in their order");
    assert_eq!(found.files, [bytes(&below("file"))]);
}

#[test]
fn a_server_has_been_asked_before_the_program_starts() {
    let directory = tempfile::tempdir().unwrap();
    let local = directory.path().canonicalize().unwrap();
    let server = Server::default();
    let at = local.join("server");
    let Some(_session) = server.mounted(&at) else { return };
    let remote = RemoteNames {
        names: vec![bytes(&at.join("absent")), bytes(&at.join("file"))],
        files: vec![bytes(&at.join("file"))],
    };
    let place = IndexPlace::begin(&local.join("index")).unwrap();
    place.finish(&Manifest { command: Vec::new(), languages: Vec::new(), remote }).unwrap();
    server.0.lock().unwrap().clear();
    assert_eq!(prepare(&local.join("index")).unwrap().variables, []);
    let asked: Vec<String> = server.0.lock().unwrap().iter().cloned().collect();
    assert_eq!(asked, ["lookup absent", "lookup file", "open file"]);
}
