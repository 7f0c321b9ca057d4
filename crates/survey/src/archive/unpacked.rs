//! Compressed streams, unpacked into files without a name.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::limits::{Room, Within};
use super::{ArchiveError, Bytes};

/// The directory of files without a name.
#[derive(Clone, Debug)]
pub struct Scratch(Arc<PathBuf>);

impl Scratch {
    /// In a directory that exists.
    pub fn new(directory: PathBuf) -> Self {
        Self(Arc::new(directory))
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.0
    }

    /// Copies a stream into a file without a name.
    pub(crate) fn file(&self, stream: &mut dyn Read, room: &mut Room) -> Result<File, ArchiveError> {
        let file = tempfile::tempfile_in(self.directory()).map_err(ArchiveError::Io)?;
        let mut writer = Within { writer: &file, room };
        io::copy(stream, &mut writer).map_err(ArchiveError::of_stream)?;
        Ok(file)
    }

    /// Copies a stream into a file without a name, and maps that.
    pub(crate) fn bytes(&self, stream: &mut dyn Read, room: &mut Room) -> Result<Bytes, ArchiveError> {
        let file = self.file(stream, room)?;
        Bytes::whole(Arc::new(file)).map_err(ArchiveError::Io)
    }
}

/// The memory that a decoder of xz or lzma may take: the largest preset needs 65 MiB (xz(1)), long dictionaries up to this.
const DECODER: u64 = 256 << 20;

/// The content of a stream, by its first bytes: gzip, xz, lzma, zstd or plain.
///
/// Sources: RFC 1952; The .xz File Format 1.2, section 2.1.1; RFC 8878, 3.1.1; xz's `lzma-file-format.txt`.
pub(crate) fn decoder<'data>(mut packed: impl BufRead + 'data) -> Result<Box<dyn Read + 'data>, ArchiveError> {
    use liblzma::bufread::XzDecoder;
    use liblzma::stream::{CONCATENATED, Stream};
    let lzma = |error: liblzma::stream::Error| ArchiveError::Damaged(error.to_string());
    let start = packed.fill_buf().map_err(ArchiveError::of_stream)?;
    if start.starts_with(&[0x1f, 0x8b]) {
        Ok(Box::new(flate2::bufread::MultiGzDecoder::new(packed)))
    } else if start.starts_with(&[0xfd, b'7', b'z', b'X', b'Z', 0]) {
        let stream = Stream::new_stream_decoder(DECODER, CONCATENATED).map_err(lzma)?;
        Ok(Box::new(XzDecoder::new_stream(packed, stream)))
    } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        let mut decoder = zstd::stream::read::Decoder::with_buffer(packed).map_err(ArchiveError::of_stream)?;
        // A window of 128 MiB, as `zstd --long=27` needs it.
        decoder.window_log_max(27).map_err(ArchiveError::of_stream)?;
        Ok(Box::new(decoder))
    } else if start.starts_with(&[0x5d, 0, 0]) {
        let stream = Stream::new_lzma_decoder(DECODER).map_err(lzma)?;
        Ok(Box::new(XzDecoder::new_stream(packed, stream)))
    } else if start.starts_with(b"BZh") {
        Err(ArchiveError::Unknown("it is compressed with bzip2, which current packages do not use".to_owned()))
    } else {
        Ok(Box::new(packed))
    }
}
