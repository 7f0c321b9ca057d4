//! Any bytes as a history of measurements: refused or read, never a panic; reading writes only what an older format needs.
//!
//! A database is kept together by its page headers, which a fuzzer hardly ever makes up. So the input is also taken as changes
//! to a history that is whole: each four bytes, a place (three bytes, modulo the length) and the new value.

#![no_main]

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use coldstart_fuzz::memory::place;
use coldstart_history::{History, Search};
use coldstart_profile::measurement::KeptMeasurement;
use libfuzzer_sys::fuzz_target;

static PLACE: LazyLock<PathBuf> = LazyLock::new(|| place("history"));

static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let mut history = History::open(&PLACE).expect("there is room");
    let kept: KeptMeasurement = serde_json::from_str(include_str!("../src/measurement.json")).expect("it is one");
    history.add(&kept).expect("it is added");
    drop(history);
    std::fs::read(&*PLACE).expect("it is there")
});

fuzz_target!(|bytes: &[u8]| {
    let whole = &*WHOLE;
    let _ = serde_json::from_slice::<KeptMeasurement>(bytes);
    read(bytes);
    let mut changed = whole.clone();
    for [a, b, c, value] in bytes.as_chunks::<4>().0 {
        let place = u32::from_le_bytes([*a, *b, *c, 0]) as usize % changed.len();
        changed[place] = *value;
    }
    read(&changed);
});

fn read(bytes: &[u8]) {
    std::fs::write(&*PLACE, bytes).expect("there is room");
    if let Ok(Some(history)) = History::open_to_read(&PLACE) {
        let _ = history.programs();
        let search = Search { label: Some("a".to_owned()), program: Some("s".to_owned()), ..Search::default() };
        let _ = (history.search(&search), history.search(&Search::default()));
    }
    for ending in ["", "-journal", "-wal", "-shm"] {
        let mut path = PLACE.clone().into_os_string();
        path.push(ending);
        let _ = std::fs::remove_file(path);
    }
}
