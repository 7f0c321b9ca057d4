//! The machine: processors and memory, and how busy they are (`proc_cpuinfo(5)`, `proc_meminfo(5)`, `proc_loadavg(5)`,
//! `proc_stat(5)`).

use crate::text::{decimal, field, kibibytes, words};

/// Processors, one block of lines each.
pub const PROCESSORS: &str = "/proc/cpuinfo";
/// Memory and its use.
pub const MEMORY: &str = "/proc/meminfo";
/// Load averages.
pub const LOAD: &str = "/proc/loadavg";
/// Processor time counters since boot.
pub const COUNTERS: &str = "/proc/stat";

/// The first processor's model in the bytes of [`PROCESSORS`]: "model name" on x86, "Model" or "cpu model" elsewhere; mostly
/// missing on ARM.
pub fn processor_model(processors: &[u8]) -> Option<&[u8]> {
    ["model name", "cpu model", "Model", "cpu"].iter().find_map(|name| field(processors, name))
}

/// Whether this machine is virtual, by the bytes of [`PROCESSORS`]: x86 processors have a flag for it.
pub fn has_hypervisor(processors: &[u8]) -> bool {
    words(field(processors, "flags").unwrap_or_default()).any(|flag| flag == b"hypervisor")
}

/// Whether the vendor is Intel, by the beginning of [`PROCESSORS`].
pub fn is_intel(processors: &[u8]) -> bool {
    field(processors, "vendor_id") == Some(b"GenuineIntel")
}

/// Figures from [`MEMORY`], in bytes; `None` where missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// All memory that the kernel can use.
    pub total: Option<u64>,
    /// Memory for new programs without swapping, as the kernel estimates it.
    pub available: Option<u64>,
    /// Page cache that can be read again from disk: without shared memory and tmpfs.
    pub page_cache: Option<u64>,
    /// All swap.
    pub swap_total: Option<u64>,
    /// Unused swap.
    pub swap_free: Option<u64>,
}

impl Memory {
    /// Of this machine; all unknown without `/proc`.
    pub fn here() -> Self {
        Self::parse(&std::fs::read(MEMORY).unwrap_or_default())
    }

    /// From the bytes of [`MEMORY`].
    pub fn parse(memory: &[u8]) -> Self {
        let bytes = |name| kibibytes(memory, name);
        let cached = bytes("Cached").zip(bytes("Buffers")).map(|(cached, buffers)| cached.saturating_add(buffers));
        Self {
            total: bytes("MemTotal"),
            available: bytes("MemAvailable"),
            page_cache: cached.map(|cached| cached.saturating_sub(bytes("Shmem").unwrap_or(0))),
            swap_total: bytes("SwapTotal"),
            swap_free: bytes("SwapFree"),
        }
    }
}

/// The average number of runnable processes in the last minute, from the bytes of [`LOAD`].
pub fn load_average(load: &[u8]) -> Option<f64> {
    decimal(words(load).next()?).filter(|average: &f64| average.is_finite() && *average >= 0.0)
}

/// Time of all processors together since boot, in clock ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorTicks {
    /// In user or kernel mode for processes. Interrupts are left out: they belong to no particular process.
    pub busy: u64,
    /// Steal time: taken by the hypervisor for other guests.
    pub stolen: u64,
}

impl ProcessorTicks {
    /// From the beginning of [`COUNTERS`]: `cpu  USER NICE SYSTEM IDLE IOWAIT IRQ SOFTIRQ STEAL ...`.
    pub fn parse(counters: &[u8]) -> Option<Self> {
        let line = counters.split(|&byte| byte == b'\n').next()?.strip_prefix(b"cpu ")?;
        let mut fields = words(line).map(decimal::<u64>);
        let mut next = || fields.next()?;
        let (user, nice, system) = (next()?, next()?, next()?);
        let stolen = fields.nth(4).flatten().unwrap_or(0);
        Some(Self { busy: user.saturating_add(nice).saturating_add(system), stolen })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn processors_are_described() {
        let text = b"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Some CPU @ 2 GHz\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\n";
        assert_eq!(processor_model(text), Some(&b"Some CPU @ 2 GHz"[..]));
        assert!(has_hypervisor(text) && is_intel(text));
        assert!(!has_hypervisor(b"flags: fpu\n") && !has_hypervisor(b"flagship: hypervisor\n") && !is_intel(b""));
    }

    #[test]
    fn memory_is_told_in_bytes() {
        let memory =
            Memory::parse(b"MemTotal:       24684 kB\nBuffers: 1 kB\nSwapCached:  7 kB\nCached:   9 kB\nShmem: 2 kB\n");
        assert_eq!(memory, Memory { total: Some(24684 << 10), page_cache: Some(8 << 10), ..Memory::default() });
        assert_eq!(Memory::parse(b"MemTotal: many kB\nCached: 9 kB\n"), Memory::default());
        let here = Memory::here();
        assert!(here.total > Some(1 << 20) && here.page_cache < here.total && here.swap_free <= here.swap_total);
    }

    #[test]
    fn the_line_of_all_processors_is_read() {
        let text = b"cpu  100 20 3 4000 50 6 7 8 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n";
        assert_eq!(ProcessorTicks::parse(text), Some(ProcessorTicks { busy: 123, stolen: 8 }));
        assert_eq!(
            ProcessorTicks::parse(b"cpu  1 2 3 4"),
            Some(ProcessorTicks { busy: 6, stolen: 0 }),
            "before Linux 2.6.11"
        );
        for text in [&b""[..], b"cpu0 1 2 3", b"cpu  1 2", b"intr 5", b"cpu  1 x 3"] {
            assert_eq!(ProcessorTicks::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn this_machine_is_understood() {
        let processors = std::fs::read(PROCESSORS).unwrap();
        assert!(processors.split(|&byte| byte == b'\n').any(|line| line.starts_with(b"processor")));
        assert!(ProcessorTicks::parse(&std::fs::read(COUNTERS).unwrap()).unwrap().busy > 0);
        assert!(load_average(&std::fs::read(LOAD).unwrap()).is_some());
        assert_eq!(
            (load_average(b"0.25 0 0 1/2 3\n"), load_average(b"nan 1"), load_average(b"")),
            (Some(0.25), None, None)
        );
    }

    proptest! {
        #[test]
        fn hostile_texts_are_harmless(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = (Memory::parse(&text), load_average(&text), processor_model(&text), has_hypervisor(&text));
            let _ = ProcessorTicks::parse(&[b"cpu ", &*text].concat());
        }
    }
}
