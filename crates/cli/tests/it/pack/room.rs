//! Where room comes from when there seems to be none: a hole in the file, an entry that is not needed.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use super::scene::{POINTERS, bytes, compile, done, json, library_by, said, scratch, succeed};

/// Bytes on disk. The file is flushed first: some file systems choose blocks only then.
fn on_disk(path: &Path) -> u64 {
    let file = std::fs::File::open(path).unwrap();
    file.sync_all().unwrap();
    file.metadata().unwrap().blocks() * 512
}

/// Holds that a library can be loaded and that its pointers lead where they should.
fn loads(directory: &Path, library: &str) {
    let source = "#include <dlfcn.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
         int main(int count, char **arguments) {\n\
         void *library = dlopen(arguments[count - 1], RTLD_NOW);\n\
         if (!library) { fprintf(stderr, \"%s\\n\", dlerror()); return 1; }\n\
         int *(*at)(int) = (int *(*)(int))dlsym(library, \"at\");\n\
         if (!at(-1)) return 2;\n\
         for (int place = 0; place < POINTERS; place++) if (at(place) != at(0) + place) return 3;\n\
         return 0; }\n"
        .replace("POINTERS", &POINTERS.to_string());
    let loader = compile(&directory.join("loader"), &source, &[]);
    succeed(Command::new(loader).arg(directory.join(library)));
}

/// Both segments of such a file would have to begin in the same place of a page of 2 MB.
#[test]
fn what_cannot_leave_the_file_becomes_a_hole() {
    const LARGE_PAGES: &str = "-Wl,-z,max-page-size=0x200000,-z,noseparate-code";
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let original = library_by(&at("a.so"), POINTERS, &[LARGE_PAGES]);
    // The linker leaves a hole of its own where it aligns; filled, it is no matter here.
    let before = bytes(&original);
    std::fs::remove_file(&original).unwrap();
    std::fs::write(&original, &before).unwrap();

    let text = done(directory.path(), &["pack", "--dry-run", "a.so"]).replace("\n  ", " ");
    assert!(
        text.starts_with("nothing to pack in `a.so`: ")
            && text.contains("could be saved but not removed from the file"),
        "{text}"
    );
    assert!(text.contains("`lower-alignment` lowers it, `--sparse` makes a hole)"), "{text}");
    let (code, report) = json(directory.path(), &["pack", "--dry-run", "a.so", "--json"]);
    let nothing = &report["files"][0]["nothing"];
    assert_eq!((code, &nothing["reason"], &nothing["stuck"]), (0, &"no-gain".into(), &"alignment".into()), "{report}");
    let freed = nothing["table_bytes"].as_u64().unwrap();
    assert!(freed > 20 * POINTERS as u64, "{report}");

    let text = done(directory.path(), &["pack", "--sparse", "a.so", "-o", "b.so"]);
    assert!(text.contains("a hole in the file, which takes no disk space"), "{text}");
    // Whole blocks only, at either end; and the note comes on top.
    let saved = on_disk(&original).checked_sub(on_disk(&at("b.so"))).unwrap();
    assert!(saved + 3 * 4096 > freed && saved < freed + 3 * 4096, "{saved} of {freed}");
    loads(directory.path(), "b.so");
    done(directory.path(), &["verify", "b.so", "--against", "a.so"]);
    done(directory.path(), &["unpack", "b.so", "-o", "c.so"]);
    assert!(bytes(&at("c.so")) == before);
    let words = ["pack", "--passes", "relr,lower-alignment", "a.so", "-o", "low.so"];
    let text = done(directory.path(), &words).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("segments are aligned to 4 096 bytes instead of 2 097 152"), "{text}");
    let lost = before.len() as u64 - bytes(&at("low.so")).len() as u64;
    assert!(lost + 3 * 4096 > freed, "{lost} of {freed}");
    loads(directory.path(), "low.so");
    done(directory.path(), &["verify", "low.so", "--against", "a.so"]);
    done(directory.path(), &["verify", "low.so"]);
    done(directory.path(), &["unpack", "low.so", "-o", "c.so"]);
    assert!(bytes(&at("c.so")) == before);
    // Whoever copies the hole as zeros has the same file.
    std::fs::write(at("filled.so"), bytes(&at("b.so"))).unwrap();
    assert!(on_disk(&at("filled.so")) > on_disk(&at("b.so")) + freed / 2);
    loads(directory.path(), "filled.so");
    done(directory.path(), &["unpack", "--in-place", "filled.so"]);
    assert!(bytes(&at("filled.so")) == before);
}

/// What follows moves by 64 KiB at a time; the rest of the freed bytes need no disk space either.
#[test]
fn what_is_left_behind_a_segment_that_was_cut_becomes_a_hole() {
    let directory = scratch();
    let at = |name: &str| directory.path().join(name);
    let original = library_by(&at("a.so"), POINTERS, &["-Wl,-z,max-page-size=0x10000"]);
    let text = done(directory.path(), &["pack", "--sparse", "a.so", "-o", "b.so"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("a segment ends") && text.contains("a hole of"), "{text}");
    let (_, report) = json(directory.path(), &["pack", "--sparse", "--dry-run", "a.so", "--json"]);
    let hole = report["files"][0]["summary"]["hole_bytes"].as_u64().unwrap();
    assert!(hole >= 4096 && hole % 4096 == 0, "{report}");
    assert!(bytes(&at("b.so")).len() as u64 >= on_disk(&at("b.so")) + hole - 4096);
    loads(directory.path(), "b.so");
    done(directory.path(), &["verify", "b.so", "--against", "a.so"]);
    done(directory.path(), &["unpack", "b.so", "-o", "c.so"]);
    assert!(bytes(&at("c.so")) == bytes(&original));
}

/// lld leaves no entry to spare, and only bound lazily does the file have no flags that stand twice.
#[cfg(target_arch = "x86_64")]
#[test]
fn a_lazily_bound_library_of_lld_gives_up_what_only_starts_profiling() {
    let directory = scratch();
    let original = library_by(&directory.path().join("a.so"), POINTERS, &["-fuse-ld=lld", "-Wl,-z,lazy"]);
    let before = bytes(&original);
    let text = done(directory.path(), &["pack", "a.so", "-o", "b.so"]);
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let expected = "replace the count of relative relocations, an empty function and a function that only starts profiling in the \
                    dynamic table; ";
    assert!(text.contains(expected), "{text}");
    let (_, report) = json(directory.path(), &["pack", "--dry-run", "a.so", "--json"]);
    let slots = serde_json::json!(["relative-count", "empty-function", "profiling-only"]);
    assert_eq!(report["files"][0]["summary"]["slots"], slots, "{report}");
    // What libraries that hook calls read is still there.
    let table = Command::new("readelf").arg("-dW").arg(directory.path().join("b.so")).output().unwrap();
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("(SYMENT)") && table.contains("(RELR)") && !table.contains("(INIT)"), "{table}");
    loads(directory.path(), "b.so");
    done(directory.path(), &["unpack", "--in-place", "b.so"]);
    assert!(bytes(&directory.path().join("b.so")) == before);
}

/// An initialiser that does something is no room, and then only the user can say what goes.
#[test]
fn without_an_entry_to_spare_the_user_is_asked() {
    let directory = scratch();
    // Never loaded: the function was not made to be called first.
    let options = ["-fuse-ld=lld", "-Wl,-z,lazy", "-Wl,-init,at"];
    library_by(&directory.path().join("a.so"), POINTERS, &options);
    let (code, stdout, stderr) = said(directory.path(), &["pack", "a.so", "-o", "b.so"]);
    assert_eq!((code, stdout.as_str()), (1, ""), "{stderr}");
    assert!(stderr.contains("--drop-syment"), "{stderr}");
    let (_, report) = json(directory.path(), &["pack", "a.so", "-o", "b.so", "--json"]);
    assert_eq!(report["files"][0]["refusal"]["code"], "no-dynamic-slot", "{report}");
    let text = done(directory.path(), &["pack", "a.so", "-o", "b.so", "--drop-syment"]);
    assert!(
        text.split_whitespace().collect::<Vec<_>>().join(" ").contains(" and DT_SYMENT in the dynamic table; "),
        "{text}"
    );
}
