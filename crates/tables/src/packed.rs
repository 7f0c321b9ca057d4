//! What packing would do.

use crate::column::row;

row! {
    /// One file, and what `coldstart pack` would do with it.
    PackingRow in "packing" {
        /// The file.
        path: String,
        /// `would-pack`, `nothing`, `refused` or `failed`.
        outcome: &'static str,
        /// Size in bytes.
        size_before: Option<u64>,
        /// Size once packed.
        size_after: Option<u64>,
        /// Relocations that become RELR.
        packed: Option<u64>,
        /// References that are bound.
        bound: Option<u64>,
        /// Bytes of relocation records, without those of the PLT.
        record_bytes_before: Option<u64>,
        /// Bytes of relocation records once packed.
        record_bytes_after: Option<u64>,
        /// Bytes of the RELR table.
        relr_bytes: Option<u64>,
        /// For scripts: the code of a refusal, or why there is nothing to pack, as in `coldstart pack --json`.
        code: Option<String>,
        /// The reason of a refusal, or the error.
        reason: Option<String>,
        /// What to do about it.
        hint: Option<String>,
    }
}
