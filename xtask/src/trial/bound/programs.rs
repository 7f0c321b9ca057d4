//! Programs of /usr, bound to another directory. Most gain nothing there; all of them are to stay as they are.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::ground::Ground;
use super::super::process::stdout;
use super::super::table::Table;
use super::Pair;

/// Programs and their arguments. Those that are not here are left out.
const PROGRAMS: [(&str, &[&str]); 16] = [
    ("/usr/bin/git", &["version", "--build-options"]),
    ("/usr/lib/git-core/git-remote-https", &[]),
    ("/usr/bin/perl", &["-MPOSIX", "-MEncode", "-MSocket", "-e", "print floor(3.5), encode('utf8', 'x')"]),
    ("/usr/bin/python3.11", &["-c", "import ssl, sqlite3, ctypes; print(ssl.OPENSSL_VERSION, sqlite3.sqlite_version)"]),
    ("/usr/bin/gdb", &["-nx", "-batch", "-ex", "python import json; print(json.dumps([1]))"]),
    ("/usr/bin/node", &["-e", "console.log(require('zlib').gzipSync('a').length, process.versions.v8)"]),
    ("/usr/bin/systemctl", &["--version"]),
    ("/usr/bin/tshark", &["--version"]),
    ("/usr/bin/zenity", &["--version"]),
    ("/usr/bin/evince", &["--version"]),
    ("/usr/bin/llvm-objdump-14", &["--version"]),
    ("/usr/bin/ld.lld", &["--version"]),
    ("/usr/bin/su", &["--version"]),
    ("/usr/bin/sudo", &["--version"]),
    ("/usr/bin/busybox", &["true"]),
    ("/usr/local/go/bin/go", &["version"]),
];

/// What gains other rights, or searches for nothing.
const REFUSED: [&str; 5] = ["su", "sudo", "busybox", "go", "hello"];

const HELLO: &str = "#include <stdio.h>\nint main(void) { return puts(\"hello\") < 0; }\n";

pub(in super::super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    let mut programs: Vec<(PathBuf, &[&str])> =
        PROGRAMS.iter().map(|(path, arguments)| (PathBuf::from(path), *arguments)).collect();
    programs.push((hello(ground)?, &[]));
    programs.retain(|(path, _)| path.exists());
    for (path, arguments) in programs {
        // What has several names is one program.
        let path = path.canonicalize()?;
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let Some(pair) = Pair::bind_copy(ground, table, &name, &path)? else {
            if !REFUSED.contains(&name.as_str()) {
                table.failed(&format!("{name}: to be bound"), "it was refused");
            }
            continue;
        };
        let quiet = |_: bool| Ok(String::new());
        pair.compare(
            table,
            &arguments.join(" "),
            |command, _, _| {
                command.args(arguments);
            },
            quiet,
        );
        pair.verify(table, arguments);
    }
    Ok(())
}

/// A program for musl's loader, which is its libc, too.
fn hello(ground: &Ground) -> Result<PathBuf> {
    let program = ground.directory.join("hello");
    let source = ground.write("hello.c", HELLO)?;
    stdout(ground.command("musl-gcc").arg(source).arg(Path::new("-o")).arg(&program))?;
    Ok(program)
}
