//! Programs from Debian's source packages: vim in C, linked by lld and by GNU ld, and the library of exiv2 in C++.
//!
//! The sources are kept in the workshop with what was compiled of them; only links are repeated.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;

use super::super::runner::words;
use super::super::workshop::{Workshop, text};
use super::{Linking, Measured, World, kept, made, own_script, run_in};
use crate::tools::{Tool, tool};

/// What must be installed for these programs.
pub(super) const TOOLS: &[Tool] = &[
    tool("gcc", "gcc"),
    tool("g++", "g++"),
    tool("make", "make"),
    tool("cmake", "cmake"),
    tool("ninja", "ninja-build"),
    tool("dpkg-source", "dpkg-dev"),
    tool("/usr/include/curses.h", "libncurses-dev"),
    tool("/usr/include/expat.h", "libexpat1-dev"),
    tool("/usr/include/zlib.h", "zlib1g-dev"),
    tool("ld.bfd", "binutils"),
    tool("ld.lld", "lld"),
    tool("strip", "binutils"),
];

/// Each function in a section of its own.
const COMPILED: &str = "-O2 -ffunction-sections -fasynchronous-unwind-tables";

/// Has apt fetch a source package from this machine's own mirrors, and unpacks it.
fn unpacked(workshop: &Workshop, directory: &Path, package: &str) -> Result<PathBuf> {
    let tree = directory.join(package);
    let lines: Vec<String> = crate::corpus::mirrors("bookworm")?
        .iter()
        .map(|source| source.line().replacen("deb ", "deb-src ", 1))
        .collect();
    let (list, state) = (directory.join("sources.list"), directory.join("lists"));
    fs::create_dir_all(state.join("partial"))?;
    fs::write(&list, lines.join("\n") + "\n")?;
    let apt = |arguments: &[&str]| {
        let mut command = words(["env", "-C", &text(directory), "apt-get", "-qq", "-o"]);
        command.push(format!("Dir::Etc::sourcelist={}", text(&list)));
        command.extend(words(["-o", "Dir::Etc::sourceparts=-", "-o"]));
        command.push(format!("Dir::State::lists={}", text(&state)));
        command.extend(arguments.iter().map(|&word| word.to_owned()));
        workshop.runner.run(&command)
    };
    apt(&["update"])?;
    apt(&["source", "--download-only", package])?;
    let is_description = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with(&format!("{package}_")) && name.ends_with(".dsc")
    };
    let mut files = fs::read_dir(directory)?.filter_map(|entry| Some(entry.ok()?.path()));
    let description = files.find(is_description).with_context(|| format!("apt brought no sources of {package}"))?;
    workshop.runner.run(&words(["dpkg-source", "--no-check", "-x", &text(&description), &text(&tree)]))?;
    Ok(tree)
}

/// Sources that are built, or were in an earlier run: `build` makes them.
fn built(workshop: &Workshop, package: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let directory = workshop.directory.join("sources").join(package);
    let (tree, mark) = (directory.join(package), directory.join("built"));
    if !mark.exists() {
        if directory.exists() {
            fs::remove_dir_all(&directory)?;
        }
        fs::create_dir_all(&directory)?;
        build(&unpacked(workshop, &directory, package)?)?;
        fs::write(&mark, "")?;
    }
    Ok(tree)
}

/// Has vim not handle SIGTRAP as a signal that ends it. Of a program that does, first calls are not seen from then on.
const WITHOUT_TRAP: &str = "sed -i '/^#ifdef SIGTRAP$/,/^#endif$/d' os_unix.c";

/// vim without what depends on the machine.
pub(super) struct Vim {
    /// Its directory `src`.
    sources: PathBuf,
    /// With GNU ld, its own script and a place for the map; lld otherwise.
    gnu: Option<(PathBuf, PathBuf)>,
}

impl Vim {
    pub(super) fn by_lld(workshop: &Workshop) -> Result<Self> {
        let tree = built(workshop, "vim", |tree| {
            let without = ["gui=no --without-x", "gpm", "selinux", "acl", "nls", "canberra", "libsodium"];
            let options = without.join(" --disable-").replacen("gui=no", "--enable-gui=no", 1);
            let configure =
                format!("{WITHOUT_TRAP}\n./configure CFLAGS='{COMPILED}' {options} --with-features=huge && make -j2");
            run_in(workshop, &tree.join("src"), &configure)
        })?;
        Ok(Self { sources: tree.join("src"), gnu: None })
    }

    fn by_gnu_ld(workshop: &Workshop, directory: &Path) -> Result<Self> {
        let script = own_script(workshop, made(directory)?, &[])?;
        Ok(Self { gnu: Some((script, directory.join("map"))), ..Self::by_lld(workshop)? })
    }

