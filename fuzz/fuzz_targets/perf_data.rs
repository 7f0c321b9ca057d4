//! Any bytes as a recording of perf: refused, or made into a trace whose numbers all lead somewhere.

#![no_main]

use std::path::Path;

use coldstart_import::import_bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    match import_bytes(Path::new("recording"), bytes) {
        Err(error) => {
            let told = error.to_string();
            assert!(told.contains("`recording`") && error.hint().is_some(), "{told}");
        }
        Ok(trace) => {
            assert!(!trace.run.layers.is_empty() && trace.run.ended_at.0 < u64::MAX);
            assert!(trace.events.is_sorted_by_key(|event| event.at));
            for event in &trace.events {
                assert!(trace.process_of(event).is_some_and(|process| trace.process(process).is_some()));
                assert!(event.file.is_none_or(|file| trace.file(file).is_some()));
                assert!(event.code.is_none_or(|code| trace.file(code.file).is_some()));
            }
            for load in &trace.loads {
                assert!(trace.process(load.process).is_some() && trace.object(load.file).is_some());
            }
        }
    }
});
