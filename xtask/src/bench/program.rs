//! The programs of the corpus that the benchmarks start.

/// A program of the corpus, as started there.
#[derive(Debug)]
pub(super) struct Program {
    /// Part of file names.
    pub(super) name: &'static str,
    /// Program and arguments, seen from inside the image.
    pub(super) words: &'static [&'static str],
    /// The file by which it shows that it worked, seen from inside the image.
    pub(super) output: &'static str,
}

/// Converts a short text.
pub(super) static LIBREOFFICE: Program = Program {
    name: "libreoffice",
    words: &["soffice", "--headless", "--convert-to", "odt", "--outdir", "/tmp", "/root/a.txt"],
    output: "/tmp/a.odt",
};

/// Draws a page from a file.
pub(super) static FIREFOX: Program = Program {
    name: "firefox",
    words: &[
        "firefox-esr",
        "--headless",
        "--no-remote",
        "--profile",
        "/root/profile",
        "--screenshot",
        "/tmp/s.png",
        "file:///root/a.html",
    ],
    output: "/tmp/s.png",
};
