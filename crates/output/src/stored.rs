//! Words and paths in JSON, whose strings cannot represent all of them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A word or a path: a string in JSON where it is text, otherwise `{"text": readable, "bytes": hexadecimal}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Stored(OsString);

impl Stored {
    /// Of a word or a path.
    pub fn new(word: impl Into<OsString>) -> Self {
        Self(word.into())
    }

    /// As a path.
    pub fn path(&self) -> &Path {
        Path::new(&self.0)
    }

    /// As a word.
    pub fn word(&self) -> &OsStr {
        &self.0
    }
}

impl From<&Path> for Stored {
    fn from(path: &Path) -> Self {
        Self(path.as_os_str().to_owned())
    }
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum InJson {
    Text(String),
    Bytes { text: String, bytes: String },
}

impl Serialize for Stored {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => InJson::Bytes {
                text: self.0.to_string_lossy().into_owned(),
                bytes: self.0.as_bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
            }
            .serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Stored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = match InJson::deserialize(deserializer)? {
            InJson::Text(text) => text.into_bytes(),
            InJson::Bytes { bytes, .. } => {
                from_hexadecimal(&bytes).ok_or_else(|| D::Error::custom("`bytes` is not hexadecimal"))?
            }
        };
        if bytes.contains(&0) {
            return Err(D::Error::custom("a path contains a NUL byte"));
        }
        Ok(Self(OsString::from_vec(bytes)))
    }
}

fn from_hexadecimal(digits: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = digits
        .chars()
        .map(|digit| digit.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect::<Option<_>>()?;
    let pairs = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some(high << 4 | low),
        _ => None,
    });
    pairs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_word_survives(bytes in prop::collection::vec(1..=255u8, 0..40)) {
            let word = Stored::new(OsString::from_vec(bytes));
            let json = serde_json::to_string(&word).unwrap();
            prop_assert_eq!(serde_json::from_str::<Stored>(&json).unwrap(), word);
        }
    }

    #[test]
    fn what_is_no_word_is_refused() {
        for json in [r#""a\u0000""#, r#"{"text":"a","bytes":"6"}"#, r#"{"text":"a","bytes":"6g"}"#, "3", "{}"] {
            assert!(serde_json::from_str::<Stored>(json).is_err(), "{json}");
        }
        assert_eq!(serde_json::to_string(&Stored::new("höhe")).unwrap(), "\"höhe\"");
    }
}
