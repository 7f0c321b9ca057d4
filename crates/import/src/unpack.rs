//! Records compressed by perf (`-z`): pieces of one zstd stream, one in each record of that kind.

use std::io::Read;

use linux_perf_data::UserRecordType;
use linux_perf_data::linux_perf_event_reader::RecordType;

use super::bytes::{Bytes, Order};
use super::frames::Frame;

/// Limit on the decompressed size, as a multiple of the file's. Perf's records compress to about a fifth; a thousand
/// bytes of zstd may expand to a hundred million.
const LARGER: u64 = 100;
/// What may be unpacked from the smallest file, in bytes.
const ALWAYS: u64 = 16 << 20;

/// Collects a piece of the stream; `None` if the record is of another kind.
pub(super) fn piece<'a>(frame: &Frame<'a>) -> Option<&'a [u8]> {
    let mut body = frame.body;
    match UserRecordType::try_from(RecordType(frame.kind))? {
        UserRecordType::PERF_COMPRESSED => body.take(body.left()),
        // Since Linux 6.16 with its size in front, because records are padded to eight bytes.
        UserRecordType::PERF_COMPRESSED2 => {
            let size = body.u64()?;
            body.take_wide(size)
        }
        _ => None,
    }
}

/// Unpacks the stream. The second says why it ended too early, if it did.
pub(super) fn unpack(stream: &[u8], file_size: usize) -> (Vec<u8>, Option<&'static str>) {
    let most = u64::try_from(file_size).unwrap_or(u64::MAX).saturating_mul(LARGER).max(ALWAYS);
    let mut unpacked = Vec::new();
    if stream.is_empty() {
        return (unpacked, None);
    }
    let damaged = Some("compressed records cannot be decompressed");
    let Some(ended) = with_end(stream) else { return (unpacked, damaged) };
    let Ok(decoder) = ruzstd::decoding::StreamingDecoder::new(ended.as_slice()) else { return (unpacked, damaged) };
    let mut chunk = [0; 1 << 16];
    let mut limited = decoder.take(most);
    loop {
        match limited.read(&mut chunk) {
            Ok(0) if limited.limit() == 0 => {
                return (unpacked, Some("decompressed records would be a hundred times as large as the file"));
            }
            Ok(0) => return (unpacked, None),
            Ok(length) => unpacked.extend_from_slice(chunk.get(..length).unwrap_or_default()),
            Err(_) => return (unpacked, damaged),
        }
    }
}

/// Perf flushes the stream with each piece and never ends it, and without an end nobody unpacks the last pieces. So
/// what follows the last whole block becomes an empty one that says that it is the last (RFC 8878, 3.1.1). `None` if
/// it is no such stream.
fn with_end(stream: &[u8]) -> Option<Vec<u8>> {
    let mut rest = Bytes::new(stream, 0, Order::Little);
    rest.u32()?;
    let descriptor = *rest.take(1)?.first()?;
    let (is_single, has_checksum) = (descriptor & 1 << 5 != 0, descriptor & 1 << 2 != 0);
    let dictionary = [0, 1, 2, 4].get(usize::from(descriptor & 3)).copied()?;
    let content = [usize::from(is_single), 2, 4, 8].get(usize::from(descriptor >> 6)).copied()?;
    rest.take(usize::from(!is_single).checked_add(dictionary)?.checked_add(content)?)?;
    let mut is_last = false;
    let mut whole = rest;
    let mut block = || {
        let header = match *rest.take(3)? {
            [first, second, third] => u32::from_le_bytes([first, second, third, 0]),
            _ => return None,
        };
        // One byte that is repeated says how often in the place of the size.
        let size = if header >> 1 & 3 == 1 { 1 } else { header >> 3 };
        rest.take_wide(size.into())?;
        Some((header & 1 != 0, rest))
    };
    while !is_last && let Some((last, behind)) = block() {
        (is_last, whole) = (last, behind);
    }
    let mut ended = stream.get(..stream.len().checked_sub(whole.left())?)?.to_vec();
    if !is_last {
        ended.extend_from_slice(&[1, 0, 0]);
    }
    if has_checksum {
        ended.extend_from_slice(&[0; 4]);
    }
    Some(ended)
}
