//! Whose relocated words they are: by name where there are names, and the same by shape where there are none.
//!
//! The libraries are C++ with single, multiple and virtual inheritance, built with and without run-time type information.

use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_elf::ElfFile;
use coldstart_inspect::{Object, Owner, ToldBy, owners, shape_accuracy};

const SOURCE: &str = r#"
#define A(n) struct A##n { virtual ~A##n(); virtual int first(int); virtual int second() = 0; long value; }; \
    A##n::~A##n() {} int A##n::first(int x) { return x + n; } \
    struct B##n { virtual ~B##n() {} virtual long other(); long more; }; long B##n::other() { return more + n; } \
    struct C##n : A##n, B##n { int second() override; long other() override; }; \
    int C##n::second() { return int(value) * n; } long C##n::other() { return value; } \
    struct D##n : virtual A##n { int second() override; }; int D##n::second() { return n; } \
    A##n *make##n(bool which) { if (which) return new C##n; return new D##n; }
A(1) A(2) A(3) A(4) A(5) A(6) A(7) A(8) A(9) A(10) A(11) A(12)
extern const char *const names[64] = { "one", "two", "three" };
static int helper(int x) { return x; }
int (*table[])(int) = { helper, helper, helper };
"#;

fn build(directory: &Path, options: &[&str]) -> PathBuf {
    let (source, library) = (directory.join("classes.cpp"), directory.join("libclasses.so"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut command = Command::new("g++");
    command.args(["-O2", "-shared", "-fPIC", "-o"]).args([&library, &source]).args(options);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    library
}

#[test]
fn shapes_tell_what_names_tell() {
    for options in [&[][..], &["-fno-rtti"], &["-Wl,-Bsymbolic"], &["-Wl,-z,norelro"], &["-Wl,-z,pack-relative-relocs"]]
    {
        let directory = tempfile::tempdir().unwrap();
        let bytes = std::fs::read(build(directory.path(), options)).unwrap();
        let object = Object::read(ElfFile::parse(&bytes).unwrap(), None).unwrap();
        let accuracy = shape_accuracy(&object);
        assert!(accuracy.both > 100, "{options:?}: {accuracy:?}");
        // VTTs, of virtual inheritance, hold pointers into vtables and have no shape of their own.
        let vtts = accuracy.names_only * 10 <= accuracy.both;
        assert!(vtts && accuracy.shapes_only == 0, "{options:?}: {accuracy:?}");
    }
}

#[test]
fn a_stripped_library_says_what_was_inferred_and_what_could_not_be_told() {
    let directory = tempfile::tempdir().unwrap();
    // Hidden, so that no dynamic symbol names a vtable.
    let library = build(directory.path(), &["-s", "-fvisibility=hidden"]);
    let bytes = std::fs::read(library).unwrap();
    let object = Object::read(ElfFile::parse(&bytes).unwrap(), None).unwrap();
    let owners = owners(&object);
    let told = |owner, by| {
        owners
            .counts
            .iter()
            .filter(|count| count.owner == owner && count.told_by == by)
            .map(|count| count.count)
            .sum::<u64>()
    };
    assert!(told(Owner::Vtable, ToldBy::Shape) > 100, "{:?}", owners.counts);
    assert!(told(Owner::Typeinfo, ToldBy::Shape) > 50, "{:?}", owners.counts);
    assert_eq!(told(Owner::Vtable, ToldBy::Name), 0);
    // The three names of `names` and the three functions of `table`, at least.
    assert!(owners.untold.to_read_only >= 3 && owners.untold.to_code >= 3, "{:?}", owners.untold);
    let all: u64 = owners.counts.iter().map(|count| count.count).sum();
    assert_eq!(all, object.slots.len() as u64, "every word counts once");
    assert_eq!(owners.untold.count, told(Owner::Untold, ToldBy::Nothing));
}
