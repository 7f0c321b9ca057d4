//! What the kernel says of memory as a whole: how much there is, and how much of it the page cache takes.
//!
//! Source: `Documentation/filesystems/proc.rst`, `meminfo`.

/// Bytes of memory; `None` without `/proc`.
pub(crate) fn total() -> Option<u64> {
    field(&meminfo()?, "MemTotal:")
}

/// Bytes in the page cache that can be read again: without shared memory and tmpfs, which live there and nowhere else.
pub(crate) fn page_cache() -> Option<u64> {
    let meminfo = meminfo()?;
    let cached = field(&meminfo, "Cached:")?.saturating_add(field(&meminfo, "Buffers:")?);
    Some(cached.saturating_sub(field(&meminfo, "Shmem:").unwrap_or(0)))
}

fn meminfo() -> Option<String> {
    std::fs::read_to_string("/proc/meminfo").ok()
}

fn field(meminfo: &str, name: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
    value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let meminfo = "MemTotal:       24684 kB\nSwapCached:  7 kB\nCached:   9 kB\nHugePages_Total:   0\n";
        assert_eq!(field(meminfo, "Cached:"), Some(9 * 1024));
        assert_eq!(field(meminfo, "Buffers:"), None);
        assert!(total() > Some(1 << 20) && page_cache() < total());
    }
}
