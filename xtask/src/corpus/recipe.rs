//! What goes into an image of the corpus.
//!
//! The recipe is compared whole with the one an existing image was built from, so every change here rebuilds the image.
//! Each collection has a file of its own with its packages, documents and first starts.

mod programs;
mod sessions;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// An image of the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Collection {
    /// LibreOffice and Firefox
    Office,
    /// The same, and six more programs: a browser, two compilers, a debugger, a database server, python with numpy
    Programs,
    /// Two desktops' packages, and programs to start in their sessions
    Sessions,
}

impl Collection {
    /// The directory below the corpus' own, empty for the first.
    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Office => "",
            Self::Programs => "programs",
            Self::Sessions => "sessions",
        }
    }
}

/// Everything that decides what the image holds, apart from the versions the mirror has on the day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Recipe {
    /// Debian's code name.
    pub(super) release: String,
    /// Packages asked for by name; recommended ones are not installed.
    pub(super) packages: Vec<String>,
    /// Files put into the tree.
    pub(super) documents: Vec<Document>,
    /// Commands that must work, and are run twice before the image is made.
    pub(super) starts: Vec<Start>,
    /// Size of the file system, in bytes. The file is sparse.
    pub(super) image_bytes: u64,
}

/// A text file at an absolute path of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Document {
    pub(super) path: String,
    pub(super) text: String,
}

/// A program's start and the file by which it shows that it worked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    pub(super) command: String,
    pub(super) output: String,
}

impl Recipe {
    /// The recipe of a collection in this version of the project.
    pub(super) fn of(collection: Collection) -> Self {
        match collection {
            Collection::Office => Self::office(),
            Collection::Programs => Self::programs(),
            Collection::Sessions => Self::sessions(),
        }
    }

    /// A system with these packages, of which no image is made.
    pub(super) fn of_packages(release: &str, packages: &[&str]) -> Self {
        let packages = packages.iter().map(|&package| package.to_owned()).collect();
        Self { release: release.into(), packages, documents: Vec::new(), starts: Vec::new(), image_bytes: 0 }
    }

    /// LibreOffice and Firefox, with what they are given.
    fn office() -> Self {
        Self {
            release: "bookworm".into(),
            // Without a font LibreOffice lays out nothing and Firefox draws boxes.
            packages: ["libreoffice-writer-nogui", "firefox-esr", "fonts-dejavu-core"].map(String::from).into(),
            documents: vec![
                Document::new("/root/a.txt", include_str!("../../corpus/a.txt")),
                Document::new("/root/a.html", include_str!("../../corpus/a.html")),
                Document::new("/root/profile/user.js", include_str!("../../corpus/user.js")),
            ],
            starts: vec![
                Start::new("soffice --headless --convert-to odt --outdir /tmp /root/a.txt", "/tmp/a.odt"),
                Start::new(
                    "firefox-esr --headless --no-remote --profile /root/profile --screenshot /tmp/s.png \
                     file:///root/a.html",
                    "/tmp/s.png",
                ),
            ],
            image_bytes: 6 << 30,
        }
    }
}

impl Document {
    fn new(path: &str, text: &str) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}

impl Start {
    fn new(command: &str, output: &str) -> Self {
        Self { command: command.into(), output: output.into() }
    }
}
