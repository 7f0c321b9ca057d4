//! Views of real files that are cut short while they are read, and what remains of `SIGBUS` for everybody else.
//!
//! What ends a process is tried in a child: this test program again, with its role in the environment.

use std::fs::File;
use std::hint::black_box;
use std::io::{ErrorKind, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::Barrier;

use coldstart_host::process::ProcessFiles;
use coldstart_sys::file_view::FileView;
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, mprotect};

const ROLE: &str = "COLDSTART_FILE_VIEW_CHILD";

fn page_size() -> usize {
    rustix::param::page_size()
}

/// A file whose every byte tells its page, and is never zero.
fn file_with_pages(pages: usize) -> File {
    let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for page in 0..pages {
        file.write_all(&vec![expected(page); page_size()]).unwrap();
    }
    file
}

fn expected(page: usize) -> u8 {
    u8::try_from(page % 255).unwrap() + 1
}

/// First byte of each page. Nothing is remembered from an earlier read.
fn first_bytes(view: &FileView) -> Vec<u8> {
    black_box(view).bytes().chunks(page_size()).map(|page| *black_box(&page[0])).collect()
}

#[test]
fn a_view_has_the_files_bytes() {
    let mut file = file_with_pages(3);
    file.write_all(b"tail").unwrap();
    let view = FileView::map(&file).unwrap();
    drop(file);
    assert_eq!(view.bytes().len(), 3 * page_size() + 4);
    assert_eq!(&view.bytes()[3 * page_size()..], b"tail");
    assert!(view.bytes()[page_size()..2 * page_size()].iter().all(|&byte| byte == expected(1)));
    assert!(!view.shrank());

    let path = std::env::current_exe().unwrap();
    let program = FileView::map(File::open(&path).unwrap()).unwrap();
    assert!(program.bytes() == std::fs::read(&path).unwrap(), "the same as by reading");
}

#[test]
fn an_empty_file_is_an_empty_view() {
    let file = file_with_pages(0);
    let view = FileView::map(&file).unwrap();
    assert_eq!(view.bytes(), b"");
    view.release(0..usize::MAX);
    assert!(!view.shrank());
}

#[test]
fn only_regular_files_have_views() {
    let (reader, _writer) = rustix::pipe::pipe().unwrap();
    assert_eq!(FileView::map(&reader).unwrap_err().kind(), ErrorKind::InvalidInput);
    for path in ["/", "/dev/null", "/dev/zero"] {
        let error = FileView::map(File::open(path).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{path}");
    }
}

#[test]
fn what_the_file_loses_reads_as_zeros_and_other_views_do_not_notice() {
    let file = file_with_pages(8);
    let view = FileView::map(&file).unwrap();
    let other_file = file_with_pages(8);
    let other = FileView::map(&other_file).unwrap();
    let whole: Vec<u8> = (0..8).map(expected).collect();
    assert_eq!(first_bytes(&view), whole);

    let middle = 2 * page_size() + page_size() / 2;
    file.set_len(middle as u64).unwrap();
    assert!(black_box(&view).bytes()[..middle].iter().all(|&byte| byte != 0));
    let rest_of_page = &black_box(&view).bytes()[middle..3 * page_size()];
    assert!(rest_of_page.iter().all(|&byte| byte == 0));
    assert!(!view.shrank(), "the kernel itself fills the last page");

    assert_eq!(first_bytes(&view), [1, 2, 3, 0, 0, 0, 0, 0]);
    assert!(view.shrank());
    assert_eq!(first_bytes(&other), whole);
    assert!(!other.shrank());

    view.release(0..view.bytes().len());
    file.set_len(8 * page_size() as u64).unwrap();
    assert_eq!(first_bytes(&view), [1, 2, 3, 0, 0, 0, 0, 0], "what was replaced stays");
    let later = FileView::map(&file).unwrap();
    assert!(first_bytes(&later)[3..].iter().all(|&byte| byte == 0), "a hole");
    assert!(!later.shrank());
}

#[test]
fn many_threads_read_truncated_views_at_once() {
    const THREADS: usize = 8;
    const PAGES: usize = 512;
    let files: Vec<File> = (0..4).map(|_| file_with_pages(PAGES)).collect();
    let views: Vec<FileView> = files.iter().map(|file| FileView::map(file).unwrap()).collect();
    files[0].set_len(page_size() as u64).unwrap();
    files[1].set_len(0).unwrap();
    let barrier = Barrier::new(THREADS + 1);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                barrier.wait();
                for view in &views {
                    for (page, byte) in first_bytes(view).into_iter().enumerate() {
                        assert!(byte == 0 || byte == expected(page));
                    }
                    // Views that come and go while others fault.
                    let passing = FileView::map(&files[3]).unwrap();
                    assert_eq!(first_bytes(&passing)[0], expected(0));
                }
            });
        }
        barrier.wait();
        files[2].set_len(7 * page_size() as u64).unwrap();
    });
    assert_eq!(first_bytes(&views[0])[..2], [1, 0]);
    assert_eq!(first_bytes(&views[1])[..2], [0, 0]);
    assert_eq!(first_bytes(&views[2])[6..8], [7, 0]);
    assert_eq!(first_bytes(&views[3]), (0..PAGES).map(expected).collect::<Vec<_>>());
    assert_eq!(views.iter().map(FileView::shrank).collect::<Vec<_>>(), [true, true, true, false]);
}

