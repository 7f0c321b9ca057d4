//! Programs with their own directories, which they find by where they stand: bound in a copy of their tree, and once more
//! after the tree was moved.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fs_err as fs;

use super::super::ground::Ground;
use super::super::process::stdout;
use super::super::table::Table;
use super::{Pair, replace_text, trees};

/// A tree, its program, and what that is to do. `%` in an argument is the directory of what is made.
struct Tree {
    name: &'static str,
    tree: PathBuf,
    program: &'static str,
    arguments: &'static [&'static str],
    verify: &'static [&'static str],
    /// The file that it makes; empty for one that only says something.
    makes: &'static str,
}

const OFFICE: &str = "/usr/lib/libreoffice";
const PAGE: &str = "<!doctype html><title>trial</title><h1 style='color:#246'>How long does a start take?</h1>\n";
const SOURCE: &str = "#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n";
const JAVA: &str = "public class Trial { public static void main(String[] a) { System.out.println(1); } }\n";

pub(in super::super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    let text = "How long does a start take?\n\nFünf Äpfel, 中文, ελληνικά.\n";
    for (name, text) in [("page.html", PAGE), ("main.c", SOURCE), ("Trial.java", JAVA), ("text.txt", text)] {
        ground.write(name, text)?;
    }
    for tree in all()?.iter().filter(|tree| tree.tree.join(tree.program).exists()) {
        if let Err(error) = one(ground, table, tree) {
            table.failed(&format!("{}: to be carried out", tree.name), &format!("{error:#}"));
        }
        for directory in [ground.side(false), ground.side(true)].iter().filter(|directory| directory.exists()) {
            fs::remove_dir_all(directory)?;
        }
    }
    Ok(())
}

fn all() -> Result<Vec<Tree>> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = stdout(std::process::Command::new(rustc).args(["--print", "sysroot"]))?;
    let version = &["--version"];
    Ok(vec![
        Tree {
            name: "soffice",
            tree: OFFICE.into(),
            program: "program/soffice.bin",
            arguments: &[
                "-env:UserInstallation=file://%/profile",
                "--headless",
                "--convert-to",
                "html",
                "--outdir",
                "%",
                "%/../text.txt",
            ],
            verify: version,
            makes: "text.html",
        },
        Tree {
            name: "javac",
            tree: "/usr/lib/jvm/java-17-openjdk-amd64".into(),
            program: "bin/javac",
            arguments: &["-d", "%", "%/../Trial.java"],
            verify: &["-version"],
            makes: "Trial.class",
        },
        Tree {
            name: "clang",
            tree: "/usr/lib/llvm-14".into(),
            program: "bin/clang",
            arguments: &["-O2", "-c", "%/../main.c", "-o", "%/main.o", "-fno-ident"],
            verify: version,
            makes: "main.o",
        },
        Tree {
            name: "rustc",
            tree: PathBuf::from(sysroot.trim_end()),
            program: "bin/rustc",
            arguments: &["--print", "sysroot", "--print", "target-libdir"],
            verify: version,
            makes: "",
        },
        Tree {
            name: "cargo",
            tree: PathBuf::from(sysroot.trim_end()),
            program: "bin/cargo",
            arguments: version,
            verify: version,
            makes: "",
        },
        Tree {
            name: "chromium",
            tree: "/usr/lib/chromium".into(),
            program: "chromium",
            arguments: &[
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--window-size=400,300",
                "--user-data-dir=%/profile",
                "--dump-dom",
                "file://%/../page.html",
            ],
            verify: version,
            makes: "",
        },
        Tree {
            name: "firefox",
            tree: "/usr/lib/firefox-esr".into(),
            program: "firefox-esr",
            arguments: &[
                "--headless",
                "--no-remote",
                "--profile",
                "%/profile",
                "--window-size=400,300",
                "--screenshot=%/page.png",
                "file://%/../page.html",
            ],
            verify: version,
            makes: "page.png",
        },
    ])
}

fn one(ground: &Ground, table: &mut Table, tree: &Tree) -> Result<()> {
    trees(ground, &tree.tree)?;
    let Some(pair) = Pair::bind_in_place(ground, table, tree.name, tree.program)? else { return Ok(()) };
    try_there(table, tree, &pair, "in place")?;
    pair.verify(table, tree.verify);
    let moved = ground.directory.join("moved");
    fs::rename(ground.side(true), &moved)?;
    let pair = Pair { bound: moved.join(tree.program), homes: [ground.side(false), moved.clone()], ..pair };
    let done = try_there(table, tree, &pair, "moved");
    pair.verify(table, tree.verify);
    fs::remove_dir_all(&moved)?;
    done
}

fn try_there(table: &mut Table, tree: &Tree, pair: &Pair<'_>, place: &str) -> Result<()> {
    let home = |bound: bool| pair.homes[usize::from(bound)].clone();
    let made = |bound: bool| pair.made(bound);
    let what = format!("{place}, its work");
    for bound in [false, true] {
        let (directory, home) = (made(bound), home(bound));
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir_all(directory.join("profile"))?;
        let rc = home.join("program/fundamentalrc");
        if tree.name == "soffice" {
            // Debian's knows its own directory by name.
            let text = fs::read_to_string(&rc)?;
            let line = text.lines().find(|line| line.starts_with("BRAND_BASE_DIR=")).unwrap_or_default().to_owned();
            replace_text(&rc, &line, &format!("BRAND_BASE_DIR=file://{}", home.display()))?;
            // The first start with a new profile ends, to be made again.
            let program = if bound { &pair.bound } else { &pair.original };
            let first = format!("-env:UserInstallation=file://{}/profile", directory.display());
            super::said(pair.ground.command(program).args([&first, "--headless", "--terminate_after_init"]))?;
        }
    }
    let argument = |text: &str, bound: bool| text.replace('%', &made(bound).to_string_lossy());
    pair.compare(
        table,
        &what,
        |command, _, bound| {
            command.args(tree.arguments.iter().map(|text| argument(text, bound)));
        },
        |bound| {
            let file = made(bound).join(tree.makes);
            ensure!(file.exists(), "it made no {}", file.display());
            files(&made(bound))
        },
    );
    Ok(())
}

/// The names and contents of the files in a directory, without directories in it. Times that are written into them are left out.
fn files(directory: &Path) -> Result<String> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_file() {
            let content = fs::read(&path)?;
            ensure!(!content.is_empty(), "{} is empty", path.display());
            let text = String::from_utf8(content).unwrap_or_else(|error| format!("{:?}", error.into_bytes()));
            let text =
                text.lines().filter(|line| !line.contains("name=\"created\"") && !line.contains("name=\"changed\""));
            files.push(format!("{:?}\n{}", path.file_name(), text.collect::<Vec<_>>().join("\n")));
        }
    }
    files.sort();
    Ok(files.join("\n"))
}
