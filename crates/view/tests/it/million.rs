//! A page of a million events: its size, and what is in it.
//! `cargo test -p coldstart-view --release --test it million -- --ignored --nocapture`, with `COLDSTART_PAGE_OUT=FILE` to keep the page.

use std::time::Instant;

use coldstart_profile::trace::figures::Figures;
use coldstart_profile::trace::{Layer, Moment};
use coldstart_view::page::{TraceSource, trace_page};

/// What such a page may take, in bytes.
const LIMIT: usize = 15_000_000;

#[test]
#[ignore = "takes long without optimisation"]
fn a_million_events_fit_into_a_page() {
    let mut trace = crate::common::large(1_000_000);
    trace.run.layers = Layer::ALL.to_vec();
    (trace.run.ready_at, trace.run.ended_at) = (Some(Moment(7_900_000_000)), Moment(8_000_000_000));
    // Real moments do not fall on a grid, which would pack too well. Eight microseconds lie between two of them.
    let mut random = crate::common::Random(2);
    for event in &mut trace.events {
        event.at.0 += random.below(8000);
    }
    let figures = Figures::of(&trace);
    let begin = Instant::now();
    let page =
        trace_page(&TraceSource { source: "million.coldtrace", trace: &trace, figures: &figures }, None).unwrap();
    println!("{} bytes in {:?}", page.len(), begin.elapsed());
    if let Some(out) = std::env::var_os("COLDSTART_PAGE_OUT") {
        std::fs::write(out, &page).unwrap();
    }
    let decoded = crate::decoded::decode(&page, 0);
    for column in decoded.head["columns"].as_array().unwrap() {
        println!("  {}: {} bytes of {} rows before packing", column["name"], column["length"], column["rows"]);
    }
    assert!(decoded.events() == crate::decoded::expected(&trace));
    assert!(page.len() <= LIMIT, "{} bytes are more than {LIMIT}", page.len());
}
