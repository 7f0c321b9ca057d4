//! `pack-passes`: what each pass of `coldstart pack` does alone, and all of them together, to the files that packing is measured on.
//!
//! | what | how |
//! |---|---|
//! | look-ups, and the loader's cycles | `LD_DEBUG=statistics`, the library preloaded and bound at once |
//! | pages dirtied | `Anonymous` of the file's mappings once it is loaded, in proc(5) |
//! | load time hot | dlopen(3) with `RTLD_NOW`; a program's start with `--version` |
//! | the same cold, and what is read for it | the file alone is evicted, and alone lies on the disk or its model |

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::bed::{Bed, BedKind, image_of, with_image};
use super::pack_files::{Packing, SAMPLES, Sample, empty_directory, pack};
use super::pack_load::{command, in_turn, is_library, load};
use super::record::Record;
use super::runner::{shown, words};
use super::surroundings::read_from_disk;
use super::workshop::{Workshop, text};

mod table;

pub(super) use table::{figures, table};

/// The file as it is, each pass alone, and all. Those behind `relr` are told which program loads the file.
const WAYS: [&str; 6] = ["original", "relr", "bind-local", "pure-virtual", "stub", "all-safe"];
const ORIGINAL: usize = 0;
const RELR: usize = 1;
const ALL_SAFE: usize = 5;

const BEDS: [BedKind; 3] = [BedKind::Disk, BedKind::Net, BedKind::Hdd];

/// Rounds before the counted hot ones.
const WARM_UPS: u32 = 2;

/// How a closed world is named to coldstart.
enum World {
    Program(&'static str),
    /// The trace of a start, for libraries that their program opens itself.
    Start(&'static [&'static str]),
}

fn world(sample: &Sample) -> World {
    match sample.name {
        "chromium" => World::Program(sample.path),
        "libLLVM-14" | "libclang-cpp" => World::Program("/usr/lib/llvm-14/bin/clang"),
        "libjvm" => World::Start(&["/usr/lib/jvm/java-17-openjdk-amd64/bin/java", "-version"]),
        _ => World::Program("/usr/lib/libreoffice/program/soffice.bin"),
    }
}

/// What was measured of one file.
#[derive(Debug, Serialize, Deserialize)]
struct OfFile {
    name: String,
    /// Size of the original in bytes.
    size: u64,
    ways: Vec<OfWay>,
}

/// What was measured of a file after one pass, or as it is.
#[derive(Debug, Serialize, Deserialize)]
struct OfWay {
    way: String,
    /// `None` of the original.
    packing: Option<Packing>,
    /// Size in bytes; `None` if the pass refused the file, and then nothing else was measured.
    size: Option<u64>,
    /// Relocations with a symbol that the loader looked up, of the file and what it needs.
    look_ups: Option<u64>,
    dirty_bytes: Option<u64>,
    /// Cycles of the loader, by round.
    cycles: Vec<u64>,
    /// Seconds, by round.
    hot: Vec<f64>,
    cold: Vec<OfBed>,
}

/// Cold loads on one disk.
#[derive(Debug, Serialize, Deserialize)]
struct OfBed {
    bed: String,
    /// Seconds, by round.
    seconds: Vec<f64>,
    /// Bytes read, by round.
    bytes: Vec<u64>,
}

/// Programs that load a file and say what that took.
struct Loaders {
    /// Opens a library.
    program: PathBuf,
    /// Preloaded into a program.
    preloaded: PathBuf,
}

pub(super) fn measure(workshop: &Workshop, record: &mut Record) -> Result<()> {
    let directory = empty_directory(workshop, "pack-passes")?;
    let loaders = Loaders::build(workshop, &directory)?;
    let disk = directory.join("disk");
    let mut files = Vec::new();
    for sample in &SAMPLES {
        eprintln!("bench: {}", sample.name);
        let mut file = packed(workshop, sample, &disk, &directory).with_context(|| sample.name)?;
        hot(workshop, sample, &loaders, &disk, &mut file, record.runs)?;
        files.push(file);
    }
    let image = image_of(workshop, &disk)?;
    fs::remove_dir_all(&disk)?;
    let mut beds = serde_json::Map::new();
    for kind in BEDS {
        eprintln!("bench: {}", kind.name());
        with_image(workshop, kind, &image, |bed| {
            beds.insert(kind.name().to_owned(), bed.status.clone());
            let mut measured = SAMPLES.iter().zip(&mut files);
            measured.try_for_each(|(sample, file)| cold(workshop, sample, &loaders, (bed, kind), file, record.runs))
        })?;
    }
    record.add("files", serde_json::to_value(files)?);
    record.add("beds", beds.into());
    let about = [
        "libraries are opened by dlopen(3), chromium is started with --version; what they need is in memory",
        "closed worlds: LibreOffice, clang, a start of Java, chromium itself",
    ];
    record.add("about", serde_json::json!(about));
    Ok(fs::remove_dir_all(&directory)?)
}

