//! Chromium, packed: the same pixels, and the same document after its scripts have run.

use std::path::Path;

use anyhow::{Result, ensure};

use super::ground::Ground;
use super::process::{said, stdout};
use super::table::Table;
use crate::tools::{Tool, tool};

pub(super) const TOOLS: &[Tool] = &[tool("/usr/lib/chromium/chromium", "chromium")];

/// Drawing, text, a compiled loop, a regular expression, exceptions, WebAssembly (a function that returns 42).
const PAGE: &str = r#"<!doctype html><title>trial</title>
<style>p { color: #246; transform: rotate(2deg) } canvas { border: 3px solid #a31 }</style>
<p>How long does a <b>start</b> take? Fünf Äpfel, ελληνικά.</p>
<canvas id="canvas" width="120" height="60"></canvas><pre id="out"></pre>
<script>
const pen = document.getElementById("canvas").getContext("2d");
const paint = pen.createLinearGradient(0, 0, 120, 60);
paint.addColorStop(0, "navy"); paint.addColorStop(1, "orange");
pen.fillStyle = paint; pen.fillRect(0, 0, 120, 60); pen.arc(60, 30, 20, 0, 6); pen.stroke();
let sum = 0; for (let i = 0; i < 3e6; i++) sum = (sum * 31 + i) % 1000003;
let caught = ""; try { null.field } catch (error) { caught = error.message }
const bytes = Uint8Array.from([0,97,115,109,1,0,0,0,1,5,1,96,0,1,127,3,2,1,0,7,5,1,1,102,0,0,10,6,1,4,0,65,42,11]);
const wasm = new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f();
const words = "one two, three".match(/\w+/g).map((word) => word.toUpperCase());
document.getElementById("out").textContent =
  [sum, caught, wasm, words, new Intl.NumberFormat("de").format(1234567.5), Math.sin(1e6)].join("\n");
</script>
"#;

pub(super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    table.told("packed", &ground.copy_tree(Path::new("/usr/lib/chromium"))?);
    let page = format!("file://{}", ground.write("page.html", PAGE)?.display());
    table.compare("--version", |packed| stdout(ground.command(ground.side(packed).join("chromium")).arg("--version")));
    table.compare("the document after its scripts", |packed| {
        let document = stdout(browser(ground, packed).args(["--dump-dom", &page]))?;
        ensure!(document.contains("\n42\n"), "the scripts did not run: {document}");
        Ok(document)
    });
    table.compare("a screenshot, byte by byte", |packed| {
        let picture = ground.side(packed).join("picture.png");
        let told = said(browser(ground, packed).arg(format!("--screenshot={}", picture.display())).arg(&page))?;
        ensure!(picture.exists(), "there is no picture: {told}");
        Ok(format!("{:?}", fs_err::read(picture)?))
    });
    Ok(())
}

fn browser(ground: &Ground, packed: bool) -> std::process::Command {
    let side = ground.side(packed);
    let mut browser = ground.command(side.join("chromium"));
    browser
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=500,400"])
        .arg(format!("--user-data-dir={}", side.join("profile").display()));
    browser
}
