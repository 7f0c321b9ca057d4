//! The location of the dynamic table. The loader reads it before all else, and an editor may need its spare entries.

use coldstart_elf::DynamicTable;
use serde::Serialize;

use super::segments::flags;
use crate::file_pages::page_of;
use crate::object::Object;

/// When the PLT's symbols are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// All of them at the start (`DT_BIND_NOW`, `DF_BIND_NOW`, `DF_1_NOW`).
    Now,
    /// Each at its first call.
    Lazy,
}

/// The dynamic table and its location.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DynamicLayout {
    /// Its file offset.
    pub file_offset: u64,
    /// The 4 KiB page of its file offset, from 0.
    pub file_page: u64,
    /// Its address, before the load bias.
    pub address: u64,
    /// Its size in bytes, spare entries included.
    pub bytes: u64,
    /// Entries in use, the end mark not counted.
    pub used_entries: u64,
    /// Entries after the end mark.
    pub spare_entries: u64,
    /// Flags of its mapped segment, such as `rw-`; none if it is not mapped.
    pub segment_flags: Option<String>,
    /// When the PLT's symbols are looked up.
    pub binding: Binding,
}

pub(super) fn dynamic(object: &Object<'_>) -> Option<DynamicLayout> {
    let dynamic = object.dynamic.as_ref()?;
    let offset = dynamic.file_offset().0;
    Some(DynamicLayout {
        file_offset: offset,
        file_page: page_of(offset),
        address: dynamic.address().0,
        bytes: dynamic.size(),
        used_entries: dynamic.len() as u64,
        spare_entries: dynamic.spare_entries() as u64,
        segment_flags: object.file.segment_at(dynamic.address()).map(flags),
        binding: binding(dynamic),
    })
}

fn binding(dynamic: &DynamicTable<'_>) -> Binding {
    if dynamic.binds_now() { Binding::Now } else { Binding::Lazy }
}
