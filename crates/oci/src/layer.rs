//! A layer's tar file: decompressed beside the output, into a file without a name, with both digests checked on the way.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::blob::{Digest, Hashing, digest_of};
use crate::error::OciProblem;

/// How the bytes of a layer are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// By the media type; the specification's, and Docker's. Others are refused by name.
    pub(crate) fn of(media_type: &str) -> Result<Self, OciProblem> {
        match media_type {
            "application/vnd.oci.image.layer.v1.tar"
            | "application/vnd.oci.image.layer.nondistributable.v1.tar"
            | "application/vnd.docker.image.rootfs.diff.tar" => Ok(Self::None),
            "application/vnd.oci.image.layer.v1.tar+gzip"
            | "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip"
            | "application/vnd.docker.image.rootfs.diff.tar.gzip"
            | "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip" => Ok(Self::Gzip),
            "application/vnd.oci.image.layer.v1.tar+zstd"
            | "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd"
            | "application/vnd.docker.image.rootfs.diff.tar.zstd" => Ok(Self::Zstd),
            other => Err(OciProblem::MediaType(other.chars().take(200).collect())),
        }
    }
}

/// Gives the tar file of a layer: the blob itself, or its decompressed bytes in a file without a name in `scratch`.
///
/// `digest` is that of the blob, `diff_id` that of the tar file. `watch` is called with the bytes of each portion.
pub(crate) fn unpack(
    blob: File,
    compression: Compression,
    digest: &Digest,
    diff_id: &Digest,
    scratch: &Path,
    watch: &mut dyn FnMut(u64) -> Result<(), OciProblem>,
) -> Result<File, OciProblem> {
    if compression == Compression::None {
        let found = digest_of(&blob, watch)?;
        found.must_be(digest)?;
        found.must_be(diff_id)?;
        return Ok(blob);
    }
    let mut stored = BufReader::with_capacity(1 << 18, Hashing::new(&blob));
    let mut tar = Hashing::new(tempfile::tempfile_in(scratch).map_err(OciProblem::Io)?);
    match compression {
        Compression::Zstd => copy(&mut Frames::new(&mut stored), &mut tar, watch)?,
        _ => copy(&mut MultiGzDecoder::new(&mut stored), &mut tar, watch)?,
    }
    // What stands behind the compressed bytes belongs to the digest, too.
    io::copy(&mut stored, &mut io::sink()).map_err(OciProblem::Io)?;
    stored.into_inner().digest().must_be(digest)?;
    let (mut file, found) = tar.into_parts();
    found.must_be(diff_id)?;
    file.seek(SeekFrom::Start(0)).map_err(OciProblem::Io)?;
    Ok(file)
}

fn copy(
    from: &mut dyn Read,
    to: &mut Hashing<File>,
    watch: &mut dyn FnMut(u64) -> Result<(), OciProblem>,
) -> Result<(), OciProblem> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        let length = from.read(&mut buffer).map_err(OciProblem::Io)?;
        if length == 0 {
            return Ok(());
        }
        to.write_all(buffer.get(..length).unwrap_or_default()).map_err(OciProblem::Io)?;
        watch(length as u64)?;
    }
}

/// All frames of a zstd file, one after the other; skippable ones are passed over (RFC 8878, 3.1).
pub(crate) struct Frames<R> {
    source: R,
    decoder: FrameDecoder,
    is_inside: bool,
}

impl<R: BufRead> Frames<R> {
    pub(crate) fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), is_inside: false }
    }

    /// Begins the next frame; `false` at the end.
    fn begin(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.reset(&mut self.source) {
                Ok(()) => return Ok(true),
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                    let skipped = io::copy(&mut self.source.by_ref().take(length.into()), &mut io::sink())?;
                    if skipped < u64::from(length) {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::new(io::ErrorKind::InvalidData, error.to_string())),
            }
        }
        Ok(false)
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if !self.is_inside {
                if !self.begin()? {
                    return Ok(0);
                }
                self.is_inside = true;
            }
            let damaged = |error: FrameDecoderError| io::Error::new(io::ErrorKind::InvalidData, error.to_string());
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                self.decoder.decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1)).map_err(damaged)?;
            }
            let length = self.decoder.read(buffer)?;
            if length > 0 || buffer.is_empty() {
                return Ok(length);
            }
            self.is_inside = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_joined_and_a_cut_one_is_an_error() {
        // Two raw frames, "ab" and "c", with a skippable one between (RFC 8878).
        let frame = |text: &[u8]| {
            let block = (text.len() as u32) << 3 | 1;
            let head = [0x28, 0xb5, 0x2f, 0xfd, 0x20, text.len() as u8];
            [&head[..], &block.to_le_bytes()[..3], text].concat()
        };
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9];
        let all = [frame(b"ab"), skipped.to_vec(), frame(b"c")].concat();
        let read = |bytes: &[u8]| {
            let mut out = Vec::new();
            Frames::new(bytes).read_to_end(&mut out).map(|_| out)
        };
        assert_eq!(read(&all).unwrap(), b"abc");
        assert_eq!(read(b"").unwrap(), b"");
        for cut in [1, 5, 8, 14, 18, all.len() - 1] {
            assert!(read(&all[..cut]).is_err(), "{cut}");
        }
    }
}
