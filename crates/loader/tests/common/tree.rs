//! Generated folders of small libraries that ask for one another in every way a linker can write down.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::run;

/// Whose loader the tree is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    Glibc,
    Musl,
}

/// Names that are asked for; the last few are in no folder of the tree.
const NAMES: [&str; 7] = ["liba.so", "libb.so", "libc1.so", "libd.so", "libe.so.1", "libf.so", "libg.so"];
const ELSEWHERE: [&str; 3] = ["libmissing.so", "libm.so.6", "libc.so.6"];
const FOLDERS: [&str; 4] = ["d0", "d1", "d2", "d3"];
const SUBFOLDERS: [&str; 4] = ["glibc-hwcaps/x86-64-v2", "glibc-hwcaps/x86-64-v3", "tls", "x86_64"];

/// Numbers from a seed (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        // The first numbers of a small seed are small.
        for _ in 0..8 {
            random.below(2);
        }
        random
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 33) as usize % end
    }

    pub(crate) fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, choices: &[&'a T]) -> &'a T {
        choices[self.below(choices.len())]
    }
}

/// What builds the objects: an empty object file, and for each name a library that is called so.
pub(crate) struct Workshop {
    folder: PathBuf,
    stubs: HashMap<String, PathBuf>,
}

impl Workshop {
    pub(crate) fn new(folder: &Path) -> Self {
        fs::create_dir_all(folder.join("stubs")).unwrap();
        fs::write(folder.join("empty.c"), "int empty;").unwrap();
        run(Command::new("cc").arg("-c").arg("-o").arg(folder.join("empty.o")).arg(folder.join("empty.c")));
        Self { folder: folder.to_owned(), stubs: HashMap::new() }
    }

    fn stub(&mut self, name: &str) -> PathBuf {
        let (folder, number) = (&self.folder, self.stubs.len());
        let build = || {
            let path = folder.join("stubs").join(format!("{number}.so"));
            run(Command::new("ld").args(["-shared", "-soname", name, "-o"]).arg(&path).arg(folder.join("empty.o")));
            path
        };
        self.stubs.entry(name.to_owned()).or_insert_with(build).clone()
    }

    fn link(&mut self, output: &Path, kind: &[&str], needed: &[String], search: &Search) {
        let stubs: Vec<PathBuf> = needed.iter().map(|name| self.stub(name)).collect();
        let mut command = Command::new("ld");
        command.args(kind).args(["-e", "0", "--no-as-needed", "-o"]).arg(output).arg(self.folder.join("empty.o"));
        command.args(stubs);
        if let Some(list) = &search.list {
            let tags = if search.inherited { "--disable-new-dtags" } else { "--enable-new-dtags" };
            command.args([tags, "-rpath", list]);
        }
        if search.no_default_libraries {
            command.args(["-z", "nodefaultlib"]);
        }
        run(&mut command);
    }
}

/// An object's own search list.
struct Search {
    list: Option<String>,
    inherited: bool,
    no_default_libraries: bool,
}

/// A tree and a start in it.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// The program's path as it is started, from the root.
    pub(crate) program: PathBuf,
    pub(crate) ld_library_path: Option<String>,
    pub(crate) ld_preload: Option<String>,
}

impl Tree {
    pub(crate) fn generate(
        workshop: &mut Workshop,
        root: &Path,
        interpreter: &str,
        flavour: Flavour,
        random: &mut Random,
    ) -> Self {
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(root.join("plain-file"), "").unwrap();
        let mut places = Vec::new();
        for folder in FOLDERS {
            fs::create_dir_all(root.join(folder)).unwrap();
            places.push(root.join(folder));
            if random.percent(40) {
                let place = root.join(folder).join(random.pick(&SUBFOLDERS));
                fs::create_dir_all(&place).unwrap();
                places.push(place);
            }
        }
        let mut made: Vec<PathBuf> = Vec::new();
        for name in NAMES {
            for _ in 0..1 + random.below(3) {
                let path = places[random.below(places.len())].join(name);
                if path.symlink_metadata().is_err() {
                    place(workshop, root, &path, &made, flavour, random);
                    made.push(path);
                }
            }
        }
        let program = root.join("bin/program");
        let mut needed: Vec<String> = (0..1 + random.below(4)).map(|_| name(root, flavour, random)).collect();
        if random.percent(70) && flavour == Flavour::Glibc {
            needed.push("libc.so.6".to_owned());
        }
        let search = search(root, flavour, random);
        workshop.link(&program, &["-pie", "-dynamic-linker", interpreter], &needed, &search);
        symlink("bin/program", root.join("program-link")).unwrap();
        let starts = [program.as_path(), &root.join("program-link"), Path::new("bin/program")].map(Path::to_owned);
        let start = if flavour == Flavour::Glibc { random.below(starts.len()) } else { 0 };
        let separator = random.pick(&[":", ";"]);
        let ld_library_path = random.percent(50).then(|| list(root, random, separator));
        let preload = |random: &mut Random| {
            let names: Vec<String> = (0..1 + random.below(2)).map(|_| name(root, flavour, random)).collect();
            names.join(if random.percent(50) { ":" } else { " " })
        };
        Self {
            root: root.to_owned(),
            program: starts[start].clone(),
            ld_library_path: ld_library_path.filter(|list| flavour == Flavour::Glibc || !list.contains(';')),
            ld_preload: random.percent(30).then(|| preload(random)),
        }
    }
}

