//! Recordings with wrong bytes, and cut off anywhere: refused or read, never a panic.

use std::path::{Path, PathBuf};

use coldstart_import::{ImportError, import, import_bytes};

/// Small recordings of all kinds.
fn recordings() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recordings");
    let names = ["page_faults", "split", "build_ids", "compressed", "piped", "tracepoints"];
    names.map(|name| (folder.join(name), std::fs::read(folder.join(name)).unwrap())).into()
}

fn try_bytes(bytes: &[u8]) -> bool {
    match import_bytes(Path::new("recording"), bytes) {
        Ok(trace) => {
            assert!(trace.events.is_sorted_by_key(|event| event.at));
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("`recording`") && error.hint().is_some(), "{error}");
            false
        }
    }
}

#[test]
fn the_recordings_themselves_are_read() {
    for (path, bytes) in recordings() {
        let trace = import_bytes(&path, &bytes).unwrap_or_else(|error| panic!("{error}"));
        assert!(!trace.events.is_empty() && !trace.files.is_empty(), "{}", path.display());
    }
}

#[test]
fn cut_off_anywhere() {
    for (path, bytes) in recordings() {
        let read = (0..bytes.len()).step_by(13).filter(|&length| try_bytes(&bytes[..length])).count();
        // The names of tracepoints stand behind the records, and without them nobody knows what they are.
        assert_eq!(read > 0, !path.ends_with("tracepoints"), "{}", path.display());
    }
}

#[test]
fn wrong_bytes_anywhere() {
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    for (_, bytes) in recordings() {
        for _ in 0..400 {
            let mut wrong = bytes.clone();
            for _ in 0..=next() % 4 {
                let place = usize::try_from(next()).unwrap() % wrong.len();
                // Half of them where lengths stand: in the header, and in the first records.
                let place = if next() % 2 == 0 { place % 400 } else { place };
                wrong[place] = [0, 1, 0x7f, 0x80, 0xff, next().to_le_bytes()[0]][usize::try_from(next() % 6).unwrap()];
            }
            try_bytes(&wrong);
        }
    }
}

#[test]
fn what_is_no_recording_is_named() {
    for (bytes, expected) in [
        (&b""[..], "empty"),
        (b"\x7fELF\x02\x01\x01\0\0", "missing magic number `PERFILE2`"),
        (b"PERFFILE\0\0\0\0", "before Linux 3.0"),
        (b"SQLite format 3\0", "it is a database"),
    ] {
        let error = import_bytes(Path::new("recording"), bytes).unwrap_err();
        assert!(matches!(error, ImportError::NotPerf { .. }) && error.to_string().contains(expected), "{error}");
    }
    assert!(matches!(import(Path::new("/nonexistent/perf.data")), Err(ImportError::Io { .. })));
    assert!(matches!(import(Path::new("/dev/null")), Err(ImportError::Io { .. })));
}
