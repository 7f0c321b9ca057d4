//! Small objects written byte by byte: linking thousands of them would take minutes.
//!
//! Everything lies in one writable segment whose addresses are file offsets. There is nothing to run in them: the loader
//! is only asked what it would load.

/// What an object is made of.
#[derive(Clone)]
pub(crate) struct Recipe {
    pub(crate) wide: bool,
    pub(crate) little: bool,
    pub(crate) machine: u16,
    pub(crate) flags: u32,
    /// `e_type`.
    pub(crate) file_type: u16,
    pub(crate) interpreter: Option<String>,
    pub(crate) soname: Option<String>,
    pub(crate) needed: Vec<String>,
    pub(crate) rpath: Option<String>,
    pub(crate) runpath: Option<String>,
    /// `DT_FLAGS_1`.
    pub(crate) flags_1: u64,
    /// Versions that are asked of needed files: the file's name and the version's.
    pub(crate) versions: Vec<(String, String)>,
    /// Operating system and three numbers of a `NT_GNU_ABI_TAG`.
    pub(crate) abi_tag: Option<[u32; 4]>,
}

impl Default for Recipe {
    /// A library for x86-64.
    fn default() -> Self {
        Self {
            wide: true,
            little: true,
            machine: 62,
            flags: 0,
            file_type: 3,
            interpreter: None,
            soname: None,
            needed: Vec::new(),
            rpath: None,
            runpath: None,
            flags_1: 0,
            versions: Vec::new(),
            abi_tag: None,
        }
    }
}

/// Bytes being written, in the object's width and byte order.
struct Writer {
    bytes: Vec<u8>,
    wide: bool,
    little: bool,
}

impl Writer {
    fn number(&mut self, value: u64, size: usize) {
        let bytes = value.to_le_bytes();
        let bytes = bytes[..size].iter().copied();
        if self.little { self.bytes.extend(bytes) } else { self.bytes.extend(bytes.rev()) }
    }

    /// An address or offset.
    fn word(&mut self, value: u64) {
        self.number(value, if self.wide { 8 } else { 4 });
    }

    fn align(&mut self) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.bytes.len() as u64
    }

    fn segment(&mut self, kind: u64, flags: u64, offset: u64, size: u64, alignment: u64) {
        self.number(kind, 4);
        if self.wide {
            self.number(flags, 4);
        }
        for value in [offset, offset, offset, size, size] {
            self.word(value);
        }
        if !self.wide {
            self.number(flags, 4);
        }
        self.word(alignment);
    }
}

/// Strings, each once.
#[derive(Default)]
struct Strings(Vec<u8>);

impl Strings {
    fn add(&mut self, text: &str) -> u64 {
        if self.0.is_empty() {
            self.0.push(0);
        }
        if text.is_empty() {
            return 0;
        }
        let place = self.0.len() as u64;
        self.0.extend(text.bytes().chain([0]));
        place
    }
}

impl Recipe {
    /// The file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut body = Writer { bytes: Vec::new(), wide: self.wide, little: self.little };
        let segments = 4 + u64::from(self.interpreter.is_some()) + u64::from(self.abi_tag.is_some());
        let (header, entry) = if self.wide { (64, 56) } else { (52, 32) };
        let start = header + segments * entry;
        body.bytes.resize(start as usize, 0);
        let interpreter = self.interpreter.as_ref().map(|path| {
            let place = body.bytes.len() as u64;
            body.bytes.extend(path.bytes().chain([0]));
            (place, path.len() as u64 + 1)
        });
        let note = body.align();
        for value in self.abi_tag.iter().flat_map(|tag| [4, 16, 1, 0x0055_4e47].into_iter().chain(*tag)) {
            body.number(value.into(), 4);
        }
        let hash = body.align();
        [1, 1, 0, 0].iter().for_each(|&value| body.number(value, 4));
        let symbols = body.align();
        let symbol_size = if self.wide { 24 } else { 16 };
        body.bytes.resize((symbols + symbol_size) as usize, 0);
        let version_symbols = body.align();
        body.number(0, 2);
        let mut strings = Strings::default();
        let needs = body.align();
        for (number, (file, version)) in self.versions.iter().enumerate() {
            let (file, name) = (strings.add(file), strings.add(version));
            let next = if number + 1 == self.versions.len() { 0 } else { 32 };
            for (value, size) in [(1, 2), (1, 2), (file, 4), (16, 4), (next, 4)] {
                body.number(value, size);
            }
            // System V's hash of the name, by which versions are compared first.
            let hash = version.bytes().fold(0_u32, |hash, byte| {
                let hash = (hash << 4).wrapping_add(byte.into());
                let high = hash & 0xf000_0000;
                (hash ^ (high >> 24)) & !high
            });
            for (value, size) in [(hash.into(), 4), (0, 2), (number as u64 + 2, 2), (name, 4), (0, 4)] {
                body.number(value, size);
            }
        }
        let mut dynamic: Vec<(u64, u64)> = self.needed.iter().map(|name| (1, strings.add(name))).collect();
        for (tag, text) in [(14, &self.soname), (15, &self.rpath), (29, &self.runpath)] {
            dynamic.extend(text.iter().map(|text| (tag, strings.add(text))));
        }
        if self.flags_1 != 0 {
            dynamic.push((0x6fff_fffb, self.flags_1));
        }
        if !self.versions.is_empty() {
            let count = self.versions.len() as u64;
            dynamic.extend([(0x6fff_fffe, needs), (0x6fff_ffff, count), (0x6fff_fff0, version_symbols)]);
        }
        strings.add("");
        let place = body.align();
        body.bytes.extend(&strings.0);
        let table = [(4, hash), (5, place), (6, symbols), (10, strings.0.len() as u64), (11, symbol_size), (0, 0)];
        dynamic.extend(table);
        let dynamic_place = body.align();
        for (tag, value) in &dynamic {
            body.word(*tag);
            body.word(*value);
        }
        let size = body.bytes.len() as u64;

        let mut head = Writer { bytes: Vec::new(), wide: self.wide, little: self.little };
        head.bytes.extend(b"\x7fELF");
        head.bytes.extend([1 + u8::from(self.wide), 2 - u8::from(self.little), 1]);
        head.bytes.resize(16, 0);
        for (value, size) in [(self.file_type.into(), 2), (self.machine.into(), 2), (1, 4)] {
            head.number(value, size);
        }
        for value in [0, header, 0] {
            head.word(value);
        }
        head.number(self.flags.into(), 4);
        for value in [header, entry, segments, 0, 0, 0] {
            head.number(value, 2);
        }
        head.segment(6, 4, header, segments * entry, 8);
        if let Some((place, length)) = interpreter {
            head.segment(3, 4, place, length, 1);
        }
        head.segment(1, 6, 0, size, 0x1_0000);
        head.segment(2, 6, dynamic_place, size - dynamic_place, 8);
        head.segment(0x6474_e551, 6, 0, 0, 16);
        if self.abi_tag.is_some() {
            head.segment(4, 4, note, 32, 4);
        }
        body.bytes[..head.bytes.len()].copy_from_slice(&head.bytes);
        body.bytes
    }
}
