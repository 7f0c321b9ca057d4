//! LibreOffice, all its libraries and programs packed: documents become the same pages.

use std::path::Path;

use anyhow::{Context, Result};

use super::ground::Ground;
use super::process::stdout;
use super::table::Table;
use crate::tools::{Tool, tool};

const DIRECTORY: &str = "/usr/lib/libreoffice";

pub(super) const TOOLS: &[Tool] = &[
    tool("/usr/lib/libreoffice/program/soffice.bin", "libreoffice-core"),
    tool("/usr/lib/libreoffice/program/libswlo.so", "libreoffice-writer"),
    tool("/usr/lib/libreoffice/program/libsclo.so", "libreoffice-calc"),
    tool("pdftotext", "poppler-utils"),
];

const TEXT: &str = "How long does a start take?\n\nFünf Äpfel, ein Œuvre, 中文, ελληνικά.\n";
const TABLE: &str = "fruit,count\napples,5\npears,=B2*2\ntotal,=SUM(B2:B3)\n";

pub(super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    table.told("packed", &ground.copy_tree(Path::new(DIRECTORY))?);
    for packed in [false, true] {
        moved(&ground.side(packed))?;
    }
    ground.write("text.txt", TEXT)?;
    ground.write("table.csv", TABLE)?;
    // The documents are made by the original, so that both convert the same.
    convert(ground, false, "text.txt", "odt")?;
    convert(ground, false, "text.odt", "docx")?;
    convert(ground, false, "table.csv", "xlsx")?;
    for document in ["text.odt", "text.docx", "table.xlsx"] {
        table.compare(&format!("{document} to PDF, its text"), |packed| {
            let page = convert(ground, packed, document, "pdf")?;
            stdout(ground.command("pdftotext").args(["-layout", &page, "-"]))
        });
    }
    table.compare("text.txt to HTML", |packed| {
        let page = convert(ground, packed, "text.txt", "html")?;
        // The head holds the time of the conversion.
        let html = fs_err::read_to_string(page)?;
        let (_, body) = html.split_once("<body").context("no <body> in the page")?;
        Ok(body.to_owned())
    });
    Ok(())
}

/// Debian's LibreOffice knows its own directory by name and would load half of its libraries from there.
fn moved(side: &Path) -> Result<()> {
    let file = side.join("program/fundamentalrc");
    let text = fs_err::read_to_string(&file)?;
    let base = |directory: &str| format!("BRAND_BASE_DIR=file://{directory}\n");
    anyhow::ensure!(text.contains(&base(DIRECTORY)), "{} does not say where it lies", file.display());
    fs_err::write(&file, text.replace(&base(DIRECTORY), &base(&side.to_string_lossy())))?;
    Ok(())
}

/// Converts a document of the ground and returns where the result is.
fn convert(ground: &Ground, packed: bool, document: &str, to: &str) -> Result<String> {
    let side = ground.side(packed);
    let profile = side.join("profile");
    // What the original makes lies beside the documents; of the other side, in its tree.
    let directory = if packed { side.clone() } else { ground.directory.clone() };
    let stem = document.split('.').next().unwrap_or(document);
    let result = directory.join(format!("{stem}.{to}"));
    if result.exists() {
        fs_err::remove_file(&result)?;
    }
    let mut soffice = ground.command(side.join("program/soffice"));
    soffice
        .arg(format!("-env:UserInstallation=file://{}", profile.display()))
        .args(["--headless", "--convert-to", to, "--outdir"])
        .arg(&directory)
        .arg(ground.directory.join(document));
    let said = stdout(&mut soffice)?;
    anyhow::ensure!(result.exists(), "soffice left no {}: {said}", result.display());
    Ok(result.to_string_lossy().into_owned())
}
