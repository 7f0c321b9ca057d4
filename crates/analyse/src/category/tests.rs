use super::*;
use FileCategory::{Data, Memory, Metadata, Profile, Program, System};

fn places(program: &str) -> Places {
    let variable = |name: &str| (name == "HOME").then(|| OsString::from("/home/u"));
    let mut places = Places::new(Path::new(program), &variable);
    let mounts = [("/", false), ("/dev", true), ("/run", true), ("/run/media/u/stick", false), ("/proc", true)];
    places.mounts = mounts.map(|(path, in_memory)| (PathBuf::from(path), in_memory)).to_vec();
    places
}

fn check(program: &str, expected: &[(&str, FileCategory)]) {
    let places = places(program);
    for (path, category) in expected {
        assert_eq!(
            places.category(Path::new(path), false),
            *category,
            "{path} of {program}: {:?}",
            places.program_directories
        );
    }
}

#[test]
fn a_program_in_a_directory_of_its_package() {
    check(
        "/usr/lib/libreoffice/program/soffice.bin",
        &[
            ("/usr/lib/libreoffice/program/libmergedlo.so", Program),
            ("/usr/lib/libreoffice/share/config/main.xcd", Program),
            ("/usr/share/libreoffice/x", Program),
            ("/usr/lib/x86_64-linux-gnu/libc.so.6", System),
            ("/usr/lib/libreoffice-other/x", System),
            ("/etc/ld.so.cache", System),
            ("/home/u/.config/libreoffice/4/user/registrymodifications.xcu", Profile),
            ("/home/u/letter.odt", Data),
            ("/home/u", Data),
        ],
    );
    check(
        "/usr/lib/x86_64-linux-gnu/opera/opera",
        &[("/usr/lib/x86_64-linux-gnu/opera/x.pak", Program), ("/usr/lib/x86_64-linux-gnu/libm.so.6", System)],
    );
    check("/opt/google/chrome/chrome", &[("/opt/google/chrome/x", Program), ("/opt/other/x", System)]);
}

#[test]
fn a_program_among_others() {
    check(
        "/usr/bin/python3.11",
        &[
            ("/usr/bin/python3.11", Program),
            ("/usr/bin/perl", System),
            ("/usr/lib/python3.11/os.py", Program),
            ("/usr/lib/python3/dist-packages/numpy/__init__.py", Program),
            ("/usr/lib/locale/locale-archive", System),
            ("/usr/share/python", Program),
        ],
    );
    check("/usr/local/bin/gimp-2.10", &[("/usr/share/gimp/2.0/x", Program), ("/usr/local/lib/libx.so", System)]);
    check("/bin/sh", &[("/bin/ls", System), ("/usr/share/sh/x", Program)]);
    check("/usr/games/chess", &[("/usr/games/go", System)]);
    check("/usr/lib/git-core", &[("/usr/lib/libz.so", System)]);
    check("/usr/bin/lib", &[("/usr/lib/lib/x", System)]);
}

#[test]
fn a_program_in_a_prefix_of_its_own() {
    check(
        "/nix/store/abc-hello-2.12/bin/hello",
        &[("/nix/store/abc-hello-2.12/share/x", Program), ("/nix/store/def-glibc-2.38/lib/libc.so.6", System)],
    );
    check(
        "/gnu/store/abc-emacs/libexec/x/emacs",
        &[("/gnu/store/abc-emacs/share/y", Program), ("/gnu/store/q/y", System)],
    );
    check("/opt/tool/bin/tool", &[("/opt/tool/share/x", Program)]);
    check(
        "/srv/spack/gcc/hdf5-1.14/bin/h5ls",
        &[("/srv/spack/gcc/hdf5-1.14/lib/libhdf5.so", Program), ("/srv/x", Data)],
    );
    check(
        "/home/u/.pyenv/versions/3.12/bin/python3",
        &[("/home/u/.pyenv/versions/3.12/lib/os.py", Program), ("/home/u/.pyenv/x", Profile)],
    );
    check("/home/u/tree/target/debug/x", &[("/home/u/tree/target/debug/y", Program), ("/home/u/tree/z", Data)]);
}

#[test]
fn directories_of_all_are_nobody_s() {
    check("/home/u/x", &[("/home/u/x", Program), ("/home/u/y", Data), ("/home/u/.y", Profile)]);
    check("/home/u/bin/x", &[("/home/u/bin/y", Data), ("/home/u/z", Data)]);
    check("/home/u/.local/bin/x", &[("/home/u/.local/bin/y", Profile), ("/home/u/.local/share/y", Profile)]);
    check("/tmp/x", &[("/tmp/x", Program), ("/tmp/y", Data)]);
    check("/x", &[("/y", Data), ("/usr/lib/libc.so.6", System)]);
    check("/home/x", &[("/home/u/y", Data)]);
    check("", &[("/y", Data)]);
}

#[test]
fn what_is_in_memory_is_told_by_the_innermost_mount() {
    check(
        "/usr/bin/x",
        &[
            (coldstart_host::machine::PROCESSORS, Memory),
            ("/sys/devices", Memory),
            ("/dev/shm/x", Memory),
            ("/run/user/1000/x", Memory),
            ("/run/media/u/stick/letter.odt", Data),
            ("/tmp/x", Data),
            ("/var/tmp/x", Data),
            ("/var/cache/fontconfig/x", System),
            ("/srv/x", Data),
            ("/mnt/x", Data),
            ("/root/x", Data),
            ("(unnamed inode 12 of 254:0)", System),
        ],
    );
    assert_eq!(places("/x").category(Path::new("/dev/vda"), true), Metadata);
}

#[test]
fn the_environment_may_put_the_profile_elsewhere() {
    let variable = |name: &str| {
        let value = match name {
            "HOME" => "/home/u",
            "XDG_CONFIG_HOME" => "/srv/settings",
            "XDG_CACHE_HOME" => "relative",
            "XDG_DATA_HOME" => "/home",
            _ => return None,
        };
        Some(OsString::from(value))
    };
    let places = Places::new(Path::new("/usr/bin/x"), &variable);
    assert_eq!(places.category(Path::new("/srv/settings/x"), false), Profile);
    assert_eq!(places.category(Path::new("/home/u/x"), false), Data, "a directory above the home is none for settings");
    assert_eq!(
        places.category(Path::new(coldstart_host::process::own::MAPS), false),
        Memory,
        "where mounts are not known"
    );
}

#[test]
fn mounts_are_read() {
    let text =
        b"22 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n36 22 0:31 / /run rw shared:9 master:2 - tmpfs tmpfs rw\n\
        37 22 8:1 / /mnt/my\\040disk\\ rw - vfat /dev/sda1 rw\nbroken\n";
    let mounts: Vec<_> = which_are_in_memory(&Mounts::parse(text));
    let expected = [("/", false), ("/run", true), ("/mnt/my disk\\", false)];
    assert_eq!(mounts, expected.map(|(path, in_memory)| (PathBuf::from(path), in_memory)));
}