#[test]
fn the_last_of_a_thousand_views() {
    let file = file_with_pages(2);
    let mut views: Vec<FileView> = (0..999).map(|_| FileView::map(&file).unwrap()).collect();
    let last = file_with_pages(2);
    views.push(FileView::map(&last).unwrap());
    last.set_len(0).unwrap();
    assert_eq!(first_bytes(&views[999]), [0, 0]);
    let shrunk: Vec<usize> = (0..1000).filter(|&index| views[index].shrank()).collect();
    assert_eq!(shrunk, [999]);
    assert!(views[..999].iter().all(|view| first_bytes(view) == [1, 2]));
}

#[test]
fn a_later_view_knows_nothing_of_an_earlier_one() {
    for _ in 0..100 {
        let file = file_with_pages(2);
        let view = FileView::map(&file).unwrap();
        assert!(!view.shrank());
        file.set_len(0).unwrap();
        assert_eq!(first_bytes(&view), [0, 0]);
        assert!(view.shrank());
    }
}

#[test]
fn released_pages_leave_the_process_and_come_back() {
    let mut file = file_with_pages(64);
    file.write_all(b"tail").unwrap();
    let view = FileView::map(&file).unwrap();
    let before = view.bytes().to_vec();
    assert_ne!(resident_kib(&view), 0);
    view.release(1..2 * page_size() - 1);
    assert_ne!(resident_kib(&view), 0, "no whole page");
    view.release(0..usize::MAX);
    assert_eq!(resident_kib(&view), 0);
    assert!(black_box(&view).bytes() == before);
    // Nothing to release: behind the end, at the end of all numbers, nothing at all.
    view.release(1 << 40..1 << 41);
    view.release(usize::MAX - 1..usize::MAX);
    view.release(page_size()..page_size());
    assert_ne!(resident_kib(&view), 0);
    assert!(!view.shrank());
}

/// How much of the view is in our page table, as the kernel tells.
fn resident_kib(view: &FileView) -> u64 {
    let start = view.bytes().as_ptr().addr() as u64;
    let mappings = ProcessFiles::own().smaps().unwrap();
    mappings.iter().find(|(mapping, _)| mapping.start == start).unwrap().1.in_page_table >> 10
}

/// Runs [`in_a_child`] in a process of its own, in `role`.
fn run_child(role: &str) -> ExitStatus {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "file_view::in_a_child", "--nocapture"]).env(ROLE, role);
    let output = command.output().unwrap();
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    output.status
}

