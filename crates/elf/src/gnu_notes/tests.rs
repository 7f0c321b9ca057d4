use crate::address::FileOffset;
use crate::encoding::{ByteOrder, Class, Encoding};
use crate::notes::Note;

const WIDE: Encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
const NARROW: Encoding = Encoding { class: Class::Elf32, byte_order: ByteOrder::Big, machine: 8 };

fn note<'data>(name: &'data [u8], kind: u32, description: &'data [u8]) -> Note<'data> {
    Note { name, whole_name: name, kind, description, offset: FileOffset(0), description_offset: FileOffset(16) }
}

#[test]
fn a_build_id_is_shown_as_digits() {
    let id = note(b"GNU", 3, &[0x00, 0xab, 0x0c]).build_id().unwrap();
    assert_eq!((id.to_string(), id.bytes()), ("00ab0c".to_owned(), &[0x00, 0xab, 0x0c][..]));
    assert_eq!(note(b"GNU", 3, &[]).build_id(), None);
    assert_eq!(note(b"Go", 3, &[1]).build_id(), None);
    assert_eq!(note(b"GNU", 4, &[1]).build_id(), None);
}

#[test]
fn the_oldest_kernel_is_read() {
    let words = [0_u32, 3, 2, 1];
    let little: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let big: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    assert_eq!(note(b"GNU", 1, &little).abi_tag(WIDE).unwrap().to_string(), "Linux 3.2.1");
    assert_eq!(note(b"GNU", 1, &big).abi_tag(NARROW).unwrap().kernel, [3, 2, 1]);
    assert_eq!(note(b"GNU", 1, &big[..15]).abi_tag(NARROW), None);
    assert_eq!(note(b"GNU", 2, &big).abi_tag(NARROW), None);
}

#[test]
fn properties_are_padded_to_the_class() {
    let mut bytes = [2_u32, 4, 3, 0, 0xc000_0002, 4, 7].map(u32::to_le_bytes).concat();
    let found: Vec<_> = note(b"GNU", 5, &bytes).properties(WIDE).map(Result::unwrap).collect();
    let found: Vec<_> = found.iter().map(|property| (property.kind, property.bytes, property.offset.0)).collect();
    assert_eq!(found, [(2, &[3, 0, 0, 0][..], 16), (0xc000_0002, &[7, 0, 0, 0][..], 32)]);

    let narrow = [2_u32, 4, 3, 1, 0].map(u32::to_be_bytes).concat();
    let found: Vec<_> = note(b"GNU", 5, &narrow).properties(NARROW).map(|property| property.unwrap().kind).collect();
    assert_eq!(found, [2, 1]);

    bytes.truncate(27);
    let found: Vec<_> = note(b"GNU", 5, &bytes).properties(WIDE).map(|property| property.is_ok()).collect();
    assert_eq!(found, [true, false]);
    assert_eq!(note(b"GNU", 4, &bytes).properties(WIDE).count(), 0);
}

#[test]
fn libraries_for_dlopen_are_given_as_text() {
    let text = br#"[{"soname":["libbpf.so.1"]}]"#;
    let padded = [&text[..], b"\0\0"].concat();
    assert_eq!(note(b"FDO", 0x407c_0c0a, &padded).dlopen(), Some(&text[..]));
    assert_eq!(note(b"FDO", 0x407c_0c0a, b"\0").dlopen(), Some(&b""[..]));
    assert_eq!(note(b"FDO", 1, &padded).dlopen(), None);
}
