//! Digests, and files that are named by them.

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::OciProblem;

/// A SHA-256 digest; the specification's other algorithm, SHA-512, is not used by any tool that we know.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Digest(pub(crate) [u8; 32]);

impl Digest {
    /// From `sha256:` and 64 small hexadecimal digits. So the text is also safe as the name of a file.
    pub(crate) fn parse(text: &str) -> Result<Self, OciProblem> {
        let wrong = || OciProblem::DigestForm(text.chars().take(100).collect());
        let digits = text.strip_prefix("sha256:").ok_or_else(wrong)?.as_bytes();
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Ok(digit - b'0'),
            b'a'..=b'f' => Ok(digit - b'a' + 10),
            _ => Err(wrong()),
        };
        let mut bytes = [0; 32];
        if digits.len() != 2 * bytes.len() {
            return Err(wrong());
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            if let [high, low] = pair {
                *byte = value(*high)? << 4 | value(*low)?;
            }
        }
        Ok(Self(bytes))
    }

    /// The digits: the file's name in `blobs/sha256`.
    pub(crate) fn digits(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Checks that this digest was declared.
    pub(crate) fn must_be(&self, declared: &Self) -> Result<(), OciProblem> {
        if self == declared {
            return Ok(());
        }
        Err(OciProblem::Digest { found: self.to_string(), expected: declared.to_string() })
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sha256:{}", self.digits())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, formatter)
    }
}

/// Reads or writes through, and makes the digest of what goes by.
pub(crate) struct Hashing<T> {
    inner: T,
    hasher: Sha256,
}

impl<T> Hashing<T> {
    pub(crate) fn new(inner: T) -> Self {
        Self { inner, hasher: Sha256::new() }
    }

    pub(crate) fn digest(self) -> Digest {
        self.into_parts().1
    }

    /// What was read or written through, and the digest of what went by.
    pub(crate) fn into_parts(self) -> (T, Digest) {
        (self.inner, Digest(self.hasher.finalize().into()))
    }

    fn add(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
    }
}

impl<T: Read> Read for Hashing<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.add(buffer.get(..length).unwrap_or_default());
        Ok(length)
    }
}

impl<T: Write> Write for Hashing<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(bytes)?;
        self.add(bytes.get(..length).unwrap_or_default());
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

/// The digest of all bytes from a file's position on; `watch` is called with each portion.
pub(crate) fn digest_of(
    file: &File,
    watch: &mut dyn FnMut(u64) -> Result<(), OciProblem>,
) -> Result<Digest, OciProblem> {
    let mut hashing = Hashing::new(file);
    let mut buffer = vec![0; 1 << 18];
    loop {
        match hashing.read(&mut buffer).map_err(OciProblem::Io)? {
            0 => return Ok(hashing.digest()),
            length => watch(length as u64)?,
        }
    }
}

/// What refers to a blob.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Descriptor {
    #[serde(default)]
    pub(crate) media_type: String,
    pub(crate) digest: String,
    pub(crate) size: u64,
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub(crate) annotations: serde_json::Map<String, serde_json::Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) platform: Option<serde_json::Map<String, serde_json::Value>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_have_one_form_and_are_checked() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::parse(empty).unwrap(), Digest::of(b""));
        assert_eq!(Digest::of(b"").to_string(), empty);
        for wrong in
            ["", "sha256:", "sha512:00", &empty.to_uppercase(), &format!("{empty}0"), "sha256:../../../etc/passwd"]
        {
            assert!(matches!(Digest::parse(wrong), Err(OciProblem::DigestForm(_))), "{wrong}");
        }
        assert!(Digest::of(b"a").must_be(&Digest::of(b"")).is_err());
    }
}
