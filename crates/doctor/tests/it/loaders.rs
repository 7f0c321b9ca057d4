//! Loaders that we do not have: glibc and musl of several versions.

use std::fs;
use std::process::Command;

use coldstart_doctor::{Ability, Status};

use crate::common::Machine;

/// A program for `machine` that names this loader; whether there is one does not matter.
fn program_naming(machine: &Machine, loader: &str) {
    let path = machine.path("/usr/bin/env");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let link = format!("-Wl,--dynamic-linker={loader}");
    let flags = ["-x", "c", "-nostdlib", "-fPIE", "-pie", "-Wl,-e,0", "/dev/null", "-o"];
    assert!(Command::new("gcc").arg(link).args(flags).arg(path).status().unwrap().success());
}

#[test]
fn musl_is_known_by_its_strings() {
    let machine = Machine::new();
    program_naming(&machine, "/lib/ld-musl-x86_64.so.1");
    for (version, status) in [("1.2.3", Status::No), ("1.2.4", Status::Yes), ("1.2.5", Status::Yes)] {
        let strings = format!("\0musl libc (x86_64)\nVersion %s\n\0{version}\0");
        machine.write("/lib/ld-musl-x86_64.so.1", strings);
        let judged = machine.judged();
        assert_eq!(judged.status("loader-relr"), status, "{:?}", judged.check("loader-relr"));
        assert!(judged.check("loader-relr").now.starts_with(&format!("musl {version}")));
        assert_eq!(judged.of(Ability::Pack), if status == Status::Yes { Status::Yes } else { Status::Partly });
        assert_eq!(judged.status("loader-cache"), Status::Yes);
        assert_eq!((judged.of(Ability::Bind), judged.of(Ability::BindAudit)), (Status::Yes, Status::No));
    }
}

#[test]
fn glibc_is_asked_for_the_version_it_defines() {
    let machine = Machine::new();
    program_naming(&machine, "/lib64/ld-linux-x86-64.so.2");
    let release = |number: u32| format!("\0stable release version 2.{number}.\n\0/etc/ld.so.cache\0/lib64/\0\0");
    machine.write("/lib64/ld-linux-x86-64.so.2", release(31));
    let judged = machine.judged();
    assert_eq!(judged.check("loader-relr").now, "glibc 2.31 does not apply DT_RELR");
    assert_eq!(judged.of(Ability::Pack), Status::Partly);
    assert_eq!(judged.status("loader-cache"), Status::No, "there is none");
    assert_eq!((judged.of(Ability::Resolve), judged.of(Ability::Bind)), (Status::Partly, Status::Partly));
    // As distributions do that carry it back: the version says less than what the library defines.
    let script = machine.path("/versions");
    fs::write(&script, "GLIBC_2.2.5 { global: *; }; GLIBC_ABI_DT_RELR { };").unwrap();
    let library = machine.path("/lib64/libc.so.6");
    let flags = ["-shared", "-nostdlib", "-x", "c", "/dev/null", "-o"];
    let version_script = format!("-Wl,--version-script={}", script.display());
    assert!(Command::new("gcc").arg(version_script).args(flags).arg(library).status().unwrap().success());
    assert_eq!(machine.judged().check("loader-relr").now, "glibc 2.31 applies DT_RELR");
    fs::remove_file(machine.path("/lib64/libc.so.6")).unwrap();
    machine.write("/lib64/ld-linux-x86-64.so.2", release(36));
    let judged = machine.judged();
    assert_eq!(judged.status("loader-relr"), Status::Yes);
    assert_eq!((judged.of(Ability::Resolve), judged.of(Ability::Bind)), (Status::Yes, Status::Yes));
    assert_eq!(judged.of(Ability::BindAudit), Status::Yes);
    machine.write("/lib64/ld-linux-x86-64.so.2", "a loader of nobody");
    assert_eq!(machine.judged().of(Ability::Bind), Status::Unknown);
}
