//! Parsers of untrusted bytes, for the fuzz targets of `fuzz/` only.
//!
//! Hidden, and not part of the public API. A layout names each file by its digest, which would keep a fuzzer out.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use coldstart_image::Entry;

use crate::error::OciProblem;
use crate::flatten::Tree;
use crate::layer::Frames;

/// The entries of layers, each of which is a tar file, one over the other.
///
/// # Errors
/// A damaged layer, or an entry that must not be.
pub fn entries(layers: impl IntoIterator<Item = File>) -> Result<Vec<Entry>, OciProblem> {
    let mut tree = Tree::new();
    for layer in layers {
        tree.add_layer(layer, Path::new("layer"), &mut || Ok(()))?;
    }
    Ok(tree.into_entries())
}

/// The content of all frames of a zstd file, but not more than this many bytes.
///
/// # Errors
/// A damaged frame.
pub fn zstd(bytes: &[u8], most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    Frames::new(bytes).take(most).read_to_end(&mut content)?;
    Ok(content)
}
