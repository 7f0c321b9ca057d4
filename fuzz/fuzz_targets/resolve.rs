//! A made-up file system and environment: an answer by the loader's rules, whatever stands in it, with work that the objects
//! and directories bound.
//!
//! The input is a list of lines. Names are short and few, so that objects find one another: the first bytes of a line say
//! what it is.

#![no_main]

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use coldstart_loader::{Class, Environment, FileSystem, Hwcaps, Identity, ObjectFacts, Probe, Rules, Start, resolve};
use libfuzzer_sys::fuzz_target;

/// Questions that a search of so many objects, names and directories may ask at most.
const MOST_QUESTIONS: u64 = 4_000_000;

struct World {
    objects: BTreeMap<PathBuf, Probe>,
    asked: Cell<u64>,
}

impl World {
    fn count(&self) {
        self.asked.set(self.asked.get() + 1);
        assert!(self.asked.get() < MOST_QUESTIONS, "a search without end");
    }
}

impl FileSystem for World {
    fn object(&self, path: &Path) -> Probe {
        self.count();
        self.objects.get(path).cloned().unwrap_or(Probe::Absent(io::ErrorKind::NotFound))
    }

    fn is_directory(&self, path: &Path) -> bool {
        self.count();
        self.objects.keys().any(|object| object.parent() == Some(path))
    }

    fn canonical(&self, path: &Path) -> Option<PathBuf> {
        self.count();
        self.objects.contains_key(path).then(|| path.to_owned())
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut world = World { objects: BTreeMap::new(), asked: Cell::new(0) };
    let mut environment = Environment { current_directory: "/w".into(), ..Environment::default() };
    let mut last: Option<(PathBuf, ObjectFacts, u64)> = None;
    // A name of a line costs a byte or more, so that the product of names and directories stays small.
    for line in bytes.get(..bytes.len().min(1 << 11)).unwrap_or_default().split(|byte| *byte == b'\n') {
        let Some((kind, rest)) = line.split_first() else { continue };
        let text = || rest.to_vec();
        let object = last.as_mut().map(|(_, facts, _)| facts);
        match (kind, object) {
            (b'o', _) => {
                end(&mut world, last.take());
                let path = std::ffi::OsStr::new(std::str::from_utf8(rest).unwrap_or("/l/a"));
                let number = world.objects.len() as u64;
                let facts =
                    ObjectFacts { class: Class::Bits64, little_endian: true, machine: 62, ..Default::default() };
                last = Some((PathBuf::from(path), facts, number));
            }
            (b'n', Some(facts)) => facts.needed.push(text()),
            (b'r', Some(facts)) => facts.rpath = Some(text()),
            (b'u', Some(facts)) => facts.runpath = Some(text()),
            (b's', Some(facts)) => facts.soname = Some(text()),
            (b'i', Some(facts)) => facts.interpreter = Some(text()),
            (b'd', Some(facts)) => facts.no_default_libraries = true,
            (b'm', Some(facts)) => facts.machine = 183,
            (b'U', Some(facts)) => facts.set_user_id = true,
            // The same file under another name.
            (b'=', Some(_)) => {
                let number = rest.first().copied().unwrap_or(0);
                if let Some((_, _, own)) = last.as_mut() {
                    *own = number.into();
                }
            }
            (b'L', _) => environment.ld_library_path = Some(text()),
            (b'P', _) => environment.ld_preload = Some(text()),
            (b'M', _) => environment.rules = Rules::Musl,
            (b'S', _) => environment.secure = true,
            (b'D', _) => environment.start = Start::Loader,
            (b'I', _) => environment.interpreter = Some(text()),
            (b'H', _) => {
                environment.hwcaps = Hwcaps {
                    levels: rest.split(|byte| *byte == b':').take(4).map(<[u8]>::to_vec).collect(),
                    combined: (rest.len() % 2 == 1).then(|| vec![b"tls".to_vec(), b"x86_64".to_vec()]),
                };
            }
            (b'p', _) => environment.platform = Some(text()),
            (b'l', _) => environment.lib = Some(text()),
            (b'y', _) => {
                environment.system_directories = Some(rest.split(|b| *b == b':').map(<[u8]>::to_vec).collect())
            }
            (b'x', _) => drop(world.objects.insert("/l/x".into(), Probe::NotAnObject("a text".to_owned()))),
            (b'f', _) => drop(world.objects.insert("/l/f".into(), Probe::Absent(io::ErrorKind::PermissionDenied))),
            _ => {}
        }
    }
    end(&mut world, last);
    let count = world.objects.len();
    let Ok(closure) = resolve(Path::new("/p"), &world, &environment) else { return };
    // Each file is loaded once under glibc, however many names it has; musl and preloading add none.
    assert!(closure.objects.len() <= count + 2, "{} objects of {count} files", closure.objects.len());
    for object in 0..closure.objects.len() {
        assert!(!closure.explain(object).is_empty());
    }
    for request in &closure.requests {
        assert!(
            request.requester < closure.objects.len() && request.object.is_none_or(|at| at < closure.objects.len())
        );
        assert!(request.failed_before <= closure.failed_probes.len());
    }
    let _ = closure.same_sonames();
});

fn end(world: &mut World, object: Option<(PathBuf, ObjectFacts, u64)>) {
    let Some((path, facts, number)) = object else { return };
    let identity = Identity { device: 1, inode: number };
    world.objects.insert(path, Probe::Object { identity, facts });
}
