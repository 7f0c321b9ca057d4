//! Writes the page of one or two trace files: for those who work on the viewer.
//!
//! `cargo run -p coldstart-view --example page -- OUT.html TRACE [OTHER] [--viewer FOLDER]`
//!
//! With `--viewer`, `viewer.js` and `viewer.css` are taken from the folder (where `node build.mjs FOLDER` in `web/` puts
//! them) when the page is written, so nothing is compiled anew.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use coldstart_profile::trace::figures::Figures;
use coldstart_tracefile::TraceFile;
use coldstart_view::page::{TraceSource, Viewer};

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let folder = arguments.iter().position(|argument| argument == "--viewer").map(|place| {
        arguments.remove(place);
        arguments.remove(place)
    });
    let [out, traces @ ..] = arguments.as_slice() else { panic!("OUT.html TRACE [OTHER] [--viewer FOLDER]") };
    let traces: Vec<_> = traces
        .iter()
        .map(|path| {
            let trace = TraceFile::open(Path::new(path)).unwrap().read().unwrap();
            let figures = Figures::of(&trace);
            (path, trace, figures)
        })
        .collect();
    let sources: Vec<_> =
        traces.iter().map(|(source, trace, figures)| TraceSource { source, trace, figures }).collect();
    let files = folder.map(|folder| {
        ["viewer.js", "viewer.css"].map(|name| std::fs::read_to_string(Path::new(&folder).join(name)).unwrap())
    });
    let viewer = files.as_ref().map_or(Viewer::built_in(), |[script, style]| Viewer::new(script, style));
    let page = viewer.trace_page(sources.first().expect("a trace"), sources.get(1)).unwrap();
    std::fs::write(out, &page).unwrap();
    println!("{out}: {} bytes", page.len());
}
