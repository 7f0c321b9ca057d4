//! The programs of the `programs` benchmark: what the office image has, and six more of other kinds.

use super::{Document, Recipe, Start};

impl Recipe {
    /// The office image's programs and six more.
    pub(super) fn programs() -> Self {
        let mut recipe = Self::office();
        let packages = ["chromium", "openjdk-17-jdk-headless", "clang-14", "gdb", "postgresql-15", "python3-numpy"];
        recipe.packages.extend(packages.map(String::from));
        recipe.documents.extend([
            Document::new("/root/a.cc", include_str!("../../../corpus/a.cc")),
            Document::new("/root/A.java", include_str!("../../../corpus/A.java")),
            Document::new("/root/a.py", include_str!("../../../corpus/a.py")),
        ]);
        recipe.starts.extend([
            Start::new(
                "chromium --headless --no-sandbox --disable-gpu --user-data-dir=/root/chromium --dump-dom \
                 file:///root/a.html > /tmp/a.dom",
                "/tmp/a.dom",
            ),
            Start::new("javac -d /tmp /root/A.java", "/tmp/A.class"),
            Start::new("clang++-14 -std=c++17 -c -o /tmp/a.o /root/a.cc", "/tmp/a.o"),
            Start::new("gdb -batch -ex 'break Py_BytesMain' -ex 'save breakpoints /tmp/a.gdb' /usr/bin/python3", "/tmp/a.gdb"),
            Start::new("python3 /root/a.py", "/tmp/a.npy"),
            // The second time the cluster is there; it must be, for the server to start on it.
            Start::new(
                "test -d /var/lib/db || { install -d -o postgres /var/lib/db && setpriv --reuid postgres --regid postgres \
                 --clear-groups /usr/lib/postgresql/15/bin/initdb --auth trust --pgdata /var/lib/db; }; \
                 ls /var/lib/db > /tmp/db",
                "/tmp/db",
            ),
        ]);
        recipe.image_bytes = 8 << 30;
        recipe
    }
}
