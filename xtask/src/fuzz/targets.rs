//! The fuzz targets: how much of the time each gets, and which parsers it is there for.

use std::path::PathBuf;

use crate::cargo::workspace;

/// A target of `fuzz/fuzz_targets/`.
pub(super) struct Target {
    pub(super) name: &'static str,
    /// Of the time: 4 for parsers of large files that strangers made, 1 for what the kernel or coldstart itself writes.
    pub(super) share: u32,
    /// Whether its inputs are ELF files, so that those in `fuzz/seeds` are seeds of it, too.
    reads_elf: bool,
    /// Files and directories with the parser's code.
    pub(super) parsers: &'static [&'static str],
}

const fn elf(name: &'static str, share: u32, parsers: &'static [&'static str]) -> Target {
    Target { name, share, reads_elf: true, parsers }
}

const fn other(name: &'static str, share: u32, parsers: &'static [&'static str]) -> Target {
    Target { name, share, reads_elf: false, parsers }
}

impl Target {
    /// The directory of the seeds that several targets share.
    pub(super) fn seeds(&self) -> Option<PathBuf> {
        self.reads_elf.then(|| workspace().join("fuzz/seeds"))
    }
}

/// All targets, by name.
pub(super) const TARGETS: &[Target] = &[
    other("audit_table", 1, &["crates/bind/src/audit/read.rs"]),
    other(
        "command_lines",
        1,
        &[
            "crates/install/src/place/desktop/entry.rs",
            "crates/install/src/place/desktop/exec.rs",
            "crates/install/src/place/unit/exec_line.rs",
            "crates/install/src/place/unit/file.rs",
        ],
    ),
    other(
        "container_layers",
        4,
        &["crates/oci/src/flatten.rs", "crates/oci/src/layer.rs", "crates/oci/src/tarball.rs"],
    ),
    elf("dlopen_note", 1, &["crates/loader/src/dlopen_notes.rs"]),
    elf("elf_android_packed", 1, &["crates/elf/src/android_packed.rs"]),
    elf(
        "elf_debug",
        1,
        &["crates/elf/src/debug_link.rs", "crates/elf/src/debug_file.rs", "crates/elf/src/mini_debug.rs"],
    ),
    elf(
        "elf_file",
        3,
        &[
            "crates/elf/src/address_map.rs",
            "crates/elf/src/dynamic.rs",
            "crates/elf/src/encoding.rs",
            "crates/elf/src/file.rs",
            "crates/elf/src/header.rs",
            "crates/elf/src/kind.rs",
            "crates/elf/src/section.rs",
            "crates/elf/src/segment.rs",
            "crates/elf/src/span.rs",
            "crates/elf/src/strings.rs",
            "crates/elf/src/words.rs",
        ],
    ),
    elf("elf_hash", 1, &["crates/elf/src/gnu_hash.rs", "crates/elf/src/hash_chains.rs", "crates/elf/src/sysv_hash.rs"]),
    elf("elf_notes", 1, &["crates/elf/src/gnu_notes.rs", "crates/elf/src/notes.rs"]),
    elf("elf_relocations", 2, &["crates/elf/src/dynamic_relocations.rs", "crates/elf/src/relocation.rs"]),
    elf("elf_relr", 1, &["crates/elf/src/relr.rs"]),
    elf("elf_symbols", 2, &["crates/elf/src/symbol.rs"]),
    elf(
        "elf_unwind",
        2,
        &["crates/elf/src/unwind.rs", "crates/elf/src/unwind_entries.rs", "crates/elf/src/unwind_search.rs"],
    ),
    elf("elf_versions", 1, &["crates/elf/src/version_records.rs", "crates/elf/src/versions.rs"]),
    other("fleet_table", 2, &["crates/import/src/fleet"]),
    other(
        "function_list",
        1,
        &[
            "crates/order/src/link_map.rs",
            "crates/order/src/list.rs",
            "crates/order/src/object_sections.rs",
            "crates/order/src/script.rs",
            "crates/order/src/section_list.rs",
        ],
    ),
    other("history", 1, &["crates/history/src/open.rs", "crates/history/src/read.rs", "crates/history/src/schema.rs"]),
    other("http_answer", 2, &["crates/launch/src/readiness/http/answer.rs"]),
    other("index_manifest", 2, &["crates/index/src/log.rs", "crates/index/src/manifest.rs"]),
    elf("inspect", 4, &["crates/inspect/src"]),
    other("installed_manifest", 1, &["crates/install/src/manifest.rs"]),
    other("java_modules", 2, &["crates/archive/src/jimage.rs"]),
    elf("loader_cache", 3, &["crates/loader/src/cache", "crates/loader/src/loader_build.rs"]),
    other("loader_log", 1, &["crates/observe/src/loader_log/lines.rs", "crates/observe/src/loader_log/parse.rs"]),
    other("nix_note", 1, &["crates/loader/src/nix_note.rs"]),
    other("notification", 1, &["crates/launch/src/readiness/notify/message.rs"]),
    elf("object_symbols", 3, &["crates/symbols/src"]),
    elf("pack", 4, &["crates/rewrite/src/anatomy", "crates/rewrite/src/pack"]),
    other(
        "package_archive",
        4,
        &[
            "crates/app/src/order/appimage/file.rs",
            "crates/survey/src/archive/deb.rs",
            "crates/survey/src/archive/format.rs",
            "crates/survey/src/archive/limits.rs",
            "crates/survey/src/archive/mod.rs",
            "crates/survey/src/archive/squashfs.rs",
            "crates/survey/src/archive/unpacked.rs",
        ],
    ),
    other(
        "page_connection",
        2,
        &[
            "crates/http/src/answer.rs",
            "crates/http/src/connection.rs",
            "crates/http/src/exchange.rs",
            "crates/http/src/request.rs",
            "crates/launch/src/readiness/page/site.rs",
        ],
    ),
    other("perf_data", 3, &["crates/import/src"]),
    other("prefetch_plan", 2, &["crates/profile/src/plan"]),
    elf("prove", 2, &["crates/prove/src/checks", "crates/prove/src/image", "crates/prove/src/tables"]),
    elf("prove_search", 2, &["crates/prove/src/checks", "crates/prove/src/edit.rs", "crates/prove/src/image"]),
    other("replaced_file", 1, &["crates/packages/src/replacement/record.rs"]),
    other("resolve", 3, &["crates/loader/src/closure.rs", "crates/loader/src/glibc", "crates/loader/src/musl.rs"]),
    other("running_system", 1, &["crates/host/src"]),
    other("saved_page_cache", 1, &["crates/pagecache/src/saved/decode.rs"]),
    elf("search", 2, &["crates/rewrite/src/search"]),
    other("start_image", 4, &["crates/image/src/index", "crates/image/src/read", "crates/image/src/verify"]),
    other("symbol_name", 2, &["crates/elf/src/readable_name.rs"]),
    other(
        "trace_file",
        3,
        &["crates/tracefile/src/open.rs", "crates/tracefile/src/query.rs", "crates/tracefile/src/read"],
    ),
    other("tracefs_line", 1, &["crates/trace/src/page_fills/line.rs", "crates/trace/src/start/disk/tracepoints.rs"]),
    elf("unpack", 2, &["crates/rewrite/src/note", "crates/rewrite/src/undo", "crates/rewrite/src/unpack.rs"]),
    other("zip_archive", 3, &["crates/archive/src/zip"]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_is_in_the_table_with_parsers_that_exist() {
        let listed: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        let mut there: Vec<String> = std::fs::read_dir(workspace().join("fuzz/fuzz_targets"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        there.sort();
        assert_eq!(listed, there);
        for target in TARGETS {
            assert!(target.share > 0, "{}", target.name);
            for parser in target.parsers {
                assert!(workspace().join(parser).exists(), "{}: {parser}", target.name);
            }
        }
    }
}