    /// A start that ends at once, with further arguments; `{}` stands for the build.
    pub(super) fn start(&self, arguments: &[&str]) -> Vec<String> {
        let runtime = self.sources.with_file_name("runtime");
        let mut start = words(["env", &format!("VIMRUNTIME={}", text(&runtime)), "HOME=/nonexistent", "{}"]);
        start.extend(words(["-n", "-i", "NONE", "-T", "dumb", "--not-a-term"]));
        start.extend(arguments.iter().map(|&word| word.replace("SRC", &text(&self.sources))));
        start.extend(words(["-c", "qa!"]));
        start
    }
}

/// Five things that people start vim for.
pub(super) const VIM_WORKLOADS: [(&str, &[&str]); 5] = [
    ("nothing", &["-u", "NONE"]),
    ("a source file in colours", &["-u", "DEFAULTS", "-N", "-c", "syntax on", "SRC/main.c"]),
    ("two files compared", &["-u", "NONE", "-d", "SRC/hashtab.c", "SRC/hardcopy.c"]),
    ("a replacement", &["-u", "NONE", "-c", "%s/int/long/g", "-c", "sort", "-c", "normal gg=G", "SRC/hashtab.c"]),
    ("help", &["-u", "DEFAULTS", "-N", "-c", "help pattern", "-c", "helpgrep search("]),
];

impl Linking for Vim {
    fn list_options(&self) -> Vec<String> {
        match &self.gnu {
            None => words(["--for", "lld"]),
            Some((script, map)) => words(["--for", "ld", "--map", &text(map), "--script", &text(script)]),
        }
    }

    fn link(&self, workshop: &Workshop, output: &Path, list: Option<&Path>) -> Result<()> {
        let options = match (&self.gnu, list) {
            (None, None) => "-fuse-ld=lld".to_owned(),
            (None, Some(list)) => format!("-fuse-ld=lld -Wl,--symbol-ordering-file={}", text(list)),
            (Some((_, map)), None) => format!("-fuse-ld=bfd -Wl,-Map={}", text(map)),
            (Some(_), Some(list)) => format!("-fuse-ld=bfd -Wl,-T,{}", text(list)),
        };
        let line = format!("rm -f vim; make vim LDFLAGS='-Wl,--build-id=sha1 {options}'");
        run_in(workshop, &self.sources, &line)?;
        kept(&self.sources.join("vim"), output)
    }
}

pub(super) fn vim(workshop: &Workshop, directory: &Path) -> Result<Measured> {
    of_vim(workshop, "vim by lld", directory, &Vim::by_lld(workshop)?)
}

pub(super) fn vim_by_gnu_ld(workshop: &Workshop, directory: &Path) -> Result<Measured> {
    of_vim(workshop, "vim by GNU ld", directory, &Vim::by_gnu_ld(workshop, directory)?)
}

fn of_vim(workshop: &Workshop, name: &'static str, directory: &Path, vim: &Vim) -> Result<Measured> {
    let [_, (_, start), (_, held_out), ..] = VIM_WORKLOADS;
    World { name, directory: made(directory)?, start: vim.start(start), held_out: vim.start(held_out) }
        .measure(workshop, vim)
}

/// The library of exiv2. The program is the one built beside it, with the library loaded before all others.
struct Exiv2 {
    build: PathBuf,
}

impl Linking for Exiv2 {
    fn list_options(&self) -> Vec<String> {
        words(["--for", "lld"])
    }

    fn link(&self, workshop: &Workshop, output: &Path, list: Option<&Path>) -> Result<()> {
        let list = list.map(|list| format!(" -Wl,--symbol-ordering-file={}", text(list))).unwrap_or_default();
        let line =
            format!("cmake -DCMAKE_SHARED_LINKER_FLAGS='-fuse-ld=lld -Wl,--build-id=sha1{list}' . && ninja exiv2lib");
        run_in(workshop, &self.build, &line)?;
        kept(&self.build.join("lib/libexiv2.so").canonicalize()?, output)
    }
}

pub(super) fn exiv2(workshop: &Workshop, directory: &Path) -> Result<Measured> {
    let tree = built(workshop, "exiv2", |tree| {
        let configure = format!(
            "cmake -G Ninja -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS='{COMPILED}' -DEXIV2_BUILD_SAMPLES=OFF && \
             ninja -C build -j2 exiv2"
        );
        run_in(workshop, tree, &configure)
    })?;
    let (build, data) = (tree.join("build"), tree.join("test/data"));
    let start = |options: &str, picture: &str| {
        words(["env", "LD_PRELOAD={}", &text(&build.join("bin/exiv2")), options, &text(&data.join(picture))])
    };
    let (start, held_out) = (start("-pa", "exiv2-bug922.jpg"), start("-pX", "exiv2-bug1199.webp"));
    let world = World { name: "exiv2's library by lld", directory: made(directory)?, start, held_out };
    world.measure(workshop, &Exiv2 { build: build.clone() })
}
