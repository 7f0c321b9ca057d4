//! The modules of a Java run time (`lib/modules`): its resources, and which of them a start used. Only read here; `jlink` writes it.
//!
//! Not obvious: numbers are in the byte order of the machine that the image is for, those of a resource's attributes always big-endian.
//!
//! Source: OpenJDK, `src/java.base/share/native/libjimage/imageFile.hpp`, version 1.0 of the format.

use std::ops::Range;

use thiserror::Error;

use crate::fields::bytes_at;
use crate::list::UsedFile;
use crate::used::used_parts;

const MAGIC: u32 = 0xcafe_dada;
const HEADER: usize = 28;
/// The major version that is known here.
const MAJOR: u32 = 1;
/// Kinds of attributes.
const END: u8 = 0;
const OFFSET: usize = 5;
const COMPRESSED: usize = 6;
const UNCOMPRESSED: usize = 7;
/// Each kind of attribute is there once at most.
const MOST_ATTRIBUTES: usize = 8;

/// Why an image cannot be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum JimageError {
    /// Another file.
    #[error("it is not an image of Java modules")]
    NotJimage,
    /// A later version.
    #[error("its format has version {0}, and only version 1 is known")]
    Version(u32),
    /// Something points outside.
    #[error("resource {number} of its table is damaged")]
    Damaged {
        /// Its number from 0.
        number: usize,
    },
}

impl JimageError {
    /// Advice.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NotJimage => "name with --root a directory that `jlink` wrote, or a JDK: it has `lib/modules`",
            Self::Version(_) | Self::Damaged { .. } => "make the image again with `jlink`, and record a trace with it",
        })
    }
}

coldstart_hint::hinted!(JimageError);

/// A resource: a class, or another file of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resource {
    /// The module and the path in it: `java.base/java/lang/Object.class`.
    pub path: Vec<u8>,
    /// Where it lies in the file, in bytes.
    pub range: Range<usize>,
}

/// The resources of an image by their places.
///
/// # Errors
/// If it is not an image, or a resource lies outside it.
pub fn resources(bytes: &[u8]) -> Result<Vec<Resource>, JimageError> {
    let first: [u8; 4] = bytes_at(bytes, 0).ok_or(JimageError::NotJimage)?;
    let number: fn([u8; 4]) -> u32 = match (u32::from_le_bytes(first), u32::from_be_bytes(first)) {
        (MAGIC, _) => u32::from_le_bytes,
        (_, MAGIC) => u32::from_be_bytes,
        _ => return Err(JimageError::NotJimage),
    };
    let field = |place: usize| bytes_at(bytes, place.saturating_mul(4)).map(number).ok_or(JimageError::NotJimage);
    let length = |place: usize| Ok(usize::try_from(field(place)?).unwrap_or(usize::MAX));
    let major = field(1)? >> 16;
    if major != MAJOR {
        return Err(JimageError::Version(major));
    }
    let (table, locations_size, strings_size) = (length(4)?, length(5)?, length(6)?);
    // A table of displacements, which is for looking names up, and one of offsets of attributes.
    let offsets_at = table.saturating_mul(4).saturating_add(HEADER);
    let locations_at = table.saturating_mul(4).saturating_add(offsets_at);
    let strings_at = locations_at.saturating_add(locations_size);
    let data_at = strings_at.saturating_add(strings_size);
    let locations = bytes.get(locations_at..strings_at).ok_or(JimageError::NotJimage)?;
    let strings = bytes.get(strings_at..data_at).ok_or(JimageError::NotJimage)?;
    let mut resources = Vec::new();
    // Resources may share strings. If all of them had the same long ones, a small file could ask for much memory.
    let mut allowed = bytes.len().saturating_mul(4);
    for slot in 0..table {
        let damaged = JimageError::Damaged { number: slot };
        let at = length(offsets_at.saturating_add(slot.saturating_mul(4)) / 4)?;
        let attributes = locations.get(at..).and_then(attributes).ok_or(damaged)?;
        let resource = resource(&attributes, strings, data_at, bytes.len()).ok_or(damaged)?;
        allowed = allowed.checked_sub(resource.path.len()).ok_or(damaged)?;
        // What leads from packages to modules has no data of its own kind: it is read as any other.
        if !resource.path.is_empty() && !resource.range.is_empty() {
            resources.push(resource);
        }
    }
    resources.sort_by_key(|resource| resource.range.start);
    Ok(resources)
}

/// The attributes of a resource: each one a byte with its kind and length, and a number.
fn attributes(mut bytes: &[u8]) -> Option<[u64; MOST_ATTRIBUTES]> {
    let mut attributes = [0u64; MOST_ATTRIBUTES];
    for _ in 0..=MOST_ATTRIBUTES {
        let (first, rest) = bytes.split_first()?;
        let (kind, length) = (first >> 3, usize::from(first & 7).saturating_add(1));
        if kind == END {
            return Some(attributes);
        }
        let value = rest.get(..length)?.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
        *attributes.get_mut(usize::from(kind))? = value;
        bytes = rest.get(length..)?;
    }
    None
}

