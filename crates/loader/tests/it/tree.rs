//! Generated folders of small libraries that ask for one another in every way a linker can write down, and in some that
//! none does.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use coldstart_testing::Random;

use crate::recipe::Recipe;

/// Whose loader the tree is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavour {
    Glibc,
    Musl,
}

/// Names that are asked for; the last few are in no folder of the tree.
const NAMES: [&str; 9] =
    ["liba.so", "libb.so", "libc1.so", "libd.so", "libe.so.1", "libf.so", "libg.so", "libh.so.2", "libi.so"];
const ELSEWHERE: [&str; 5] = ["libmissing.so", "libm.so.6", "libc.so.6", "libgcc_s.so.1", "libdl.so.2"];
const FOLDERS: [&str; 4] = ["d0", "d1", "d2", "d3"];
const SUBFOLDERS: [&str; 12] = [
    "glibc-hwcaps/x86-64-v2",
    "glibc-hwcaps/x86-64-v3",
    "glibc-hwcaps/x86-64-v4",
    "glibc-hwcaps/mine",
    "glibc-hwcaps/power9",
    "tls",
    "x86_64",
    "haswell",
    "tls/x86_64",
    "tls/haswell/x86_64",
    "haswell/avx512_1/x86_64",
    "lib/x86_64-linux-gnu",
];
/// `DF_1_NODEFLIB` and `DF_1_PIE`.
const NO_DEFAULT_LIBRARIES: u64 = 0x800;
const PROGRAM: u64 = 0x0800_0000;

/// For which machine and loader trees are made.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) flavour: Flavour,
    /// What all objects are like.
    pub(crate) base: Recipe,
    pub(crate) interpreter: String,
}

/// A tree and a start in it.
pub(crate) struct Tree {
    pub(crate) root: PathBuf,
    /// The program's path as it is started, from the root.
    pub(crate) program: PathBuf,
    pub(crate) ld_library_path: Option<String>,
    pub(crate) ld_preload: Option<String>,
}

/// What makes a tree.
struct Maker<'a> {
    target: &'a Target,
    root: &'a Path,
    random: &'a mut Random,
}

impl Tree {
    pub(crate) fn generate(target: &Target, root: &Path, random: &mut Random) -> Self {
        let flavour = target.flavour;
        fs::create_dir_all(root.join("bin")).unwrap();
        fs::write(root.join("plain-file"), "").unwrap();
        for (link, to) in [("loop", "loop"), ("gone-link", "gone"), ("folder-link", "d1")] {
            symlink(to, root.join(link)).unwrap();
        }
        let mut places = Vec::new();
        for folder in FOLDERS {
            fs::create_dir_all(root.join(folder)).unwrap();
            places.push(root.join(folder));
            for _ in 0..random.below(3) {
                let place = root.join(folder).join(random.pick(&SUBFOLDERS));
                fs::create_dir_all(&place).unwrap();
                places.push(place);
            }
        }
        let mut made: Vec<PathBuf> = Vec::new();
        let mut maker = Maker { target, root, random };
        for name in NAMES {
            for _ in 0..1 + maker.random.below(3) {
                let path = places[maker.random.below(places.len())].join(name);
                if path.symlink_metadata().is_err() {
                    maker.place(&path, &made);
                    made.push(path);
                }
            }
        }
        let program = root.join("bin/program");
        let mut recipe = maker.object(1);
        recipe.flags_1 |= PROGRAM;
        recipe.interpreter = Some(target.interpreter.clone());
        if flavour == Flavour::Glibc && maker.random.percent(70) {
            recipe.needed.push("libc.so.6".to_owned());
        }
        if flavour == Flavour::Glibc && maker.random.percent(10) {
            recipe.soname = Some(NAMES[maker.random.below(NAMES.len())].to_owned());
        }
        fs::write(&program, recipe.bytes()).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        symlink("bin/program", root.join("program-link")).unwrap();
        let starts = [program.as_path(), &root.join("program-link"), Path::new("bin/program")].map(Path::to_owned);
        let start = if flavour == Flavour::Glibc { maker.random.below(starts.len()) } else { 0 };
        let separator = maker.random.pick(&[":", ";"]);
        let ld_library_path = maker.random.percent(50).then(|| maker.list(separator));
        let ld_preload = maker.random.percent(30).then(|| maker.preload());
        Self {
            root: root.to_owned(),
            program: starts[start].clone(),
            ld_library_path: ld_library_path.filter(|list| flavour == Flavour::Glibc || !list.contains(';')),
            ld_preload,
        }
    }

    /// A search path for the loader's option.
    pub(crate) fn another_list(&self, target: &Target, random: &mut Random) -> String {
        Maker { target, root: &self.root, random }.list(":")
    }

