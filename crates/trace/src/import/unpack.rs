//! Records that perf compressed (`-z`): pieces of one stream of zstd, one in each record of that kind.

use std::io::Read;

use linux_perf_data::UserRecordType;
use linux_perf_data::linux_perf_event_reader::RecordType;

use super::frames::Frame;

/// How many times larger than the file what is unpacked from it may be. Perf's records come to about a fifth; a thousand bytes of
/// zstd may stand for a hundred million.
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

/// Unpacks the stream. The second says why it ended too early, if it did; a stream that just stops is perf's usual one.
pub(super) fn unpack(stream: &[u8], file_size: usize) -> (Vec<u8>, Option<&'static str>) {
    let most = u64::try_from(file_size).unwrap_or(u64::MAX).saturating_mul(LARGER).max(ALWAYS);
    let mut unpacked = Vec::new();
    let mut left = stream;
    while !left.is_empty() {
        let Ok(mut decoder) = ruzstd::decoding::StreamingDecoder::new(&mut left) else {
            return (unpacked, Some("compressed records cannot be unpacked"));
        };
        let room = most.saturating_sub(u64::try_from(unpacked.len()).unwrap_or(u64::MAX));
        let mut chunk = [0; 1 << 16];
        let mut limited = (&mut decoder).take(room);
        loop {
            match limited.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => unpacked.extend_from_slice(chunk.get(..length).unwrap_or_default()),
                // Perf flushes the stream with each piece and never ends it.
                Err(_) => return (unpacked, None),
            }
        }
        if limited.limit() == 0 {
            return (
                unpacked,
                Some("compressed records are said to be more than a hundred times as large as the file"),
            );
        }
    }
    (unpacked, None)
}
