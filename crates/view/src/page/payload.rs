//! The data of one trace: the head and the columns, packed.

use std::io::Write;

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::ZlibEncoder;

use super::columns::{Columns, EventGroups, Symbols};
use super::head::TraceHead;
use super::{PageError, TraceSource};

/// Of levels 1 to 9. On a million events level 9 takes several times as long as 6 and saves less than one hundredth.
const LEVEL: u32 = 6;

/// Appends the data of a trace, as `docs/formats/page-data.md` has them. Nothing but the columns and the result is held in
/// memory.
pub(super) fn write(source: &TraceSource<'_>, page: &mut Vec<u8>) -> Result<(), PageError> {
    let (groups, symbols) = (EventGroups::of(source.trace), Symbols::of(source.trace));
    let columns = Columns::of(source.trace, source.figures, &groups, &symbols);
    let head = serde_json::to_vec(&TraceHead::of(source, &groups, &symbols, columns.heads()))?;
    let mut packed = ZlibEncoder::new(EncoderWriter::new(page, &STANDARD), Compression::new(LEVEL));
    let length = u32::try_from(head.len()).map_err(|_| std::io::Error::from(std::io::ErrorKind::FileTooLarge))?;
    packed.write_all(&length.to_le_bytes())?;
    packed.write_all(&head)?;
    for bytes in columns.bytes() {
        packed.write_all(bytes)?;
    }
    packed.finish()?.finish()?;
    Ok(())
}
