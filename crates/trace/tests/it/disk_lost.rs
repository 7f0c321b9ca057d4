//! Events that do not fit the kernel's buffers are counted, and what is lost of the program's own is not taken for a stranger's.

use std::io::{Read, Seek, SeekFrom};

use coldstart_trace::start::DiskRecorder;

use crate::start_support::lacks_reads;

#[test]
fn a_full_buffer_is_told() {
    let mut recorder = DiskRecorder::start();
    if !recorder.is_recording() {
        coldstart_testing::skip(&recorder.notes().join(" "));
        return;
    }
    if lacks_reads(recorder.notes()) {
        return;
    }
    recorder.follow(rustix::thread::gettid().as_raw_nonzero().get() as u32);
    // Each read of another page than the last is an event of 48 bytes; a processor's buffer holds no more than 8 MiB.
    let mut file = std::fs::File::open(coldstart_host::process::own::PROGRAM).unwrap();
    let mut byte = [0u8];
    let processors = std::thread::available_parallelism().unwrap().get();
    for turn in 0..200_000 * processors as u64 {
        file.seek(SeekFrom::Start(turn % 2 * 8192)).unwrap();
        file.read_exact(&mut byte).unwrap();
    }
    let log = recorder.finish();
    assert!(log.lost > 0);
    assert!(log.reads.len() > 10_000, "what fitted is there: {}", log.reads.len());
    let told = format!("{} reads or fills were lost", log.lost);
    assert!(log.notes.iter().any(|note| note.starts_with(&told)), "{:?}", log.notes);
}