/// Puts something at a path: mostly a library, now and then what only looks like one.
fn place(workshop: &mut Workshop, root: &Path, path: &Path, made: &[PathBuf], flavour: Flavour, random: &mut Random) {
    let chance = random.below(100);
    match chance {
        0..12 if !made.is_empty() => return symlink(&made[random.below(made.len())], path).unwrap(),
        12..14 => return symlink(path, path).unwrap(),
        14..16 => return symlink(root.join("gone"), path).unwrap(),
        16 => return fs::write(path, "this is not an object; it is a text that is longer than a header").unwrap(),
        17 => return fs::create_dir(path).unwrap(),
        18 => return fs::write(path, "short").unwrap(),
        _ => {}
    }
    let own = path.file_name().unwrap().to_str().unwrap();
    let soname = match random.below(100) {
        0..60 => Some(own),
        60..80 => Some(NAMES[random.below(NAMES.len())]),
        _ => None,
    };
    let needed: Vec<String> = (0..random.below(4)).map(|_| name(root, flavour, random)).collect();
    let mut kind = vec!["-shared"];
    kind.extend(soname.iter().flat_map(|soname| ["-soname", soname]));
    let search = search(root, flavour, random);
    workshop.link(path, &kind, &needed, &search);
    // Decoys: the byte of the class, the first of the machine, the byte order.
    let decoy = match chance {
        19..26 => Some((4, 1)),
        26..33 => Some((18, 183)),
        33 => Some((5, 2)),
        _ => None,
    };
    if let Some((place, value)) = decoy.filter(|_| flavour == Flavour::Glibc) {
        let mut bytes = fs::read(path).unwrap();
        bytes[place] = value;
        fs::write(path, bytes).unwrap();
    }
}

/// A name to ask for.
fn name(root: &Path, flavour: Flavour, random: &mut Random) -> String {
    let plain = if random.percent(80) { NAMES[random.below(NAMES.len())] } else { random.pick(&ELSEWHERE) };
    let folder = random.pick(&FOLDERS);
    match random.below(100) {
        0..4 => format!("{}/{folder}/{plain}", root.display()),
        4..7 if flavour == Flavour::Glibc => format!("$ORIGIN/../{folder}/{plain}"),
        7..8 => format!("{folder}/{plain}"),
        8..9 if flavour == Flavour::Glibc => format!("$ORIGIN/$PLATFORM/{plain}"),
        _ => plain.to_owned(),
    }
}

fn search(root: &Path, flavour: Flavour, random: &mut Random) -> Search {
    let list = random.percent(60).then(|| list(root, random, ":"));
    // musl passes a list with any other token over, which would leave little to search.
    let list = list.filter(|list| flavour == Flavour::Glibc || !(list.contains("$LIB") || list.contains("$PLATFORM")));
    let no_default_libraries = flavour == Flavour::Glibc && random.percent(10);
    Search { list, inherited: random.percent(50), no_default_libraries }
}

/// A list of directories.
fn list(root: &Path, random: &mut Random, separator: &str) -> String {
    let elements = (0..1 + random.below(4)).map(|_| {
        let folder = random.pick(&FOLDERS);
        match random.below(16) {
            0..5 => format!("{}/{folder}", root.display()),
            5 => format!("{}/{folder}///", root.display()),
            6 => "$ORIGIN".to_owned(),
            7 | 8 => format!("$ORIGIN/../{folder}"),
            9 => format!("${{ORIGIN}}/../{folder}/"),
            10 => format!("{}/gone", root.display()),
            11 => folder.to_owned(),
            12 => String::new(),
            13 => "/$LIB".to_owned(),
            14 => random.pick(&["$PLATFORM", "/nowhere/$PLATFORM", "$ORIGINAL", "d0/plain$"]).to_owned(),
            _ => random.pick(&["plain-file", "/proc/self/maps", "/"]).to_owned(),
        }
    });
    elements.collect::<Vec<_>>().join(separator)
}
