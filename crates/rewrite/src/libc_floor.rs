//! The oldest C library that a rewritten file must support.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A C library and its oldest supported version, in the format of `--min-libc`: `2.36`, `glibc-2.36`, `musl-1.2.4`,
/// `android-28`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LibcFloor {
    /// The GNU C library, from this version on.
    Glibc(u32, u32),
    /// musl, from this version on.
    Musl(u32, u32, u32),
    /// Android's bionic, from this API level on.
    Android(u32),
}

impl LibcFloor {
    /// Whether the loaders of all versions from this one on apply `DT_RELR`: glibc since 2.36 (its NEWS), musl since
    /// 1.2.4 (its WHATSNEW), Android since API level 28 under the tag `DT_ANDROID_RELR` and since 30 under the
    /// official one.
    pub fn reads_relr(self) -> bool {
        match self {
            Self::Glibc(major, minor) => (major, minor) >= (2, 36),
            Self::Musl(major, minor, patch) => (major, minor, patch) >= (1, 2, 4),
            Self::Android(level) => level >= 30,
        }
    }

    /// The first version of the same library that applies `DT_RELR`.
    pub fn first_with_relr(self) -> Self {
        match self {
            Self::Glibc(..) => Self::Glibc(2, 36),
            Self::Musl(..) => Self::Musl(1, 2, 4),
            Self::Android(_) => Self::Android(30),
        }
    }
}

impl fmt::Display for LibcFloor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Glibc(major, minor) => write!(formatter, "glibc-{major}.{minor}"),
            Self::Musl(major, minor, patch) => write!(formatter, "musl-{major}.{minor}.{patch}"),
            Self::Android(level) => write!(formatter, "android-{level}"),
        }
    }
}

/// An unknown version.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a known C library version; examples: 2.36, glibc-2.36, musl-1.2.4, android-30")]
pub struct UnknownLibc(String);

impl FromStr for LibcFloor {
    type Err = UnknownLibc;

    fn from_str(text: &str) -> Result<Self, UnknownLibc> {
        let unknown = || UnknownLibc(text.to_owned());
        let (library, version) = text.split_once('-').unwrap_or(("glibc", text));
        let numbers: Result<Vec<u32>, _> = version.split('.').map(str::parse).collect();
        match (library, numbers.map_err(|_| unknown())?.as_slice()) {
            ("glibc", [major, minor] | [major, minor, _]) => Ok(Self::Glibc(*major, *minor)),
            ("musl", [major, minor, patch]) => Ok(Self::Musl(*major, *minor, *patch)),
            ("android", [level]) => Ok(Self::Android(*level)),
            _ => Err(unknown()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_versions_are_read() {
        for (text, floor, reads) in [
            ("2.36", LibcFloor::Glibc(2, 36), true),
            ("2.4", LibcFloor::Glibc(2, 4), false),
            ("glibc-2.41", LibcFloor::Glibc(2, 41), true),
            ("musl-1.2.3", LibcFloor::Musl(1, 2, 3), false),
            ("musl-1.2.4", LibcFloor::Musl(1, 2, 4), true),
            ("android-30", LibcFloor::Android(30), true),
        ] {
            let read: LibcFloor = text.parse().unwrap();
            assert_eq!((read, read.reads_relr()), (floor, reads), "{text}");
        }
        for wrong in ["", "glibc", "newlib-4.1", "2", "2.x", "musl-1.2", "-2.36", "2.36-1"] {
            assert!(wrong.parse::<LibcFloor>().is_err(), "{wrong}");
        }
    }
}
