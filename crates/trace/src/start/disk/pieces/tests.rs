use super::*;
use crate::SeenFile;
use coldstart_profile::FileIdentity;
use std::path::Path;

const DISK: u64 = 254 << 20;

fn key(inode: u64) -> FileKey {
    FileKey { device: DISK, inode }
}

fn name(path: &str, request: SeenRequest, inode: Option<u64>, at: u64) -> SeenName {
    let file = inode.map(|inode| SeenFile {
        real_path: path.into(),
        is_regular: request != SeenRequest::Entries,
        is_directory: request == SeenRequest::Entries,
        identity: FileIdentity { size: 1, modified: 2 },
        device: rustix::fs::makedev(254, 0),
        inode,
    });
    let failed = file.is_none();
    SeenName { path: path.into(), request, file, failed, thread: 11, process: Some(10), at: Duration::from_millis(at) }
}

fn fill(inode: u64, at: u64, thread: u32, cause: FillCause) -> DiskFill {
    DiskFill { at: Duration::from_millis(at), thread, file: key(inode), page: 5, pages: 2, cause }
}

fn run(log: &DiskLog, names: Vec<SeenName>, files: Vec<TracedFile>) -> DiskPieces {
    let mut log_of_names = NameLog::default();
    (log_of_names.names, log_of_names.observer) = (names, Some(500));
    let names = log_of_names;
    let mut known = KnownFiles::default();
    known.add_names(&names);
    let places = Places::new(Path::new("/usr/bin/x"), &|_| None);
    let setting = Setting {
        launched_at: Duration::from_millis(100),
        places: &places,
        known: &known,
        thread: &|number, _| (number == 11).then_some(ThreadId(3)),
        process: &|number, _| (number == 10).then_some(ProcessId(2)),
    };
    disk_pieces(log, &names, &setting, files)
}

#[test]
fn files_of_other_layers_keep_their_numbers() {
    let mapped = TracedFile {
        path: "/usr/lib/libc.so.6".into(),
        device: DISK,
        inode: 1,
        identity: None,
        category: FileCategory::System,
    };
    let names = vec![
        name("/usr/lib/libc.so.6", SeenRequest::Content, Some(1), 101),
        name("/srv/a", SeenRequest::Content, Some(2), 102),
        name("/srv", SeenRequest::Entries, Some(3), 103),
        name("/srv/missing", SeenRequest::Existence, None, 104),
        name("/srv/only-asked", SeenRequest::Existence, Some(4), 105),
        name("/srv/a", SeenRequest::Existence, Some(2), 106),
    ];
    let read =
        super::super::log::DiskRead { at: Duration::from_millis(107), thread: 11, file: key(2), page: 0, pages: 3 };
    let log = DiskLog { reads: vec![read], fills: vec![fill(1, 103, 11, FillCause::Demand)], ..DiskLog::default() };
    let pieces = run(&log, names, vec![mapped]);
    let paths: Vec<_> = pieces.files.iter().map(|file| file.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["/usr/lib/libc.so.6", "/srv/a", "/srv"]);
    let lookups: Vec<_> = pieces
        .lookups
        .iter()
        .map(|lookup| (lookup.kind.name(), lookup.file.map(|file| file.0), lookup.failed))
        .collect();
    assert_eq!(
        lookups,
        [
            ("open", Some(0), false),
            ("open", Some(1), false),
            ("list", Some(2), false),
            ("ask", None, true),
            ("ask", None, false),
            ("ask", Some(1), false)
        ]
    );
    assert!(pieces.lookups.iter().all(|lookup| lookup.process == Some(ProcessId(2))));
    let events: Vec<_> =
        pieces.events.iter().map(|event| (event.at.0 / 1_000_000, event.kind, event.file.unwrap().0)).collect();
    assert_eq!(events, [(3, EventKind::Fill(FillCause::Demand), 0), (7, EventKind::Read, 1)]);
    assert!(pieces.events.iter().all(|event| event.thread == ThreadId(3)));
}

#[test]
fn fills_of_strangers_count_where_the_program_used_the_file() {
    let names = vec![name("/srv/a", SeenRequest::Content, Some(2), 102)];
    let fills = vec![
        fill(2, 50, 99, FillCause::Other),
        fill(2, 103, 99, FillCause::Other),
        fill(77, 104, 99, FillCause::Other),
        fill(78, 105, 11, FillCause::Unknown),
    ];
    let pieces = run(&DiskLog { fills, ..DiskLog::default() }, names, Vec::new());
    let events: Vec<_> =
        pieces.events.iter().map(|event| (event.file.unwrap().0, event.kind, event.thread.0)).collect();
    let expected = [(0, EventKind::Fill(FillCause::Other), 0), (1, EventKind::Fill(FillCause::Unknown), 3)];
    assert_eq!(events, expected, "what came before the launch, and files of strangers, are left out");
    assert_eq!(pieces.files.last().unwrap().path, Path::new("(unnamed inode 78 of 254:0)"));
    assert!(pieces.notes.iter().any(|note| note.contains("read 2 pages")), "{:?}", pieces.notes);
}

#[test]
fn what_we_look_up_is_the_program_s_demand() {
    let names = vec![name("/srv/a", SeenRequest::Content, Some(2), 102)];
    let pieces =
        run(&DiskLog { fills: vec![fill(9, 103, 500, FillCause::Other)], ..DiskLog::default() }, names, Vec::new());
    let event = pieces.events.first().unwrap();
    assert_eq!((event.kind, event.thread), (EventKind::Fill(FillCause::Demand), ThreadId(3)));
}
