//! The memory of a process, as far as it can be read, written and asked about.

use coldstart_sys::tracing::{ProcessMappings, ProcessMemory, RemoteCall, Tracer, read_byte};

use super::functions::FileKey;
use super::image::maps;

#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) process: u32,
    opened: Option<ProcessMemory>,
    mappings: Option<ProcessMappings>,
    pub(super) is_32_bit: bool,
    /// Where calls can be made in its name.
    pub(super) call: Option<RemoteCall>,
}

impl Memory {
    pub(super) fn new(process: u32) -> Self {
        Self { process, ..Self::default() }
    }

    /// The copy that a fork has.
    pub(super) fn forked(&self, process: u32) -> Self {
        Self {
            process,
            opened: ProcessMemory::open(process).ok(),
            mappings: None,
            is_32_bit: self.is_32_bit,
            call: self.call,
        }
    }

    /// Opens the memory of a program that has just begun.
    pub(super) fn open(&mut self, thread: u32, is_32_bit: bool) {
        self.opened = ProcessMemory::open(thread).ok();
        self.is_32_bit = is_32_bit;
    }

    pub(super) fn opened(&self) -> Option<&ProcessMemory> {
        self.opened.as_ref()
    }

    /// Fills the bytes; `None` where nothing is mapped, or the memory could not be opened.
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> Option<()> {
        self.opened.as_ref()?.read(address, bytes).ok()
    }

    /// Overwrites bytes, also where the program may not write.
    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> Option<()> {
        self.opened.as_ref()?.write(address, bytes).ok()
    }

    /// A word of the program's own size.
    pub(super) fn word(&self, address: u64) -> Option<u64> {
        if self.is_32_bit {
            let mut bytes = [0; 4];
            self.read(address, &mut bytes)?;
            Some(u64::from(u32::from_ne_bytes(bytes)))
        } else {
            let mut bytes = [0; 8];
            self.read(address, &mut bytes)?;
            Some(u64::from_ne_bytes(bytes))
        }
    }

    /// In bytes.
    pub(super) fn word_size(&self) -> u64 {
        if self.is_32_bit { 4 } else { 8 }
    }

    /// The file that is mapped at an address, and what of it stands there. The process's first thread may be gone: the kernel is asked of one
    /// that stands still.
    pub(super) fn mapped_at(&mut self, thread: u32, address: u64) -> Option<(FileKey, u64)> {
        if self.mappings.is_none() {
            self.mappings = ProcessMappings::open(thread).ok();
        }
        match self.mappings.as_ref().and_then(|mappings| mappings.at(address).ok()) {
            Some(mapping) => {
                let mapping = mapping.filter(|mapping| mapping.inode != 0)?;
                Some((FileKey { device: mapping.device, inode: mapping.inode }, mapping.offset))
            }
            // Before Linux 6.11 the kernel cannot be asked about one address.
            None => {
                let line = maps(thread).into_iter().find(|line| (line.start..line.end).contains(&address))?;
                let offset = line.offset.saturating_add(address.saturating_sub(line.start));
                (line.inode != 0).then_some((FileKey::of(&line), offset))
            }
        }
    }

    /// A byte of a stopped thread's memory; `None` where nothing is mapped. Through the open memory, if there is one: that takes half the time.
    pub(super) fn byte(&self, thread: u32, address: u64) -> Option<u8> {
        let Some(memory) = &self.opened else { return read_byte(thread, address) };
        let mut byte = [0];
        memory.read(address, &mut byte).ok()?;
        let [byte] = byte;
        Some(byte)
    }

    /// Writes a byte over a stopped thread's memory.
    pub(super) fn set_byte(&self, tracer: &Tracer, thread: u32, address: u64, byte: u8) -> std::io::Result<()> {
        match &self.opened {
            Some(memory) => memory.write(address, &[byte]),
            None => tracer.write_byte(thread, address, byte),
        }
    }
}
