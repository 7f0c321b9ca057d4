//! Any text as a line of tracefs, as the name of a thread in it, which programs choose for themselves, and as the fields of an event.

#![no_main]

use coldstart_trace::fuzzing::event;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let _ = event(text);
    let named = format!(
        "{text}-4711  [001] ..... 812.000031: mm_filemap_add_to_page_cache: dev 7:1 ino 5c1 pfn=0x1 ofs=8192 order=2"
    );
    let named = event(&named).expect("it is an event");
    let fill = named.fill.expect("it is a fill");
    assert_eq!((named.thread, fill.page, fill.pages, named.is_step), (4711, 2, 4, true), "a name says nothing");
    for kind in ["fault", "get_pages", "add_to_page_cache"] {
        let _ = event(&format!("a-1 [0] . 1.0: mm_filemap_{kind}: dev=7:1 ino=5c1 {text}"));
    }
    for kind in ["order", "unbounded"] {
        let _ = event(&format!("a-1 [0] . 1.0: page_cache_ra_{kind}: dev=7:1 ino=5c1 {text}"));
    }
});
