//! Notes, and those of GNU that have a meaning of their own.

use std::hint::black_box;

use coldstart_elf::{Encoding, FileOffset, Note, Notes, abi_tag, build_id, is_debug_file, notes};

use super::{Input, MOST_STEPS, open};

/// Reads all notes.
pub fn exercise(bytes: &[u8]) {
    match open(bytes) {
        Input::File(file, _) => {
            notes(&file).take(MOST_STEPS).flatten().for_each(|note| read(&note, file.encoding()));
            if let Some(id) = build_id(&file) {
                assert_eq!(id.to_string().len(), id.bytes().len() * 2);
            }
            black_box((abi_tag(&file).map(|tag| tag.to_string()), is_debug_file(&file)));
        }
        Input::Table(bytes, encoding, choice) => {
            if let Ok(notes) = Notes::new(bytes, FileOffset(0), choice.into(), encoding) {
                notes.take(MOST_STEPS).flatten().for_each(|note| read(&note, encoding));
            }
        }
        Input::Nothing => {}
    }
}

fn read(note: &Note<'_>, encoding: Encoding) {
    assert!(!note.name.contains(&0));
    for property in note.properties(encoding).take(MOST_STEPS) {
        match property {
            Ok(property) => assert!(property.bytes.len() <= note.description.len()),
            Err(error) => drop(black_box(error.to_string())),
        }
    }
    black_box((note.build_id(), note.abi_tag(encoding), note.dlopen(), note.is_systemtap_probe()));
}
