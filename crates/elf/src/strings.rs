//! String tables: names one behind the other, each ended by a zero byte.

/// A string table where it lies in the file. Names are bytes: the format does not say which encoding they have.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strings<'data> {
    bytes: &'data [u8],
}

impl<'data> Strings<'data> {
    /// The table in `bytes`.
    pub fn new(bytes: &'data [u8]) -> Self {
        Self { bytes }
    }

    /// The name that begins `offset` bytes into the table; `None` if it begins or ends outside.
    pub fn get(&self, offset: u64) -> Option<&'data [u8]> {
        let rest = self.bytes.get(usize::try_from(offset).ok()?..)?;
        let end = rest.iter().position(|byte| *byte == 0)?;
        rest.get(..end)
    }

    /// Size of the table in bytes.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}
