//! A list in lld beside BOLT's own order of the same program, which it makes from counts of an instrumented run.

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::generated::Generated;
use super::{Linking, Measured, World, made};

const BOLT: &str = "llvm-bolt-19";
/// Debian's program looks for it in `/usr/lib` itself, and takes a name relative to that.
pub(super) const INSTRUMENTATION: &str = "/usr/lib/llvm-19/lib/libbolt_rt_instr.a";

struct Lld {
    objects: Vec<String>,
}

impl Linking for Lld {
    fn list_options(&self) -> Vec<String> {
        words(["--for", "lld"])
    }

    fn link(&self, workshop: &Workshop, output: &Path, list: Option<&Path>) -> Result<()> {
        let mut link = words(["gcc", "-fuse-ld=lld", "-no-pie", "-Wl,--build-id=sha1", "-Wl,--emit-relocs"]);
        link.extend(words(["-o", &text(output)]));
        link.extend_from_slice(&self.objects);
        link.extend(list.map(|list| format!("-Wl,--symbol-ordering-file={}", text(list))));
        workshop.runner.run(&link)
    }
}

pub(super) fn measure(workshop: &Workshop, directory: &Path, generated: &Generated) -> Result<Measured> {
    // Counts below its thresholds would be left out.
    let generated = Generated { repeats: 100, ..*generated };
    let linking = Lld { objects: generated.objects(workshop, made(directory)?)? };
    let world =
        World { name: "3,000 functions by lld", directory, start: words(["{}"]), held_out: words(["{}", "other"]) };
    let mut measured = world.measure(workshop, &linking)?;

    let at = |name: &str| text(&directory.join(name));
    let (before, instrumented, counts, bolted) = (at("before"), at("instrumented"), at("counts"), at("bolted"));
    let mut instrument = words([BOLT, &before, "-instrument", "-o", &instrumented]);
    instrument.push(format!("--instrumentation-file={counts}"));
    let library = INSTRUMENTATION.trim_start_matches("/usr/lib/");
    instrument.push(format!("--runtime-instrumentation-lib={library}"));
    workshop.runner.run(&instrument)?;
    workshop.runner.run(std::slice::from_ref(&instrumented))?;
    workshop.runner.run(&words([BOLT, &before, "-o", &bolted, "-data", &counts, "-reorder-functions=cdsort"]))?;
    let mut check = workshop.coldstart(["order", "check", "--json", &at("names"), "--before", &before]);
    check.extend(words(["--after", &at("after"), "--control", &bolted, "--", "{}"]));
    let checked = workshop.runner.json(&check, &[0, 1])?;
    let pages = checked.pointer("/observed/control").and_then(Value::as_u64);
    measured.bolt = Some(pages.context("no pages of the program by BOLT")?);
    Ok(measured)
}