    /// Names for the loader's option.
    pub(crate) fn another_preload(&self, target: &Target, random: &mut Random) -> String {
        Maker { target, root: &self.root, random }.preload()
    }
}

impl Maker<'_> {
    /// Puts something at a path: mostly a library, now and then what only looks like one.
    fn place(&mut self, path: &Path, made: &[PathBuf]) {
        let glibc = self.target.flavour == Flavour::Glibc;
        let chance = self.random.below(1000);
        match chance {
            0..100 if !made.is_empty() => return symlink(&made[self.random.below(made.len())], path).unwrap(),
            100..110 => return symlink(path, path).unwrap(),
            110..125 => return symlink(self.root.join("gone"), path).unwrap(),
            125..128 => {
                return fs::write(path, "/* GNU ld script */\nGROUP ( /lib/liba.so.1 AS_NEEDED ( /lib/libb.so ) )\n")
                    .unwrap();
            }
            128..131 => return fs::create_dir(path).unwrap(),
            131..134 => return fs::write(path, "short").unwrap(),
            134..136 => return fs::write(path, "").unwrap(),
            136..138 => return fs::write(path, "#!/bin/sh\nexit 0\n").unwrap(),
            138..146 if !made.is_empty() => {
                let _ = fs::hard_link(&made[self.random.below(made.len())], path);
                return;
            }
            _ => {}
        }
        let own = path.file_name().unwrap().to_str().unwrap();
        let mut recipe = self.object(0);
        recipe.soname = match self.random.below(100) {
            0..60 => Some(own.to_owned()),
            60..80 => Some(NAMES[self.random.below(NAMES.len())].to_owned()),
            80..82 => Some(String::new()),
            _ => None,
        };
        match chance {
            150..160 if glibc => recipe.abi_tag = Some([1, 2, 0, 0]),
            160..170 => recipe.abi_tag = Some([0, 3, 2, 0]),
            170..180 if glibc => recipe.abi_tag = Some([0, 99, 0, 0]),
            180..210 if glibc => (recipe.wide, recipe.machine) = (false, 3),
            210..215 if glibc => (recipe.wide, recipe.little) = (false, false),
            // Odd all over, and for another machine or for ours.
            400..404 if glibc => recipe.little = false,
            404..408 if glibc => (recipe.little, recipe.machine) = (false, recipe.machine.swap_bytes()),
            215..218 if glibc => recipe.flags_1 |= PROGRAM,
            _ => {}
        }
        let mut bytes = recipe.bytes();
        // Decoys: a place in the header and what stands there.
        let changes: &[(usize, u8)] = match chance {
            220..270 => &[(4, 1)],
            270..275 => &[(4, 7)],
            275..325 => &[(18, 183)],
            325..330 => &[(18, 183), (16, 1)],
            330..333 => &[(5, 2)],
            333..335 => &[(5, 0)],
            335..338 => &[(16, 1)],
            338..341 => &[(16, 2)],
            341..344 => &[(20, 2), (18, 183)],
            344..347 => &[(6, 3)],
            347..350 => &[(7, 9)],
            350..356 => &[(7, 3), (8, 3)],
            356..359 => &[(7, 3), (8, 5)],
            359..362 => &[(12, 1)],
            362..365 => &[(54, 9)],
            365..368 => &[(56, 0)],
            368..371 => &[(4, 1), (5, 2), (6, 9), (20, 3)],
            404..408 => &[(20, 1), (23, 0)],
            408..411 => &[(5, 2), (18, 183)],
            411..414 => &[(5, 0), (18, 183)],
            414..417 => &[(6, 3), (18, 183)],
            417..420 => &[(7, 9), (18, 183)],
            420..423 => &[(12, 1), (18, 183)],
            423..426 => &[(8, 9), (18, 183), (20, 2)],
            426..432 => &[(7, 3), (8, 2)],
            432..435 => &[(7, 3), (8, 4)],
            _ => &[],
        };
        for &(place, value) in changes.iter().filter(|_| glibc) {
            bytes[place] = value;
        }
        if glibc && (371..374).contains(&chance) {
            bytes.truncate(100);
        }
        fs::write(path, bytes).unwrap();
        if glibc && (380..400).contains(&chance) {
            fs::set_permissions(path, PermissionsExt::from_mode(0o0)).unwrap();
        }
    }

    /// An object that asks for something.
    fn object(&mut self, least: usize) -> Recipe {
        let glibc = self.target.flavour == Flavour::Glibc;
        let mut recipe = self.target.base.clone();
        recipe.needed = (0..least + self.random.below(4)).map(|_| self.name()).collect();
        if self.random.percent(60) {
            // Old lists, new ones, and both at once.
            let kind = self.random.below(100);
            recipe.rpath = (kind < 52).then(|| self.search());
            recipe.runpath = (kind >= 44).then(|| self.search());
        }
        if glibc && self.random.percent(10) {
            recipe.flags_1 |= NO_DEFAULT_LIBRARIES;
        }
        if glibc && self.random.percent(10) {
            let plain = recipe.needed.iter().filter(|name| !name.contains(['/', '$']) && !name.is_empty());
            recipe.versions = plain.map(|name| (name.clone(), "VERSION_9".to_owned())).collect();
            recipe.versions.dedup();
        }
        recipe
    }

    /// A name to ask for.
    fn name(&mut self) -> String {
        let glibc = self.target.flavour == Flavour::Glibc;
        let random = &mut *self.random;
        let plain = if random.percent(85) { NAMES[random.below(NAMES.len())] } else { random.pick(&ELSEWHERE) };
        let folder = random.pick(&FOLDERS);
        match random.below(1000) {
            0..40 => format!("{}/{folder}/{plain}", self.root.display()),
            40..60 if glibc => format!("$ORIGIN/../{folder}/{plain}"),
            60..70 if glibc => format!("${{ORIGIN}}/{plain}"),
            70..80 => format!("{folder}/{plain}"),
            80..87 if glibc => format!("$ORIGIN/$PLATFORM/{plain}"),
            87..94 if glibc => format!("$ORIGIN/../{folder}/$LIB/{plain}"),
            94..97 if glibc => String::new(),
            97..100 if glibc => "/".to_owned(),
            100..104 if glibc => "$LIB".to_owned(),
            104..110 if glibc => self.target.interpreter.clone(),
            110..118 if glibc => "ld-linux-x86-64.so.2".to_owned(),
            118..122 if glibc => format!("{}/bin/program", self.root.display()),
            122..126 if glibc => "bin/program".to_owned(),
            126..130 if glibc => "x".repeat(300),
            130..136 => format!("./{folder}/../{folder}//{plain}"),
            136..142 if glibc => format!("$ORIGINAL{plain}"),
            _ => plain.to_owned(),
        }
    }

    /// An object's own search list; musl passes one with other tokens than `$ORIGIN` over, which would leave nothing.
    fn search(&mut self) -> String {
        if self.random.percent(3) {
            return String::new();
        }
        let list = self.list(":");
        let is_plain = self.target.flavour == Flavour::Glibc || !(list.contains("$LIB") || list.contains("$PLATFORM"));
        if is_plain { list } else { "$ORIGIN".to_owned() }
    }

    fn preload(&mut self) -> String {
        let names: Vec<String> = (0..1 + self.random.below(3)).map(|_| self.name()).collect();
        names.join(self.random.pick(&[":", " ", "::", " : "]))
    }

    /// A list of directories.
    fn list(&mut self, separator: &str) -> String {
        let root = self.root.display();
        let random = &mut *self.random;
        let elements = (0..1 + random.below(5)).map(|_| {
            let folder = random.pick(&FOLDERS);
            match random.below(220) {
                0..60 => format!("{root}/{folder}"),
                60..70 => format!("{root}/{folder}///"),
                70..80 => "$ORIGIN".to_owned(),
                80..105 => format!("$ORIGIN/../{folder}"),
                105..120 => format!("${{ORIGIN}}/../{folder}/"),
                120..130 => format!("{root}/gone"),
                130..140 => folder.to_owned(),
                140..148 => String::new(),
                148..156 => random.pick(&["/$LIB", "$ORIGIN/../d0/$LIB", "$ORIGIN/../${LIB}"]).to_owned(),
                156..164 => random.pick(&["$PLATFORM", "/nowhere/$PLATFORM", "$ORIGINAL", "d0/plain$"]).to_owned(),
                164..172 => format!("{root}/{folder}/$PLATFORM"),
                172..180 => random
                    .pick(&["plain-file", coldstart_host::process::own::MAPS, "/", "//", ".", "..", "./d2"])
                    .to_owned(),
                180..188 => format!("{root}/{}", random.pick(&["loop", "gone-link", "folder-link", "plain-file"])),
                188..192 => format!("{root}/loop/{folder}"),
                192..196 => format!("{root}/{}", "x".repeat(260)),
                196..199 => format!("{root}{}", "/./".repeat(1000)),
                199..202 => format!("{root}{}", "/./".repeat(1400)),
                202..210 => format!("{root}/{folder}/../{folder}"),
                210..214 => "/usr/lib/x86_64-linux-gnu".to_owned(),
                _ => format!("{root}/folder-link"),
            }
        });
        elements.collect::<Vec<_>>().join(separator)
    }
}
