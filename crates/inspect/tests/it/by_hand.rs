//! The smallest libraries that have relocations, in every class and byte order: no compiler is needed for them.

/// How numbers are written.
#[derive(Clone, Copy)]
pub(crate) struct Form {
    pub(crate) is_64: bool,
    pub(crate) is_big: bool,
    pub(crate) machine: u16,
    /// `R_*_RELATIVE` of the machine.
    pub(crate) relative: u32,
}

/// The file's layout: the headers, then the tables, each with room to spare.
const DYNAMIC: u64 = 0x200;
const RELOCATIONS: u64 = 0x300;

impl Form {
    fn number(self, value: u64, size: usize) -> Vec<u8> {
        if self.is_big { value.to_be_bytes()[8 - size..].to_vec() } else { value.to_le_bytes()[..size].to_vec() }
    }

    fn word(self, value: u64) -> Vec<u8> {
        self.number(value, if self.is_64 { 8 } else { 4 })
    }

    fn words(self, values: &[u64]) -> Vec<u8> {
        values.iter().flat_map(|value| self.word(*value)).collect()
    }

    /// `p_type` and what follows, with one number as offset and address.
    fn segment(self, kind: u64, flags: u64, place: u64, size: u64) -> Vec<u8> {
        let (kind, flags) = (self.number(kind, 4), self.number(flags, 4));
        let (place, size) = (self.words(&[place, place, place]), self.words(&[size, size]));
        let align = self.word(8);
        if self.is_64 { [kind, flags, place, size, align].concat() } else { [kind, place, size, flags, align].concat() }
    }

    /// A library with `loads` equal segments and three relative relocations, with addends in the records or in place.
    pub(crate) fn library(self, has_addends: bool, loads: usize) -> Vec<u8> {
        self.library_of(&[self.relative; 3], has_addends, loads)
    }

    /// The same with relocations of these types.
    pub(crate) fn library_of(self, kinds: &[u32], has_addends: bool, loads: usize) -> Vec<u8> {
        let word = if self.is_64 { 8 } else { 4 };
        let fields = if has_addends { 3 } else { 2 };
        let table_size = (kinds.len() * fields) as u64 * word;
        // Behind the table lie the words that are relocated.
        let data = RELOCATIONS + table_size;
        let size = data + kinds.len() as u64 * word;
        let records = kinds.iter().zip(0..).flat_map(|(kind, index)| {
            let record = [data + index * word, u64::from(*kind), data];
            record.into_iter().take(fields)
        });
        let records: Vec<u64> = records.collect();
        // DT_RELA, DT_RELASZ, DT_RELAENT or DT_REL, DT_RELSZ, DT_RELENT.
        let tags = if has_addends { [7, 8, 9] } else { [17, 18, 19] };
        let dynamic = [tags[0], RELOCATIONS, tags[1], table_size, tags[2], fields as u64 * word, 0, 0];
        let mut segments = vec![self.segment(2, 6, DYNAMIC, dynamic.len() as u64 * word)];
        segments.extend((0..loads).map(|_| self.segment(1, 6, 0, size)));
        let mut bytes = vec![0; size as usize];
        let mut put = |at: u64, what: &[u8]| bytes[at as usize..][..what.len()].copy_from_slice(what);
        put(0, &self.header(segments.len() as u64));
        put(if self.is_64 { 64 } else { 52 }, &segments.concat());
        put(DYNAMIC, &self.words(&dynamic));
        put(RELOCATIONS, &self.words(&records));
        bytes
    }

    fn header(self, segments: u64) -> Vec<u8> {
        let identity = [0x7f, b'E', b'L', b'F', 1 + u8::from(self.is_64), 1 + u8::from(self.is_big), 1, 0];
        let (header_size, segment_size) = if self.is_64 { (64, 56) } else { (52, 32) };
        [
            identity.to_vec(),
            vec![0; 8],
            self.number(3, 2),
            self.number(u64::from(self.machine), 2),
            self.number(1, 4),
            self.words(&[0, header_size, 0]),
            self.number(0, 4),
            [header_size, segment_size, segments, 0, 0, 0].iter().flat_map(|field| self.number(*field, 2)).collect(),
        ]
        .concat()
    }
}
