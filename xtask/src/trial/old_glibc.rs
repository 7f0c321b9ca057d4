//! Programs of Debian 11, whose glibc 2.31 does not know RELR: all its libraries get the stub that relocates them (`--passes stub`).

use std::collections::BTreeMap;

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use super::ground::{Ground, totals};
use super::table::Table;
use crate::architecture::Architecture;
use crate::clean_system::{CleanSystem, said};

const RELEASE: &str = "bullseye";
const PACKAGES: &str = "clang-11 gdb git python3 perl sqlite3 openssl gawk imagemagick gpg librsvg2-bin";

/// What each program does, before and after.
const COMMANDS: &[(&str, &str)] = &[
    ("the loader's version", "/lib64/ld-linux-x86-64.so.2 --version 2>&1 | head -1 || ldd --version | head -1"),
    (
        "clang compiles and optimises",
        "printf '%s\\n' '#include <vector>' 'int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i; return s; }' | sed 1d > /tmp/a.c; \
         clang-11 -O2 -S -emit-llvm -o - /tmp/a.c",
    ),
    ("gdb with its Python", "gdb --batch -ex 'python import json, re; print(json.dumps([2**70, gdb.VERSION]))'"),
    ("git", "rm -rf /tmp/r; git init -q /tmp/r; cd /tmp/r; echo a > a; git add a; git write-tree"),
    (
        "Python's extensions",
        "python3 -c 'import ssl, sqlite3, ctypes, decimal, lzma, hashlib; print(ssl.OPENSSL_VERSION, decimal.Decimal(2).sqrt(), hashlib.sha3_256(b\"a\").hexdigest())'",
    ),
    (
        "threads and dlopen",
        "python3 -c 'import threading, ctypes; l = [threading.Thread(target=lambda: ctypes.CDLL(\"libxml2.so.2\").xmlCheckVersion(20900)) for _ in range(50)]; [t.start() for t in l]; [t.join() for t in l]; print(\"all\")'",
    ),
    ("bound at once", "LD_BIND_NOW=1 python3 -c 'import ssl; print(ssl.HAS_TLSv1_3)'"),
    ("perl", "perl -MPOSIX -MDigest::SHA=sha256_hex -e 'print POSIX::floor(3.7), sha256_hex(\"a\")'"),
    (
        "sqlite",
        "sqlite3 :memory: 'select sqlite_version(), json_array(1, 2), sum(value) from generate_series(1, 100)' 2>&1 || sqlite3 :memory: 'select sqlite_version()'",
    ),
    ("openssl", "echo a | openssl dgst -sha512; openssl speed -seconds 1 -evp aes-128-gcm > /dev/null 2>&1; echo $?"),
    ("awk", "echo '3 4' | gawk '{ print $1 * $2, strftime(\"%Y\", 0) }'"),
    ("ImageMagick", "convert -size 64x64 gradient:red-blue -rotate 30 -resize 32x32 ppm:- | sha256sum"),
    (
        "librsvg",
        "echo '<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"9\" height=\"9\"><circle r=\"4\" cx=\"4\" cy=\"4\"/></svg>' | rsvg-convert -f svg | wc -l",
    ),
    (
        "a backtrace through a library",
        "echo a > /tmp/a; gdb --batch -ex 'set breakpoint pending on' -ex 'break EVP_DigestUpdate' -ex run -ex backtrace --args openssl dgst -md5 /tmp/a 2>&1 \\
         | grep -o '[A-Za-z0-9_]* () from [^ ]*\\|Breakpoint 1, .*'",
    ),
];

pub(super) fn make(ground: &Ground, table: &mut Table) -> Result<()> {
    let system = CleanSystem::new(RELEASE, &ground.side(true))?;
    system.with_packages(RELEASE)?;
    system
        .shell(&format!("DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends {PACKAGES}"))?;
    let run = |command: &str| {
        let said = said(&mut system.command(&["sh", "-c", command]))?;
        ensure!(!said.is_empty(), "it said nothing");
        Ok(said)
    };
    let before: BTreeMap<&str, Result<String>> = COMMANDS.iter().map(|(what, command)| (*what, run(command))).collect();

    if ground.coldstart("pack").is_some() {
        // Linked with musl: this machine's glibc is newer than the system's.
        let programs = crate::release::static_programs(Architecture::native()?)?;
        let coldstart = programs.first().context("no programs")?;
        fs::copy(coldstart, system.root().join("usr/local/bin/coldstart"))?;
        // 1: some cannot be packed.
        let said = system.shell("coldstart pack --passes stub --in-place --json /usr/lib || [ $? = 1 ]")?;
        table.told("packed", &totals(&serde_json::from_str(&said)?));
        system.shell("ldconfig")?;
    }
    let mut before = before;
    for (what, command) in COMMANDS {
        table.compare(what, |packed| match packed {
            false => before.remove(what).context("it is asked once")?,
            true => run(command),
        });
    }
    system.end()
}
