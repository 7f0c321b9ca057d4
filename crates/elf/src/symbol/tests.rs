use crate::dynamic::Tag;
use crate::encoding::{ByteOrder, Class, Encoding};
use crate::file::ElfFile;
use crate::test_file::TestFile;

#[test]
fn without_sections_and_hash_tables_the_next_table_ends_the_symbols() {
    let encoding = Encoding { class: Class::Elf64, byte_order: ByteOrder::Little, machine: 62 };
    let mut file = TestFile::new(encoding);
    let symbols = file.add(&[0; 24 * 4]);
    // As lld does it: the versions come next, and the strings only after them.
    let versions = file.add(&[0; 2 * 4]);
    let strings = file.add(&[0; 100]);
    let tags = [(Tag::SYMTAB.0, symbols), (Tag::VERSYM.0, versions), (Tag::STRTAB.0, strings), (Tag::STRSZ.0, 100)];
    let bytes = file.finish(&tags);
    let file = ElfFile::parse(&bytes).unwrap();
    let dynamic = file.dynamic().unwrap().unwrap();
    assert_eq!(file.dynamic_symbols(&dynamic).unwrap().len(), 4);
}
