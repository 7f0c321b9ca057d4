//! What was compiled into a loader: its release, its default directories, the place of its cache.
//!
//! No header of the file tells these, so they are read from its strings, as they stand between zero bytes. That works for
//! loaders of other machines and of a sysroot too, where `ld.so --list-diagnostics` cannot be run.

use coldstart_elf::ElfFile;

use crate::{Environment, Rules};

/// What was compiled into a loader.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoaderBuild {
    /// Whose rules it follows.
    pub rules: Rules,
    /// glibc's second number (36 for 2.36); none for musl and where it is not told.
    pub release: Option<u32>,
    /// Its default directories, each with a slash at its end; none where they are not told.
    pub system_directories: Option<Vec<Vec<u8>>>,
    /// It ends a start at odd objects for other machines ([`Environment::strict_identification`]).
    pub strict_identification: bool,
    /// Where its cache is: /etc/ld.so.cache, or a place in the store under Nix and Guix.
    pub cache_path: Option<Vec<u8>>,
    /// The name of musl's list of directories, as /etc/ld-musl-x86_64.path. It begins above the loader's directory: a loader
    /// that is not in /lib has an `etc` of its own (ldso/dynlink.c, `load_library`).
    pub musl_path_file: Option<Vec<u8>>,
}

impl LoaderBuild {
    /// Reads the strings of a loader's file.
    pub fn read(loader: &[u8]) -> Self {
        // Compilers put them all into one section; the code, which is most of the file, need not be looked at then.
        let file = ElfFile::parse(loader).ok();
        let constants = file.as_ref().and_then(|file| file.section_bytes(&file.section(".rodata")?.header).ok());
        let build = constants.map(Self::from_strings).filter(Self::is_told);
        build.unwrap_or_else(|| Self::from_strings(loader))
    }

    /// Whether everything is told that there is to tell.
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
            // Its list is one string, and the same in every build.
            build.system_directories = None;
            (build.release, build.strict_identification) = (None, false);
        } else {
            build.musl_path_file = None;
        }
        build
    }

    /// `$LIB` of this loader: the end of its first default directory, from the last part that begins with "lib"
    /// (`DL_DST_LIB`).
    pub fn lib(&self) -> Option<Vec<u8>> {
        let first = self.system_directories.as_ref()?.first()?;
        let parts: Vec<&[u8]> = first.split(|&byte| byte == b'/').filter(|part| !part.is_empty()).collect();
        let start = parts.iter().rposition(|part| part.starts_with(b"lib"))?;
        Some(parts.get(start..)?.join(&b'/'))
    }

    /// Enters into an environment what this loader has of its own.
    pub fn apply(&self, environment: &mut Environment) {
        environment.rules = self.rules;
        environment.strict_identification = self.strict_identification;
        environment.system_directories = self.system_directories.clone().or(environment.system_directories.take());
        environment.lib = self.lib().or(environment.lib.take());
    }
}

/// The name of musl's list of directories in a string that ends in it.
fn musl_path_file(text: &[u8]) -> Option<Vec<u8>> {
    const BEFORE: &[u8] = b"/etc/ld-musl-";
    let place = text.ends_with(b".path").then(|| text.windows(BEFORE.len()).position(|window| window == BEFORE))??;
    text.get(place..).map(<[u8]>::to_vec)
}

/// Whether a string is a directory's name with a slash at its end and a part that begins with "lib".
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
    // Comparing the first bytes alone is several times as fast, and there are very few of them.
    let starts = text.iter().enumerate().filter(|(_, byte)| **byte == b'r').map(|(place, _)| place);
    let mut rests = starts.filter_map(|place| text.get(place..)?.strip_prefix(BEFORE));
    let digits = rests.next()?;
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    std::str::from_utf8(digits.get(..length)?).ok()?.parse().ok()
}

/// Whether a line with the release is that of Debian or of one that builds from its patches.
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
        // One that only speaks of musl.
        assert_eq!(LoaderBuild::read(b"x\0/etc/ld-musl-x86_64.path\0"), LoaderBuild::default());
    }

    #[test]
    fn finds_nothing_in_other_bytes() {
        assert_eq!(LoaderBuild::read(b"release version 2.\0//\0/"), LoaderBuild::default());
        assert!(!LoaderBuild::read(b"ld.so (Debian GLIBC 2.36-9) stable release version 2.36.").strict_identification);
    }
}
