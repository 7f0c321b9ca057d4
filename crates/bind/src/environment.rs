//! What this machine's loader has around it, for one program.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use coldstart_loader::cache::LdSoCache;
use coldstart_loader::{Environment, FileSystem, Hwcaps, LoaderBuild, Probe, Rules, hwcaps};
use coldstart_sys::named_file::read_regular;

/// The largest loader, cache or configuration file that is read, in bytes. All of them are below 2 MiB as a rule.
const MOST_BYTES: u64 = 64 << 20;

/// What a start of `program` on this machine depends on besides files, without `LD_LIBRARY_PATH`, `LD_PRELOAD` and
/// /etc/ld.so.preload: a bound program must fit starts without them. `secure` is [`Environment::secure`].
///
/// What cannot be read (the interpreter, its cache) is left out; `plan` then says what is missing.
pub fn machine_environment(program: &Path, files: &impl FileSystem, secure: bool) -> Environment {
    let mut environment = Environment {
        platform: hwcaps::platform_of_this_cpu().map(|platform| platform.as_bytes().to_vec()),
        current_directory: std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/")),
        secure,
        ..Environment::default()
    };
    let Probe::Object { facts, .. } = files.object(program) else { return environment };
    let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
    let Some(bytes) = facts.interpreter.as_deref().and_then(|name| read_regular(&path(name), MOST_BYTES).ok()) else {
        return environment;
    };
    let build = LoaderBuild::read(&bytes);
    build.apply(&mut environment);
    environment.hwcaps = build.release.map(Hwcaps::of_this_cpu).unwrap_or_default();
    let read_cache = |cache| LdSoCache::parse(&read_regular(&path(cache), MOST_BYTES).ok()?).ok();
    environment.cache = build.cache_path.as_deref().and_then(read_cache);
    if environment.rules == Rules::Musl {
        // The file stands beside the loader's folder: /lib/ld-musl-x86_64.so.1 reads /etc/ld-musl-x86_64.path.
        let name = facts.interpreter.as_deref().and_then(|name| name.rsplit(|byte| *byte == b'/').next());
        let stem = name.and_then(|name| name.split(|byte| *byte == b'.').next());
        environment.musl_path_file = stem
            .and_then(|stem| read_regular(&Path::new("/etc").join(path(&[stem, b".path"].concat())), MOST_BYTES).ok());
    }
    environment
}
