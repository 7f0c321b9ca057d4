//! Any bytes as each of the files in which the kernel tells about the running system, and any bytes as the names in them, which users
//! and programs choose for themselves.

#![no_main]

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use coldstart_host::block_device::{BlockDevice, DeviceNumber, name_in};
use coldstart_host::kernel::BootId;
use coldstart_host::machine::{Memory, ProcessorTicks, has_hypervisor, is_intel, load_average, processor_model};
use coldstart_host::mounts::Mounts;
use coldstart_host::process::{
    AT_ENTRY, AuxiliaryVector, Mapping, Stat, Status, parse_arguments, parse_maps, parse_smaps,
};
use coldstart_host::script_line::ScriptLine;
use coldstart_host::text::{chosen, count_of_ranges, without_octal_escapes};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let lines = bytes.split(|&byte| byte == b'\n').count();
    mounts(bytes, lines);
    process(bytes, lines);

    let _ = (Memory::parse(bytes), load_average(bytes), ProcessorTicks::parse(bytes));
    let _ = (processor_model(bytes), has_hypervisor(bytes), is_intel(bytes));
    if let Some(boot) = BootId::parse(bytes) {
        assert_eq!(BootId::parse(boot.to_string().as_bytes()), Some(boot));
    }
    if let Some(number) = DeviceNumber::parse(bytes) {
        assert_eq!(DeviceNumber::parse(number.to_string().as_bytes()), Some(number));
        let _ = (number.to_kernel(), BlockDevice::numbered(number).directory());
    }
    let _ = name_in(bytes);
    if let Some(line) = ScriptLine::parse(bytes) {
        assert!(bytes.starts_with(b"#!") && !line.interpreter.as_os_str().is_empty());
    }
    let text = String::from_utf8_lossy(bytes);
    assert!(text.contains(chosen(&text)));
    let _ = count_of_ranges(&text);
});

fn mounts(bytes: &[u8], lines: usize) {
    let mounts = Mounts::parse(bytes);
    assert!(mounts.all().len() <= lines);
    for mount in mounts.all().iter().take(100) {
        let _ = (mount.is_read_only(), mount.all_options().count(), mounts.of(&mount.place), mounts.numbered(mount.id));
    }

    let escaped: Vec<u8> = bytes.iter().flat_map(|byte| mangled(*byte)).collect();
    assert_eq!(without_octal_escapes(&escaped), bytes);
    let place = [b"/", bytes].concat();
    let line = [b"24 1 8:1 / /", &*escaped, b" rw shared:1 - ext4 ", &*escaped, b" rw,quota\n"].concat();
    let mounts = Mounts::parse(&line);
    let [mount] = mounts.all() else { panic!("{line:?}: {mounts:?}") };
    assert_eq!((mount.place.as_os_str().as_bytes(), mount.source.as_os_str().as_bytes()), (&*place, bytes));
    assert!(mount.has_option("quota"));
    assert_eq!(mounts.of(Path::new(&mount.place)), Some(mount));
}

fn process(bytes: &[u8], lines: usize) {
    let rest = b") S 7 8 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 1 1\n";
    let _ = Stat::parse(bytes).map(|stat| stat.has_ended());
    let stat = Stat::parse(&[b"42 (", bytes, rest].concat()).unwrap();
    assert_eq!((stat.state, stat.parent, stat.group, stat.started), (b'S', 7, 8, 123_456), "a name says nothing");

    let status = Status::new(bytes.to_vec());
    let _ = (status.process(), status.tracer(), status.effective_user(), status.has_signal("SigIgn", 17));
    let _ = (status.numbers_in_namespaces().count(), status.has_no_new_privileges(), status.seccomp_filters());

    let maps = parse_maps(bytes);
    assert!(maps.len() <= lines);
    let smaps = parse_smaps(bytes);
    assert!(smaps.iter().map(|(mapping, _)| mapping).eq(&maps));
    if !bytes.windows(4).any(|window| window == b"\\012") && !bytes.contains(&b'\n') {
        let mapping = Mapping::parse(&[b"7f00-7f10 r-xp 00001000 fe:01 77      /", bytes].concat()).unwrap();
        assert_eq!(mapping.path.as_os_str().as_bytes(), [b"/", bytes].concat());
    }

    for is_64_bit in [false, true] {
        let _ = AuxiliaryVector::new(bytes.to_vec(), is_64_bit).get(AT_ENTRY);
    }
    assert!(parse_arguments(bytes).len() <= bytes.len());
}

/// As `mangle` of the kernel writes a byte of a name (`fs/proc_namespace.c`).
fn mangled(byte: u8) -> Vec<u8> {
    match byte {
        b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{byte:03o}").into_bytes(),
        other => vec![other],
    }
}
