//! Build-time settings of a loader: its release, its default directories, the path of its cache.
//!
//! They are not in any header, so they are read from the file's zero-terminated strings. That also works for loaders
//! of other architectures and of a sysroot, where `ld.so --list-diagnostics` cannot be run.

use coldstart_elf::ElfFile;

use crate::{Environment, Rules};

/// Build-time settings of a loader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderBuild {
    /// The loader implementation.
    pub rules: Rules,
    /// glibc's minor version (36 for 2.36); none for musl and if it is unknown.
    pub release: Option<u32>,
    /// Its default directories, each with a trailing slash; none if they are unknown.
    pub system_directories: Option<Vec<Vec<u8>>>,
    /// It ends a start at odd objects for other architectures ([`Environment::strict_identification`]).
    pub strict_identification: bool,
    /// The path of its cache: /etc/ld.so.cache, or a path in the store under Nix and Guix.
    pub cache_path: Option<Vec<u8>>,
    /// The path of musl's list of directories, such as /etc/ld-musl-x86_64.path. It is relative to the loader's
    /// parent directory: a loader outside /lib has its own `etc` (ldso/dynlink.c, `load_library`).
    pub musl_path_file: Option<Vec<u8>>,
}

impl LoaderBuild {
    /// Reads the settings from a loader's file.
    pub fn read(loader: &[u8]) -> Self {
        // Compilers put all strings into one section; the code, which is most of the file, can then be skipped.
        let file = ElfFile::parse(loader).ok();
        let constants = file.as_ref().and_then(|file| file.section_bytes(&file.section(".rodata")?.header).ok());
        let build = constants.map(Self::from_strings).filter(Self::is_told);
        build.unwrap_or_else(|| Self::from_strings(loader))
    }

    /// Whether all settings were found.
    fn is_told(&self) -> bool {
        let glibc = self.release.is_some() && self.system_directories.is_some() && self.cache_path.is_some();
        let musl = self.rules == Rules::Musl && self.musl_path_file.is_some();
        musl || glibc
    }

    fn from_strings(loader: &[u8]) -> Self {
        let mut build = Self::default();
        let mut directories: Vec<Vec<u8>> = Vec::new();
        for text in loader.split(|&byte| byte == 0) {
            if build.system_directories.is_none() {
                if is_library_directory(text) {
                    directories.push(text.to_vec());
                } else if !directories.is_empty() {
                    build.system_directories = Some(std::mem::take(&mut directories));
                }
            }
            if text.starts_with(b"musl libc") {
                build.rules = Rules::Musl;
            }
            if build.musl_path_file.is_none() {
                build.musl_path_file = musl_path_file(text);
            }
            if text.starts_with(b"/") && text.ends_with(b"/ld.so.cache") {
                build.cache_path.get_or_insert_with(|| text.to_vec());
            }
            if build.release.is_none() {
                build.release = release(text);
                build.strict_identification = build.release.is_some() && !is_of_debian(text);
            }
        }
        if build.rules == Rules::Musl {
            // Its list is one string, the same in every build.
            build.system_directories = None;
            (build.release, build.strict_identification) = (None, false);
        } else {
            build.musl_path_file = None;
        }
        build
    }

    /// `$LIB` of this loader: the end of its first default directory, from the last component that begins with "lib"
    /// (`DL_DST_LIB`).
    pub fn lib(&self) -> Option<Vec<u8>> {
        let first = self.system_directories.as_ref()?.first()?;
        let parts: Vec<&[u8]> = first.split(|&byte| byte == b'/').filter(|part| !part.is_empty()).collect();
        let start = parts.iter().rposition(|part| part.starts_with(b"lib"))?;
        Some(parts.get(start..)?.join(&b'/'))
    }

    /// Copies the settings to an environment.
    pub fn apply(&self, environment: &mut Environment) {
        environment.rules = self.rules;
        environment.strict_identification = self.strict_identification;
        environment.system_directories = self.system_directories.clone().or(environment.system_directories.take());
        environment.lib = self.lib().or(environment.lib.take());
    }
}

/// The path of musl's list of directories at the end of a string.
fn musl_path_file(text: &[u8]) -> Option<Vec<u8>> {
    const BEFORE: &[u8] = b"/etc/ld-musl-";
    let place = text.ends_with(b".path").then(|| text.windows(BEFORE.len()).position(|window| window == BEFORE))??;
    text.get(place..).map(<[u8]>::to_vec)
}

/// Whether a string is a directory name with a trailing slash and a component that begins with "lib".
fn is_library_directory(text: &[u8]) -> bool {
    let inside = text.strip_prefix(b"/").and_then(|text| text.strip_suffix(b"/"));
    inside.is_some_and(|inside| {
        let printable = inside.iter().all(u8::is_ascii_graphic);
        printable && inside.split(|&byte| byte == b'/').any(|part| part.starts_with(b"lib"))
    })
}

/// The release in "ld.so (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.".
fn release(text: &[u8]) -> Option<u32> {
    const BEFORE: &[u8] = b"release version 2.";
    // Comparing the first bytes alone is several times faster, and few strings match.
    let starts = text.iter().enumerate().filter(|(_, byte)| **byte == b'r').map(|(place, _)| place);
    let mut rests = starts.filter_map(|place| text.get(place..)?.strip_prefix(BEFORE));
    let digits = rests.next()?;
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(digits.get(..length)?).ok()?.parse().ok()
}

/// Whether a version line is that of Debian or of a distribution with its patches.
fn is_of_debian(text: &[u8]) -> bool {
    let names: [&[u8]; 3] = [b"(Debian ", b"(Ubuntu ", b"(Raspbian "];
    names.iter().any(|name| text.windows(name.len()).any(|window| window == *name))
}

#[cfg(test)]
mod tests {
    use super::LoaderBuild;

    #[test]
    fn reads_a_store_s_loader() {
        let strings = b"\x7fELF\0/tmp/\0ld.so (GNU libc) stable release version 2.40.\nmore\0\0/store/1-glibc/lib/\0\0\
            /store/1-glibc/etc/ld.so.cache\0";
        let build = LoaderBuild::read(strings);
        assert_eq!((build.release, build.strict_identification), (Some(40), true));
        assert_eq!(build.system_directories.as_deref(), Some([b"/store/1-glibc/lib/".to_vec()].as_slice()));
        assert_eq!(build.lib().as_deref(), Some(b"lib".as_slice()));
        assert_eq!(build.cache_path.as_deref(), Some(b"/store/1-glibc/etc/ld.so.cache".as_slice()));
    }

    #[test]
    fn reads_the_name_of_musl_s_list() {
        let build = LoaderBuild::read(b"musl libc (x86_64)\nVersion %s\0%.*s/etc/ld-musl-x86_64.path\0/lib:/usr/lib\0");
        assert_eq!(build.rules, crate::Rules::Musl);
        assert_eq!(build.musl_path_file.as_deref(), Some(b"/etc/ld-musl-x86_64.path".as_slice()));
        // A string that only mentions musl.
        assert_eq!(LoaderBuild::read(b"x\0/etc/ld-musl-x86_64.path\0"), LoaderBuild::default());
    }

    #[test]
    fn finds_nothing_in_other_bytes() {
        assert_eq!(LoaderBuild::read(b"release version 2.\0//\0/"), LoaderBuild::default());
        assert!(!LoaderBuild::read(b"ld.so (Debian GLIBC 2.36-9) stable release version 2.36.").strict_identification);
    }
}
