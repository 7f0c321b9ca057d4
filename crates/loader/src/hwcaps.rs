//! The processor's subdirectories: libraries built for newer processors, next to the plain ones.
//!
//! Since 2.33, glibc searches `glibc-hwcaps/NAME/` for each level that the processor supports. Up to 2.36 it then
//! tries every combination of older names (`tls/haswell/x86_64/`, ...): eleven to nineteen probes per directory.

#[cfg(target_arch = "x86_64")]
use std::io::Read;

#[cfg(target_arch = "x86_64")]
use coldstart_host::machine;

/// The subdirectories that a loader tries in each directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hwcaps {
    /// Names under `glibc-hwcaps/`, best first: "x86-64-v4", "x86-64-v3", "x86-64-v2".
    pub levels: Vec<Vec<u8>>,
    /// Names whose combinations glibc 2.36 and earlier try, weakest first, without "tls", which is added:
    /// "x86_64", "avx512_1", "haswell". None for 2.37 and later.
    pub combined: Option<Vec<Vec<u8>>>,
}

impl Hwcaps {
    /// The loader's subdirectories on this machine, for a 64-bit program. `release` is glibc's minor version: 36 for
    /// 2.36.
    pub fn of_this_cpu(release: u32) -> Self {
        let levels = x86_64_levels_of_this_cpu().iter().map(|level| level.as_bytes().to_vec()).collect();
        let combined = (release <= 36).then(combined_names_of_this_cpu);
        Self { levels, combined }
    }

    /// Only the processor levels in a mask, as in the loader's option `--glibc-hwcaps-mask`: colon-separated names.
    /// The combinations of glibc 2.36 and earlier are not affected (`_dl_hwcaps_split_masked` in
    /// elf/dl-hwcaps_split.c).
    pub fn masked(&self, mask: &[u8]) -> Self {
        let named = |level: &&Vec<u8>| mask.split(|&byte| byte == b':').any(|name| name == level.as_slice());
        Self { levels: self.levels.iter().filter(named).cloned().collect(), combined: self.combined.clone() }
    }

    /// With other names tried before the processor's own, as in the loader's option `--glibc-hwcaps-prepend`:
    /// colon-separated, empty ones ignored. Call it after [`masked`](Self::masked), which does not affect them.
    pub fn prepended(&self, list: &[u8]) -> Self {
        let names = list.split(|&byte| byte == b':').filter(|name| !name.is_empty()).map(<[u8]>::to_vec);
        Self { levels: names.chain(self.levels.iter().cloned()).collect(), combined: self.combined.clone() }
    }

    /// Prefixes of a file name in search order, each with a trailing slash; the last one is empty, for the directory
    /// itself (`_dl_important_hwcaps` in elf/dl-hwcaps.c).
    pub fn subdirectories(&self) -> Vec<Vec<u8>> {
        let levels = self.levels.iter().map(|level| [b"glibc-hwcaps/", level.as_slice(), b"/"].concat());
        let mut subdirectories: Vec<Vec<u8>> = levels.collect();
        if let Some(combined) = &self.combined {
            let names: Vec<&[u8]> = combined.iter().map(Vec::as_slice).chain([b"tls".as_slice()]).collect();
            // Sixteen names would be 65,536 tries for a directory; no processor has had more than four.
            let count = names.len().min(16);
            for mask in (1_u32..1 << count).rev() {
                let chosen = (0..count).rev().filter(|bit| mask & (1 << bit) != 0);
                let chosen = chosen.filter_map(|bit| names.get(bit));
                subdirectories.push(chosen.flat_map(|name| [name, b"/".as_slice()].concat()).collect());
            }
        }
        subdirectories.push(Vec::new());
        subdirectories
    }
}

/// The levels that this processor supports, best first; none on architectures other than x86-64 (the x86-64 psABI,
/// "micro-architecture levels", as `_dl_hwcaps_subdirs_active` of sysdeps/x86_64/dl-hwcaps_subdirs.c tests them).
pub fn x86_64_levels_of_this_cpu() -> &'static [&'static str] {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let second = has!("cmpxchg16b") && has!("popcnt") && has!("sse3") && has!("sse4.1") && has!("sse4.2");
        if !(second && has!("ssse3")) {
            return &[];
        }
        let third = has!("avx") && has!("avx2") && has!("bmi1") && has!("bmi2") && has!("f16c") && has!("fma");
        if !(third && has!("lzcnt") && has!("movbe") && has!("xsave")) {
            return &["x86-64-v2"];
        }
        let fourth = has!("avx512f") && has!("avx512bw") && has!("avx512cd") && has!("avx512dq") && has!("avx512vl");
        if !fourth {
            return &["x86-64-v3", "x86-64-v2"];
        }
        &["x86-64-v4", "x86-64-v3", "x86-64-v2"]
    }
    #[cfg(not(target_arch = "x86_64"))]
    &[]
}

/// `$PLATFORM` of this processor: glibc renames Intel's (sysdeps/x86/cpu-features.c), others keep the kernel's
/// AT_PLATFORM.
pub fn platform_of_this_cpu() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        let haswell = has!("avx2") && has!("bmi1") && has!("bmi2") && has!("lzcnt") && has!("movbe") && has!("popcnt");
        Some(if is_intel() && haswell { "haswell" } else { "x86_64" })
    }
    #[cfg(target_arch = "aarch64")]
    return Some("aarch64");
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

/// The names whose combinations glibc 2.36 and earlier try on this processor, weakest first.
fn combined_names_of_this_cpu() -> Vec<Vec<u8>> {
    let mut names = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        names.push(b"x86_64".to_vec());
        let wide = has!("avx512cd") && has!("avx512bw") && has!("avx512dq") && has!("avx512vl");
        if is_intel() && wide {
            names.push(b"avx512_1".to_vec());
        }
    }
    names.extend(platform_of_this_cpu().map(|name| name.as_bytes().to_vec()));
    names
}

/// Whether the processor is made by Intel. The kernel is asked: no safe function returns CPUID's vendor.
///
/// Read once, and only the beginning: the file is long on a large machine, and slow to generate.
#[cfg(target_arch = "x86_64")]
fn is_intel() -> bool {
    static ANSWER: std::sync::OnceLock<bool> = std::sync::OnceLock::new();
    *ANSWER.get_or_init(|| {
        // The vendor is in the second line.
        let mut start = [0; 256];
        let read = std::fs::File::open(machine::PROCESSORS).and_then(|mut file| file.read(&mut start));
        machine::is_intel(start.get(..read.unwrap_or_default()).unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::Hwcaps;

    fn names(names: &[&str]) -> Vec<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    }

    #[test]
    fn older_names_come_after_the_levels_in_falling_combinations() {
        let hwcaps = Hwcaps { levels: names(&["x86-64-v2"]), combined: Some(names(&["x86_64", "haswell"])) };
        let expected = names(&[
            "glibc-hwcaps/x86-64-v2/",
            "tls/haswell/x86_64/",
            "tls/haswell/",
            "tls/x86_64/",
            "tls/",
            "haswell/x86_64/",
            "haswell/",
            "x86_64/",
            "",
        ]);
        assert_eq!(hwcaps.subdirectories(), expected);
    }

    #[test]
    fn newer_releases_try_the_levels_only() {
        let hwcaps = Hwcaps { levels: names(&["x86-64-v3", "x86-64-v2"]), combined: None };
        assert_eq!(hwcaps.subdirectories(), names(&["glibc-hwcaps/x86-64-v3/", "glibc-hwcaps/x86-64-v2/", ""]));
    }
}
