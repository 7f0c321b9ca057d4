//! The programs, as they are started inside the image.

use super::super::program::{FIREFOX, LIBREOFFICE};

/// A program of the `programs` image.
#[derive(Debug)]
pub(in crate::bench) struct Started {
    /// Part of file names and of the rows' names.
    pub(in crate::bench) name: &'static str,
    /// Program and arguments, seen from inside the image.
    pub(in crate::bench) words: &'static [&'static str],
    /// When it counts as started, as `--ready` says it.
    pub(in crate::bench) ready: &'static str,
}

const fn until_exit(name: &'static str, words: &'static [&'static str]) -> Started {
    Started { name, words, ready: "exit" }
}

pub(in crate::bench) static NUMPY: Started = until_exit("python-numpy", &["python3", "/root/a.py"]);
pub(in crate::bench) static CLANG: Started =
    until_exit("clang", &["clang++-14", "-std=c++17", "-c", "-o", "/tmp/a.o", "/root/a.cc"]);

/// Those with certain names.
pub(super) fn named(names: &[&str]) -> Vec<Started> {
    all().into_iter().filter(|program| names.contains(&program.name)).collect()
}

/// All of them.
pub(super) fn all() -> Vec<Started> {
    vec![
        until_exit("libreoffice", LIBREOFFICE.words),
        until_exit("firefox", FIREFOX.words),
        until_exit(
            "chromium",
            &[
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                // The image has no /dev/shm of its own.
                "--disable-dev-shm-usage",
                "--user-data-dir=/root/chromium",
                "--dump-dom",
                "file:///root/a.html",
            ],
        ),
        until_exit("javac", &["javac", "-d", "/tmp", "/root/A.java"]),
        until_exit(CLANG.name, CLANG.words),
        until_exit(
            "gdb",
            &["gdb", "-batch", "-ex", "break Py_BytesMain", "-ex", "info line Py_BytesMain", "/usr/bin/python3"],
        ),
        Started {
            name: "postgresql",
            words: &[
                // It refuses to run as root.
                "setpriv",
                "--reuid=postgres",
                "--regid=postgres",
                "--clear-groups",
                "/usr/lib/postgresql/15/bin/postgres",
                "-D",
                "/var/lib/db",
                "-k",
                "/tmp",
                "-p",
                "54329",
                "-c",
                "dynamic_shared_memory_type=mmap",
            ],
            ready: "port:54329",
        },
        until_exit(NUMPY.name, NUMPY.words),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ() {
        let mut names: Vec<&str> = all().iter().map(|program| program.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all().len());
    }
}