#[test]
fn sigbus_elsewhere_ends_the_process_as_before() {
    for role in ["fault", "fault after default", "fault after ignore", "raise after default"] {
        assert_eq!(run_child(role).signal(), Some(libc::SIGBUS), "{role}");
    }
    assert_eq!(run_child("raise after ignore").code(), Some(0));
    assert_eq!(run_child("fault after handler").code(), Some(42), "the former handler ran");
}

#[test]
fn without_a_mapping_left_everything_is_zeros() {
    assert_eq!(run_child("no mapping left").code(), Some(0));
}

/// Not a test of its own: what [`run_child`] runs.
#[test]
fn in_a_child() {
    let Ok(role) = std::env::var(ROLE) else { return };
    rustix::process::setrlimit(
        rustix::process::Resource::Core,
        rustix::process::Rlimit { current: Some(0), maximum: Some(0) },
    )
    .unwrap();
    extern "C" fn leave_with_42(_signal: libc::c_int) {
        // SAFETY: may be called in a handler.
        unsafe { libc::_exit(42) }
    }
    let former = match role.split_once(" after ") {
        Some((_, "default")) => Some(libc::SIG_DFL),
        Some((_, "ignore")) => Some(libc::SIG_IGN),
        Some((_, "handler")) => Some(leave_with_42 as *const () as usize),
        _ => None,
    };
    if let Some(former) = former {
        // SAFETY: one of the constants, or a function of the form that `signal` asks for.
        unsafe { libc::signal(libc::SIGBUS, former) };
    }
    // The handler is in place and has done its work once before the foreign signal comes.
    let file = file_with_pages(5);
    let view = FileView::map(&file).unwrap();
    if role == "no mapping left" {
        return read_without_a_mapping_left(&file, &view);
    }
    file.set_len(0).unwrap();
    assert_eq!(first_bytes(&view), [0; 5]);

    if role.starts_with("raise") {
        // SAFETY: sends a signal to ourselves.
        unsafe { libc::raise(libc::SIGBUS) };
    } else {
        // SAFETY: a new mapping, which is never unmapped.
        let foreign = unsafe { mmap(std::ptr::null_mut(), page_size(), ProtFlags::READ, MapFlags::PRIVATE, &file, 0) };
        // SAFETY: readable as far as the compiler is concerned; the process ends here.
        unsafe { foreign.unwrap().cast::<u8>().read_volatile() };
        panic!("read behind the end of a file");
    }
}

fn read_without_a_mapping_left(file: &File, view: &FileView) {
    const PAGES: usize = 1 << 21;
    assert_eq!(first_bytes(view), [1, 2, 3, 4, 5]);
    file.set_len(page_size() as u64).unwrap();
    // SAFETY: a new mapping that nobody reads; each change of protection in its middle makes two more.
    let room = unsafe {
        mmap_anonymous(std::ptr::null_mut(), PAGES * page_size(), ProtFlags::empty(), MapFlags::PRIVATE).unwrap()
    };
    let refused = (0..PAGES / 2).any(|pair| {
        let page = room.wrapping_byte_add((2 * pair + 1) * page_size());
        // SAFETY: a page of the mapping above.
        unsafe { mprotect(page, page_size(), rustix::mm::MprotectFlags::READ) }.is_err()
    });
    if refused {
        let byte = *black_box(&black_box(view).bytes()[3 * page_size()]);
        let first = *black_box(&black_box(view).bytes()[0]);
        // SAFETY: exactly the mapping above: room again for whatever follows.
        unsafe { rustix::mm::munmap(room, PAGES * page_size()).unwrap() };
        assert_eq!((byte, first), (0, 0), "the whole view, as the documentation says");
        assert!(view.shrank());
        return;
    }
    coldstart_testing::skip("vm.max_map_count is too large to reach");
}
