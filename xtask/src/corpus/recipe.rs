//! What goes into the corpus.
//!
//! The recipe is compared whole with the one an existing image was built from, so every change here rebuilds the image.

use serde::{Deserialize, Serialize};

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
    /// The recipe of this version of the project.
    pub(super) fn current() -> Self {
        let document = |path: &str, text: &str| Document { path: path.into(), text: text.into() };
        let start = |command: &str, output: &str| Start { command: command.into(), output: output.into() };
        Self {
            release: "bookworm".into(),
            // Without a font LibreOffice lays out nothing and Firefox draws boxes.
            packages: ["libreoffice-writer-nogui", "firefox-esr", "fonts-dejavu-core"].map(String::from).into(),
            documents: vec![
                document("/root/a.txt", include_str!("../../corpus/a.txt")),
                document("/root/a.html", include_str!("../../corpus/a.html")),
                document("/root/profile/user.js", include_str!("../../corpus/user.js")),
            ],
            starts: vec![
                start("soffice --headless --convert-to odt --outdir /tmp /root/a.txt", "/tmp/a.odt"),
                start(
                    "firefox-esr --headless --no-remote --profile /root/profile --screenshot /tmp/s.png \
                     file:///root/a.html",
                    "/tmp/s.png",
                ),
            ],
            image_bytes: 6 << 30,
        }
    }
}