fn resource(attributes: &[u64; MOST_ATTRIBUTES], strings: &[u8], data_at: usize, end: usize) -> Option<Resource> {
    let text = |kind: usize| {
        let text = strings.get(usize::try_from(*attributes.get(kind)?).ok()?..)?;
        text.split(|byte| *byte == 0).next()
    };
    let [module, parent, base, extension] = [text(1)?, text(2)?, text(3)?, text(4)?];
    let mut path = module.to_vec();
    for (separator, part) in [(b'/', parent), (b'/', base), (b'.', extension)] {
        if !part.is_empty() {
            if !path.is_empty() {
                path.push(separator);
            }
            path.extend_from_slice(part);
        }
    }
    let value = |kind: usize| attributes.get(kind).copied().unwrap_or_default();
    let size = if value(COMPRESSED) > 0 { value(COMPRESSED) } else { value(UNCOMPRESSED) };
    let start = data_at.checked_add(usize::try_from(value(OFFSET)).ok()?)?;
    let range = start..start.checked_add(usize::try_from(size).ok()?)?;
    (range.end <= end).then_some(Resource { path, range })
}

/// The resources that starts used, in the order of their first use, with their places. `starts` has the pages of the image that each start
/// used, in that order.
pub fn used_resources(resources: &[Resource], starts: &[Vec<u64>]) -> Vec<UsedFile> {
    use std::os::unix::ffi::OsStrExt;
    let used = used_parts(resources.iter().map(|resource| &resource.range), starts);
    let file = |resource: &Resource| UsedFile {
        path: std::ffi::OsStr::from_bytes(&resource.path).into(),
        ranges: vec![(resource.range.start as u64, resource.range.len() as u64)],
    };
    used.into_iter().filter_map(|number| resources.get(number)).map(file).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// An image with two classes of one module, of 5000 bytes each, for a machine of this byte order.
    fn image(number: fn(u32) -> [u8; 4]) -> Vec<u8> {
        let strings = b"\0m\0p/q\0A\0B\0class\0";
        let mut locations = Vec::new();
        let mut offsets = Vec::new();
        for (base, offset) in [(7u8, 5000u16), (9, 0)] {
            offsets.push(locations.len() as u32);
            let [high, low] = offset.to_be_bytes();
            locations.extend([1 << 3, 1, 2 << 3, 3, 3 << 3, base, 4 << 3, 11, 5 << 3 | 1, high, low]);
            locations.extend([7 << 3 | 1, 0x13, 0x88, 0]);
        }
        let sizes = [2, 2, locations.len() as u32, strings.len() as u32];
        let mut bytes = number(MAGIC).to_vec();
        for field in [1 << 16, 0].into_iter().chain(sizes).chain([0, 0]).chain(offsets) {
            bytes.extend(number(field));
        }
        bytes.extend(locations);
        bytes.extend(strings);
        bytes.extend([7; 10_000]);
        bytes
    }

    #[test]
    fn resources_are_found_in_both_byte_orders_and_used_by_their_own_pages() {
        for number in [u32::to_le_bytes, u32::to_be_bytes] {
            let bytes = image(number);
            let resources = resources(&bytes).unwrap();
            let names: Vec<&[u8]> = resources.iter().map(|resource| resource.path.as_slice()).collect();
            assert_eq!(names, [&b"m/p/q/B.class"[..], b"m/p/q/A.class"]);
            assert_eq!(resources[1].range, bytes.len() - 5000..bytes.len());
            // Each reaches over two pages, of which it has none for itself.
            let used = used_resources(&resources, &[vec![1, 2, 0]]);
            assert_eq!(used[0].path, std::path::Path::new("m/p/q/A.class"));
            assert_eq!(used.len(), 2);
        }
        assert_eq!(resources(b"PK\x03\x04"), Err(JimageError::NotJimage));
        let mut later = image(u32::to_le_bytes);
        later[6] = 2;
        assert_eq!(resources(&later), Err(JimageError::Version(2)));
        let cut = image(u32::to_le_bytes);
        assert_eq!(resources(&cut[..cut.len() - 1]), Err(JimageError::Damaged { number: 0 }));
    }

    #[test]
    fn what_resources_share_makes_no_small_file_take_much_memory_or_time() {
        const COUNT: u32 = 4000;
        let with = |locations: &[u8], strings: &[u8]| {
            let fields = [MAGIC, 1 << 16, 0, COUNT, COUNT, locations.len() as u32, strings.len() as u32];
            let mut bytes: Vec<u8> = fields.into_iter().flat_map(u32::to_le_bytes).collect();
            // Both tables: each resource has the attributes at the front.
            bytes.extend(vec![0; COUNT as usize * 8]);
            bytes.extend([locations, strings, &[0; 8]].concat());
            bytes
        };
        // All four parts of all names are the same 64 kB.
        let shared = with(&[7 << 3, 1, 0], &vec![b'x'; 1 << 16]);
        assert_eq!(resources(&shared), Err(JimageError::Damaged { number: 1 }));
        // All have the same attributes without an end.
        let endless = with(&[1 << 3, 0].repeat(1 << 20), b"\0");
        assert_eq!(resources(&endless), Err(JimageError::Damaged { number: 0 }));
    }

    proptest! {
        #[test]
        fn any_damage_gives_resources_inside_the_file_or_an_error(
            changes in prop::collection::vec((0usize..200, any::<u8>()), 1..6), cut in 0usize..10_200
        ) {
            let mut bytes = image(u32::to_le_bytes);
            for (at, value) in changes {
                bytes[at] = value;
            }
            bytes.truncate(cut);
            for resource in resources(&bytes).unwrap_or_default() {
                prop_assert!(resource.range.end <= bytes.len());
            }
        }
    }
}
