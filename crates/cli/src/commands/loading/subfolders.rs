//! Which processor a start is on: what subfolders its loader tries, and what `$PLATFORM` is.

use std::str::FromStr;

use coldstart_loader::{Class, Hwcaps, ObjectFacts, hwcaps};

/// Which processor is meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Levels {
    /// This one for programs of its kind, and none for others.
    #[default]
    Fitting,
    /// This one, whatever the program is for.
    Native,
    /// None: only the directories themselves are tried.
    None,
    /// One with these levels, best first.
    Named(Vec<String>),
}

impl FromStr for Levels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "native" => return Ok(Self::Native),
            "none" => return Ok(Self::None),
            _ => {}
        }
        let mut names: Vec<String> = Vec::new();
        for name in text.split([',', ':']) {
            if name.is_empty() || name.contains('/') || name == "." || name == ".." {
                return Err(format!("`{name}` is no name of a level: x86-64-v3, power10, z16, or `native`, `none`"));
            }
            for name in with_lower(name) {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        Ok(Self::Named(names))
    }
}

/// A level and those that it implies, best first.
fn with_lower(name: &str) -> Vec<String> {
    let number = name.strip_prefix("x86-64-v").and_then(|number| number.parse::<u32>().ok());
    match number {
        Some(number @ 2..=4) => (2..=number).rev().map(|number| format!("x86-64-v{number}")).collect(),
        _ => vec![name.to_owned()],
    }
}

impl Levels {
    /// The subfolders that a loader of this release tries. Older names belong to this machine's processor, if any.
    pub(super) fn hwcaps(&self, release: Option<u32>, is_native: bool) -> Hwcaps {
        let ours = || release.map(Hwcaps::of_this_cpu).unwrap_or_default();
        match self {
            Self::Native => ours(),
            Self::Fitting if is_native => ours(),
            Self::Fitting | Self::None => Hwcaps::default(),
            Self::Named(names) => Hwcaps {
                levels: names.iter().map(|name| name.clone().into_bytes()).collect(),
                combined: if is_native { ours().combined } else { None },
            },
        }
    }
}

/// Whether an object is for this processor's 64-bit kind.
pub(super) fn is_native(facts: &ObjectFacts) -> bool {
    let ours = match () {
        () if cfg!(target_arch = "x86_64") => 62,
        () if cfg!(target_arch = "aarch64") => 183,
        () => return false,
    };
    facts.machine == ours && facts.class == Class::Bits64
}

/// `$PLATFORM`: this processor's for programs of its kind; where only one value is likely, that.
pub(super) fn platform(facts: &ObjectFacts) -> Option<Vec<u8>> {
    if is_native(facts) {
        return hwcaps::platform_of_this_cpu().map(|platform| platform.as_bytes().to_vec());
    }
    match facts.machine {
        3 => Some(b"i686".to_vec()),
        62 => Some(b"x86_64".to_vec()),
        183 => Some(b"aarch64".to_vec()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_implies_the_lower_ones() {
        let named = |names: &[&str]| Ok(Levels::Named(names.iter().map(|name| (*name).to_owned()).collect()));
        assert_eq!("x86-64-v3".parse(), named(&["x86-64-v3", "x86-64-v2"]));
        assert_eq!("x86-64-v3,x86-64-v4".parse(), named(&["x86-64-v3", "x86-64-v2", "x86-64-v4"]));
        assert_eq!("power10:power9".parse(), named(&["power10", "power9"]));
        assert!("../v3".parse::<Levels>().is_err() && "".parse::<Levels>().is_err());
    }
}
