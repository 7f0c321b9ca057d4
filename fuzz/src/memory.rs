//! Files in memory, of this process alone: fuzzers run side by side.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A path for a file or directory of this process. `name` makes it different from its others.
pub fn place(name: &str) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let directory = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    directory.join(format!("coldstart-fuzz-{}.{name}", std::process::id()))
}

/// A file without a name, with these bytes. Reading begins at their end.
pub fn file(bytes: &[u8]) -> File {
    let path = place("unnamed");
    let mut file = File::options().read(true).write(true).create_new(true).open(&path).expect("a file");
    std::fs::remove_file(path).expect("it is ours");
    file.write_all(bytes).expect("there is room");
    file
}
