//! What the tests share: objects' facts by the `object` crate, and the real loader's own answers.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use coldstart_loader::cache::LdSoCache;
use coldstart_loader::{Class, Environment, Fault, FileSystem, Hwcaps, Identity, ObjectFacts, Probe, hwcaps};
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Endianness, ReadCache, elf};

/// This machine's files as seen from a current directory; each is read once.
#[derive(Default)]
pub(crate) struct Files {
    current: PathBuf,
    /// Whoever looks is somebody else than the owner: modes count even for a test that runs as root.
    as_stranger: bool,
    /// By their bytes: as paths, `a//b` and `a/./b` would be one, of which one may be too long.
    seen: RefCell<HashMap<OsString, Probe>>,
}

thread_local! {
    /// Files of the system, which no test changes.
    static SYSTEM: RefCell<HashMap<OsString, Probe>> = RefCell::default();
}

impl Files {
    pub(crate) fn seen_from(current: &Path) -> Self {
        Self { current: current.to_owned(), ..Self::default() }
    }

    pub(crate) fn seen_by_stranger(current: &Path) -> Self {
        Self { as_stranger: true, ..Self::seen_from(current) }
    }
}

impl FileSystem for Files {
    fn object(&self, path: &Path) -> Probe {
        let path = self.current.join(path);
        if path.starts_with("/lib") || path.starts_with("/usr") {
            return SYSTEM
                .with_borrow_mut(|seen| seen.entry(path.clone().into()).or_insert_with(|| look(&path)).clone());
        }
        let look = || match path.metadata() {
            Ok(metadata) if self.as_stranger && metadata.mode() & 0o4 == 0 => {
                Probe::Absent(io::ErrorKind::PermissionDenied)
            }
            _ => look(&path),
        };
        self.seen.borrow_mut().entry(path.clone().into()).or_insert_with(look).clone()
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.current.join(path).is_dir()
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.current.join(path).canonicalize().ok()
    }
}

/// Files from this size on are read in pieces.
const LARGE: u64 = 1 << 16;

fn look(path: &Path) -> Probe {
    // What cannot be opened, as the loader would open it: as given, with its double slashes and dots.
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) => return Probe::Absent(error.kind()),
    };
    let metadata = file.metadata().unwrap();
    let identity = Identity { device: metadata.dev(), inode: metadata.ino() };
    let set_user_id = metadata.mode() & 0o4000 != 0;
    if metadata.len() < LARGE || !metadata.is_file() {
        let mut content = Vec::new();
        return match file.read_to_end(&mut content) {
            Ok(_) => Probe::of_content(&content, identity, set_user_id),
            Err(_) => Probe::NotAnObject("cannot read file data".to_owned()),
        };
    }
    let mut ident = [0; 64];
    file.read_exact(&mut ident).unwrap();
    if !ident.starts_with(b"\x7fELF") {
        return Probe::NotAnObject("invalid ELF header".to_owned());
    }
    Probe::Object { identity, facts: ObjectFacts { set_user_id, ..read_facts(path, ident[4]) } }
}

/// The facts of an object as the `object` crate reads them.
pub(crate) fn read_facts(path: &Path, class: u8) -> ObjectFacts {
    let cache = ReadCache::new(File::open(path).unwrap());
    match class {
        1 => facts::<elf::FileHeader32<Endianness>>(&cache, Class::Bits32),
        _ => facts::<elf::FileHeader64<Endianness>>(&cache, Class::Bits64),
    }
}

