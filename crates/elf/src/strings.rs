//! String tables: consecutive names, each terminated by a zero byte.

/// A string table, in place in the file. Names are bytes: the format does not define an encoding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strings<'data> {
    bytes: &'data [u8],
}

impl<'data> Strings<'data> {
    /// The table in `bytes`.
    pub fn new(bytes: &'data [u8]) -> Self {
        Self { bytes }
    }

    /// The name at `offset`; `None` if it begins or ends outside the table.
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