impl Loaders {
    fn build(workshop: &Workshop, directory: &Path) -> Result<Self> {
        let source = text(&crate::cargo::workspace().join("bench/programs/load_time.c"));
        let built = Self { program: directory.join("load_time"), preloaded: directory.join("loaded.so") };
        let build = |more: &[&str], to: &Path| {
            let to = text(to);
            let command = [&["cc", "-O2", "-o", &to, &source], more].concat();
            workshop.runner.run(&command.into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        build(&[], &built.program)?;
        build(&["-shared", "-fPIC", "-DPRELOADED"], &built.preloaded)?;
        Ok(built)
    }
}

/// Where a copy of a file lies below the root of a disk.
fn place(sample: &Sample, way: usize, root: &Path) -> PathBuf {
    let name = Path::new(sample.path).file_name().unwrap_or_default();
    root.join(sample.name).join(WAYS[way]).join(name)
}

/// The original and what each pass makes of it, below `disk`.
fn packed(workshop: &Workshop, sample: &Sample, disk: &Path, directory: &Path) -> Result<OfFile> {
    let world = match world(sample) {
        World::Program(program) => program.to_owned(),
        World::Start(command) => {
            let trace = directory.join("start.coldtrace");
            let mut traced = workshop.coldstart(["trace", "--hide-output", "--force", "-o", &text(&trace), "--"]);
            traced.extend(command.iter().map(|&word| word.to_owned()));
            workshop.runner.run(&traced)?;
            text(&trace)
        }
    };
    let mut ways = Vec::new();
    for (way, name) in WAYS.iter().enumerate() {
        let copy = place(sample, way, disk);
        fs::create_dir_all(copy.parent().context("a copy without a directory")?)?;
        let options: &[&str] = match way {
            RELR => &["--passes", name],
            _ => &["--passes", name, "--closed-world", &world],
        };
        let packing = match way {
            ORIGINAL => fs::copy(sample.path, &copy).map(|_| None)?,
            _ => Some(pack(workshop, options, Path::new(sample.path), &copy)?),
        };
        let size = copy.exists().then(|| fs::metadata(&copy).map(|metadata| metadata.len())).transpose()?;
        let way = (*name).to_owned();
        ways.push(OfWay {
            way,
            packing,
            size,
            look_ups: None,
            dirty_bytes: None,
            cycles: vec![],
            hot: vec![],
            cold: vec![],
        });
    }
    Ok(OfFile { name: sample.name.to_owned(), size: fs::metadata(sample.path)?.len(), ways })
}

/// Hot loads: times, the loader's own statistics, and pages dirtied.
fn hot(
    workshop: &Workshop,
    sample: &Sample,
    loaders: &Loaders,
    disk: &Path,
    file: &mut OfFile,
    runs: u32,
) -> Result<()> {
    let copies: [PathBuf; WAYS.len()] = std::array::from_fn(|way| place(sample, way, disk));
    let is_there = copies.each_ref().map(|copy| copy.exists());
    for round in 0..WARM_UPS.saturating_add(runs) {
        let measured = in_turn::<_, { WAYS.len() }>(round, |way| {
            if !is_there[way] {
                return Ok(None);
            }
            let seconds = load(workshop, &command(sample, &loaders.program, &copies[way]))?.seconds;
            Ok(Some((seconds, statistics(workshop, sample, loaders, &copies[way])?)))
        })?;
        if round < WARM_UPS {
            continue;
        }
        for (way, measured) in file.ways.iter_mut().zip(measured) {
            if let Some((seconds, statistics)) = measured {
                way.hot.push(seconds);
                way.cycles.push(statistics.cycles);
                way.look_ups = Some(statistics.look_ups);
            }
        }
    }
    for (way, copy) in file.ways.iter_mut().zip(&copies).filter(|(_, copy)| copy.exists()) {
        way.dirty_bytes = Some(dirtied(workshop, sample, loaders, copy)?);
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Statistics {
    cycles: u64,
    look_ups: u64,
}

/// What the loader says of a start with the file in it.
fn statistics(workshop: &Workshop, sample: &Sample, loaders: &Loaders, copy: &Path) -> Result<Statistics> {
    let mut variables = words(["LD_DEBUG=statistics", "LD_BIND_NOW=1"]);
    if is_library(sample) {
        variables.push(format!("LD_PRELOAD={}", copy.display()));
    }
    let started = with_variables(variables, command(sample, &loaders.program, copy));
    let said = workshop.runner.said(&started)?;
    ensure!(said.status.success(), "`{}` ended with {}: {}", shown(&started), said.status, said.stderr.trim());
    Statistics::of(&said.stderr).with_context(|| format!("`{}` printed no statistics", shown(&started)))
}

impl Statistics {
    /// Of the start, which is printed first; later lines count what programs opened afterwards (elf/rtld.c, `print_statistics`).
    fn of(said: &str) -> Option<Self> {
        let after = |what: &str| {
            let (_, rest) = said.split_once(what)?;
            rest.trim_start().split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
        };
        Some(Self {
            cycles: after("total startup time in dynamic loader:")?,
            look_ups: after("number of relocations:")?,
        })
    }
}

/// A command with more variables in its environment, but none of them in that of an `env` that it starts with: what is preloaded
/// may need libraries that only the later variables lead to.
fn with_variables(variables: Vec<String>, mut command: Vec<String>) -> Vec<String> {
    let begin = usize::from(command.first().is_some_and(|word| word == "env"));
    command.drain(..begin);
    [words(["env"]), variables, command].concat()
}

/// Bytes of the file's mappings that were written to when it is loaded.
fn dirtied(workshop: &Workshop, sample: &Sample, loaders: &Loaders, copy: &Path) -> Result<u64> {
    let loading = command(sample, &loaders.program, copy);
    if is_library(sample) {
        return load(workshop, &loading)?.dirty_bytes.context("the program does not say which pages are dirty");
    }
    let preload = format!("LD_PRELOAD={}", loaders.preloaded.display());
    let said = workshop.runner.said(&with_variables(vec![preload], loading))?;
    let line = said.stderr.lines().find_map(|line| line.strip_prefix("dirty_bytes "));
    line.and_then(|bytes| bytes.parse().ok()).context("the preloaded library does not say which pages are dirty")
}

/// Cold loads of the copies on a bed.
fn cold(
    workshop: &Workshop,
    sample: &Sample,
    loaders: &Loaders,
    (bed, kind): (&Bed<'_>, BedKind),
    file: &mut OfFile,
    runs: u32,
) -> Result<()> {
    for way in &mut file.ways {
        way.cold.push(OfBed { bed: kind.name().to_owned(), seconds: Vec::new(), bytes: Vec::new() });
    }
    // What the file needs comes into memory.
    load(workshop, &command(sample, &loaders.program, &place(sample, ORIGINAL, &bed.root)))?;
    for round in 0..runs {
        let measured = in_turn::<_, { WAYS.len() }>(round, |way| {
            let copy = place(sample, way, &bed.root);
            if !copy.exists() {
                return Ok(None);
            }
            workshop.runner.run(&workshop.coldstart(["pagecache", "evict", "--sync", &text(&copy)]))?;
            let before = read(bed, kind)?;
            let loaded = load(workshop, &command(sample, &loaders.program, &copy))?;
            Ok(Some((loaded.seconds, read(bed, kind)?.saturating_sub(before))))
        })?;
        for (way, measured) in file.ways.iter_mut().zip(measured) {
            if let (Some((seconds, bytes)), Some(of_bed)) = (measured, way.cold.last_mut()) {
                of_bed.seconds.push(seconds);
                of_bed.bytes.push(bytes);
            }
        }
    }
    Ok(())
}

/// Bytes read so far: a model counts what it served, of its own disk the kernel knows it of us and our children.
fn read(bed: &Bed<'_>, kind: BedKind) -> Result<u64> {
    if kind == BedKind::Disk {
        return read_from_disk();
    }
    let status = bed.status_now()?;
    status.pointer("/served/bytes").and_then(serde_json::Value::as_u64).context("the bed does not count its reads")
}