/// The facts of an object; a decoy of another class has nothing but its class.
fn facts<Elf: FileHeader<Endian = Endianness>>(data: &ReadCache<File>, class: Class) -> ObjectFacts {
    let mut facts = ObjectFacts { class, little_endian: true, ..ObjectFacts::default() };
    let _: object::Result<()> = (|| {
        let header = Elf::parse(data)?;
        let endian = header.endian()?;
        facts.little_endian = endian == Endianness::Little;
        facts.machine = header.e_machine(endian).0;
        facts.flags = header.e_flags(endian).0;
        let segments = header.program_headers(endian, data)?;
        let at_address = |address: u64| {
            let segment = segments.iter().find(|segment| {
                let start: u64 = segment.p_vaddr(endian).into();
                let length: u64 = segment.p_filesz(endian).into();
                segment.p_type(endian) == elf::PT_LOAD && (start..start + length).contains(&address)
            })?;
            let start: u64 = segment.p_vaddr(endian).into();
            Some(address - start + segment.p_offset(endian).into())
        };
        for segment in segments {
            if let Some(interpreter) = segment.interpreter(endian, data)? {
                facts.interpreter = Some(interpreter.to_vec());
            }
        }
        let mut entries = Vec::new();
        for segment in segments {
            if let Some(dynamic) = segment.dynamic(endian, data)? {
                entries.extend(dynamic.iter().map(|entry| (entry.d_tag(endian), entry.d_val(endian).into())));
            }
        }
        let end =
            entries.iter().position(|entry: &(elf::DynamicTag, u64)| entry.0 == elf::DT_NULL).unwrap_or(entries.len());
        entries.truncate(end);
        let value = |tag| entries.iter().find(|entry| entry.0 == tag).map(|entry| entry.1);
        let is_program = value(elf::DT_FLAGS_1).is_some_and(|flags| flags & elf::DF_1_PIE.0 != 0);
        facts.fault = match header.e_type(endian) {
            elf::ET_EXEC => Some(Fault::Mapping("cannot dynamically load executable")),
            elf::ET_DYN if entries.is_empty() => Some(Fault::Mapping("object file has no dynamic section")),
            elf::ET_DYN if is_program => {
                Some(Fault::Mapping("cannot dynamically load position-independent executable"))
            }
            elf::ET_DYN => None,
            _ => Some(Fault::Header("only ET_DYN and ET_EXEC can be loaded")),
        };
        let Some(strings) = value(elf::DT_STRTAB).and_then(at_address) else { return Ok(()) };
        let end = strings + value(elf::DT_STRSZ).unwrap_or_default();
        let text = |offset: u64| {
            object::ReadRef::read_bytes_at_until(data, strings + offset..end, 0).unwrap_or_default().to_vec()
        };
        facts.soname = value(elf::DT_SONAME).map(text);
        facts.rpath = value(elf::DT_RPATH).map(text);
        facts.runpath = value(elf::DT_RUNPATH).map(text);
        let needed = entries.iter().filter(|entry| entry.0 == elf::DT_NEEDED);
        facts.needed = needed.map(|entry| text(entry.1)).collect();
        facts.no_default_libraries = value(elf::DT_FLAGS_1).is_some_and(|flags| flags & elf::DF_1_NODEFLIB.0 != 0);
        Ok(())
    })();
    facts
}

/// The interpreter of the test itself, and the release of its glibc; none where that is not glibc on x86-64.
pub(crate) fn real_loader() -> Option<(String, u32)> {
    let Probe::Object { facts, .. } = look(&std::env::current_exe().unwrap()) else { return None };
    let path = String::from_utf8(facts.interpreter?).unwrap();
    let version = Command::new(&path).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&version.stdout).into_owned();
    let (_, after) = text.lines().next()?.split_once("version 2.")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    (facts.machine == elf::EM_X86_64.0).then_some((path, digits.parse().ok()?))
}

/// What the loader of this machine has around it, without variables.
pub(crate) fn environment(release: u32) -> Environment {
    let cache = std::fs::read("/etc/ld.so.cache").ok().map(|bytes| LdSoCache::parse(&bytes).unwrap());
    Environment {
        hwcaps: Hwcaps::of_this_cpu(release),
        platform: hwcaps::platform_of_this_cpu().map(|name| name.as_bytes().to_vec()),
        cache,
        preload_file: std::fs::read("/etc/ld.so.preload").ok(),
        current_directory: std::env::current_dir().unwrap(),
        ..Environment::default()
    }
}

/// What the loader says that a program loads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// Name asked for and path, in order.
    pub(crate) loaded: Vec<(String, String)>,
    /// Names not found, in order.
    pub(crate) missing: Vec<String>,
}

/// Reads the loader's list: `NAME => PATH (ADDRESS)`, `PATH (ADDRESS)`, `NAME => not found`.
pub(crate) fn parse_listing(output: &Output) -> Listing {
    let mut listing = Listing::default();
    for line in String::from_utf8_lossy(&output.stdout).lines().map(str::trim) {
        if line.starts_with("linux-vdso") || line == "statically linked" {
            continue;
        }
        if let Some(name) = line.strip_suffix(" => not found") {
            listing.missing.push(name.to_owned());
        } else if let Some((pair, _)) = line.rsplit_once(" (0x") {
            let (name, path) = pair.split_once(" => ").unwrap_or((pair, pair));
            listing.loaded.push((name.to_owned(), path.to_owned()));
        }
    }
    listing
}
