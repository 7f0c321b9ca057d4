use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Output;

use coldstart_testing::{NOBODY, as_unprivileged, copy_this_program, scratch, skip, succeed};
use tempfile::TempDir;

use super::*;

/// A view of these overlays; `None` where no view is possible.
fn view(overlays: &[(&Path, &Path)]) -> Option<Arc<PrivateMounts>> {
    let overlays: Vec<Overlay> = overlays
        .iter()
        .map(|(original, replacement)| Overlay { original: original.into(), replacement: replacement.into() })
        .collect();
    match PrivateMounts::create(&overlays) {
        Ok(view) => Some(Arc::new(view)),
        Err(PrivateMountsError::Impossible { obstacle, .. }) => {
            skip(&obstacle.to_string());
            None
        }
        Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    }
}

fn inside(view: &Arc<PrivateMounts>, words: &[&OsStr], directory: &Path) -> Output {
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).current_dir(directory);
    view.enter_with(&mut command);
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn two_files() -> (TempDir, PathBuf, PathBuf) {
    let directory = scratch();
    let (original, replacement) = (directory.path().join("original"), directory.path().join("replacement"));
    fs::write(&original, "original").unwrap();
    fs::write(&replacement, "replacement").unwrap();
    (directory, original, replacement)
}

/// Mounts of this process below a directory.
fn mounts_below(directory: &Path) -> usize {
    let table = fs::read_to_string(coldstart_host::mounts::TABLE).unwrap();
    table.lines().filter(|line| line.contains(directory.to_str().unwrap())).count()
}

#[test]
fn only_programs_inside_see_the_replacement() {
    let (directory, original, replacement) = two_files();
    let link = directory.path().join("a link");
    symlink("original", &link).unwrap();
    let Some(view) = view(&[(&link, &replacement)]) else { return };
    let here = directory.path();
    for name in ["original", "a link", original.to_str().unwrap(), link.to_str().unwrap(), "./original"] {
        let read = inside(&view, &["cat".as_ref(), name.as_ref()], here);
        assert_eq!(text(&read), "replacement", "{name}");
    }
    assert_eq!(fs::read_to_string(&original).unwrap(), "original");
    assert_eq!(mounts_below(here), 0);
    let real = original.canonicalize().unwrap();
    assert_eq!(view.outside(&real), replacement.canonicalize().unwrap());
    assert_eq!(view.outside(Path::new("/etc/passwd")), Path::new("/etc/passwd"));
    // Its directory is as usable as before.
    fs::remove_file(&original).unwrap();
    assert_eq!(view.uncovered(), [real]);
}

#[test]
fn who_runs_inside_keeps_its_user_and_group_and_directory() {
    let directory = scratch();
    let here = directory.path().canonicalize().unwrap();
    let Some(view) = view(&[]) else { return };
    let script = "id -u; id -g; pwd -P; readlink /proc/self/cwd; umask";
    let said = text(&inside(&view, &["sh".as_ref(), "-c".as_ref(), script.as_ref()], &here));
    let plain = Command::new("sh").args(["-c", script]).current_dir(&here).output().unwrap();
    assert_eq!(said, text(&plain));
    assert_eq!(said.lines().filter(|line| Path::new(line) == here).count(), 2, "{said}");
}

#[test]
fn a_directory_that_has_no_path_any_more_is_kept() {
    let directory = scratch();
    let gone = directory.path().join("gone");
    fs::create_dir(&gone).unwrap();
    let Some(view) = view(&[]) else { return };
    // The shell removes its own directory, and starts a program that enters the view from there.
    let mut command = Command::new("sh");
    command.args(["-c", "echo a > ../kept; cat ../kept"]).current_dir(&gone);
    let removed = gone.clone();
    let hook = move || fs::remove_dir(&removed);
    // SAFETY: this process has a test's threads, none of which holds the allocator's lock for ever: glibc allows allocation in a
    // forked child.
    unsafe { std::os::unix::process::CommandExt::pre_exec(&mut command, hook) };
    view.enter_with(&mut command);
    let output = command.output().unwrap();
    // `..` of a removed directory still leads to its parent.
    assert_eq!(String::from_utf8_lossy(&output.stdout), "a\n", "{output:?}");
}

#[test]
fn hundreds_of_files_with_any_name_are_covered() {
    let directory = scratch();
    let at = |name: OsString| directory.path().join(name);
    let mut files = Vec::new();
    for number in 0..300 {
        let name = |kind: &str| {
            let mut name = OsString::from(format!("{kind} {number}\n\"'"));
            name.push(OsStr::from_bytes(b"\xff\xfe"));
            at(name)
        };
        let (original, replacement) = (name("o"), name("r"));
        fs::write(&original, "original").unwrap();
        fs::write(&replacement, format!("{number}.")).unwrap();
        files.push((original, replacement));
    }
    let pairs: Vec<(&Path, &Path)> = files.iter().map(|(a, b)| (a.as_path(), b.as_path())).collect();
    let Some(view) = view(&pairs) else { return };
    let mut words = vec![OsStr::new("cat")];
    words.extend(files.iter().map(|(original, _)| original.as_os_str()));
    let expected: String = (0..300).map(|number| format!("{number}.")).collect();
    assert_eq!(text(&inside(&view, &words, Path::new("/"))), expected);
    assert_eq!((view.overlays().len(), view.uncovered().len()), (300, 0));
}

#[test]
fn the_program_and_its_loader_and_libc_can_be_replaced() {
    let directory = scratch();
    let listed = text(&Command::new("ldd").arg("/bin/cat").output().unwrap());
    let path_of = |line: &str| line.split_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from);
    let mut files: Vec<PathBuf> = listed.lines().filter_map(path_of).collect();
    files.push("/bin/cat".into());
    let mut pairs = Vec::new();
    for (number, file) in files.iter().enumerate() {
        let copy = directory.path().join(number.to_string());
        fs::copy(file, &copy).unwrap();
        pairs.push((file.clone(), copy));
    }
    assert!(pairs.len() >= 3, "{listed}");
    let pairs: Vec<(&Path, &Path)> = pairs.iter().map(|(a, b)| (a.as_path(), b.as_path())).collect();
    let Some(view) = view(&pairs) else { return };
    let maps =
        text(&inside(&view, &["/bin/cat".as_ref(), coldstart_host::process::own::MAPS.as_ref()], Path::new("/")));
    for (file, copy) in &pairs {
        let name = file.canonicalize().unwrap();
        let inode = fs::metadata(copy).unwrap().ino();
        let lines: Vec<&str> = maps.lines().filter(|line| line.ends_with(name.to_str().unwrap())).collect();
        assert!(!lines.is_empty(), "{name:?} in {maps}");
        assert!(lines.iter().all(|line| line.contains(&format!(" {inode} "))), "{lines:?}");
    }
}

#[test]
fn what_cannot_work_is_refused_by_name() {
    let (directory, original, replacement) = two_files();
    let at = |name: &str| directory.path().join(name);
    let create = |pairs: &[(&Path, &Path)]| {
        let overlays: Vec<Overlay> = pairs
            .iter()
            .map(|(original, replacement)| Overlay { original: original.into(), replacement: replacement.into() })
            .collect();
        PrivateMounts::create(&overlays).unwrap_err()
    };
    let missing = create(&[(&at("missing"), &replacement)]);
    assert!(missing.to_string().contains("cannot use the original") && missing.to_string().contains("missing"));
    let kind = create(&[(&original, directory.path())]);
    assert!(kind.to_string().ends_with("it is a directory, not a regular file"), "{kind}");
    assert!(matches!(
        create(&[(&original, &replacement), (&original, &replacement)]),
        PrivateMountsError::Twice { .. }
    ));
    fs::write(at("third"), "").unwrap();
    assert!(matches!(
        create(&[(&original, &replacement), (&replacement, &at("third"))]),
        PrivateMountsError::Chained { .. }
    ));
}

#[test]
fn a_replaced_original_is_told() {
    let (directory, original, replacement) = two_files();
    let Some(view) = view(&[(&original, &replacement)]) else { return };
    assert_eq!(view.uncovered(), Vec::<PathBuf>::new());
    let new = directory.path().join("new");
    fs::write(&new, "upgraded").unwrap();
    fs::rename(&new, &original).unwrap();
    assert_eq!(view.uncovered(), [original.canonicalize().unwrap()]);
    assert_eq!(text(&inside(&view, &["cat".as_ref(), original.as_os_str()], Path::new("/"))), "upgraded");
}

/// The program of [`without_root`]: makes a view of two files named by variables, and reads the first inside.
#[test]
#[ignore = "started by another test"]
fn unprivileged_part() {
    let [original, replacement] =
        ["ORIGINAL", "REPLACEMENT"].map(|name| PathBuf::from(std::env::var_os(name).unwrap()));
    let view = match PrivateMounts::create(&[Overlay { original: original.clone(), replacement }]) {
        Ok(view) => Arc::new(view),
        Err(error) => {
            println!("<{error}>");
            return;
        }
    };
    assert_eq!((view.method(), view.uncovered()), (Method::UserNamespace, Vec::new()));
    let script = "cat original; echo; id -u; id -g; unshare --user --map-root-user id -u";
    let said = text(&inside(&view, &["sh".as_ref(), "-c".as_ref(), script.as_ref()], original.parent().unwrap()));
    assert_eq!(said, format!("replacement\n{NOBODY}\n{NOBODY}\n0\n"), "a sandbox inside works, too");
    println!("<done>");
}

#[test]
fn without_root() {
    if !coldstart_testing::is_root() {
        return;
    }
    let directory = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::write(at("original"), "original").unwrap();
    fs::write(at("replacement"), "replacement").unwrap();
    copy_this_program(&at("tests"));
    let mut command = as_unprivileged(at("tests"));
    command.args(["--exact", "private_mounts::tests::unprivileged_part", "--ignored", "--nocapture"]);
    command.env("ORIGINAL", at("original")).env("REPLACEMENT", at("replacement"));
    let said = succeed(&mut command);
    if !said.contains("<done>") {
        skip(&said);
    }
}

#[test]
fn obstacles_are_told_by_the_settings() {
    use coldstart_host::kernel::settings;
    use settings::{APPARMOR_RESTRICT_USERNS, MAX_MNT_NAMESPACES, MAX_USER_NAMESPACES, UNPRIVILEGED_USERNS_CLONE};

    let of = |method, step, number, name: &'static str, value, is_chroot| {
        let setting = move |asked: &str| (asked == name).then_some(value);
        Obstacle::of(method, step, Some(number), &setting, is_chroot)
    };
    let user = Method::UserNamespace;
    for (told, expected) in [
        (of(user, Step::Users, libc::ENOSPC, MAX_USER_NAMESPACES, 0, false), Obstacle::NoUserNamespaces),
        (of(user, Step::Users, libc::ENOSPC, MAX_USER_NAMESPACES, 9, false), Obstacle::TooMany),
        (of(Method::Root, Step::Mounts, libc::ENOSPC, MAX_MNT_NAMESPACES, 0, false), Obstacle::NoMountNamespaces),
        (of(user, Step::Users, libc::EPERM, UNPRIVILEGED_USERNS_CLONE, 0, false), Obstacle::NotForUsers),
        (of(user, Step::Map, libc::EPERM, APPARMOR_RESTRICT_USERNS, 1, false), Obstacle::AppArmor),
        (of(user, Step::Apart, libc::EACCES, APPARMOR_RESTRICT_USERNS, 1, false), Obstacle::AppArmor),
        (of(user, Step::Users, libc::EPERM, "none", 0, true), Obstacle::Chroot),
        (of(user, Step::Users, libc::EPERM, "none", 0, false), Obstacle::Refused("user namespaces")),
        (of(Method::Root, Step::Mounts, libc::EPERM, "none", 0, true), Obstacle::Refused("mount namespaces")),
        (of(user, Step::Users, libc::EINVAL, "none", 0, false), Obstacle::Unsupported("user namespaces")),
    ] {
        assert_eq!(told, expected);
        assert!(!told.to_string().is_empty());
    }
    assert_eq!(
        Obstacle::NotForUsers.advice().unwrap(),
        "run as root, or allow it with `sysctl kernel.unprivileged_userns_clone=1`"
    );
}

/// Threads that make views at the same time do not wait for one another's children.
#[test]
fn views_are_made_at_the_same_time() {
    let (done, all_done) = std::sync::mpsc::channel();
    for _ in 0..8 {
        let done = done.clone();
        std::thread::spawn(move || {
            for _ in 0..25 {
                let made = PrivateMounts::create(&[]);
                if matches!(made, Err(PrivateMountsError::Impossible { .. })) {
                    break;
                }
                made.unwrap();
            }
            done.send(()).unwrap();
        });
    }
    drop(done);
    for _ in 0..8 {
        all_done.recv_timeout(std::time::Duration::from_secs(60)).expect("a thread hangs or failed");
    }
}
/// The program of [`a_chroot_is_refused_by_its_names`].
#[test]
#[ignore = "started by another test"]
fn part_in_a_chroot() {
    match possible() {
        Err(error @ PrivateMountsError::Impossible { obstacle: Obstacle::OtherNames, .. }) => {
            assert!(coldstart_hint::hint_of(&error).is_some());
            println!("<done>");
        }
        other => println!("<{other:?}>"),
    }
}

/// Runs an ignored test of this module in a chroot: an empty directory, `$1`, that `words` of the shell fill with mounts that nobody else sees.
fn part_after(words: &str, part: &str) {
    if !coldstart_testing::is_root() {
        skip("needs root for a chroot");
        return;
    }
    if let Err(error) = possible() {
        skip(&error.to_string());
        return;
    }
    let directory = scratch();
    let words = format!(
        "mount --make-rprivate /; {words}; exec chroot \"$1\" \"$2\" --exact private_mounts::tests::{part} --ignored --nocapture"
    );
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", &words, "sh"]).arg(directory.path()).arg(std::env::current_exe().unwrap());
    let said = succeed(&mut command);
    assert!(said.contains("<done>"), "{said}");
}

#[test]
fn a_chroot_is_refused_by_its_names() {
    part_after("mount --rbind / \"$1\"", "part_in_a_chroot");
}

/// The program of [`a_thread_is_separated_where_the_root_is_no_mount_point`].
#[test]
#[ignore = "started by another test"]
fn part_in_a_chroot_below_a_mount_point() {
    let namespace = || fs::read_link(coldstart_host::process::own::MOUNT_NAMESPACE).unwrap();
    let before = namespace();
    let separated = move || {
        separate_this_thread().unwrap();
        assert_ne!(namespace(), before);
        assert!(fs::exists(coldstart_host::mounts::TABLE).unwrap(), "the mounts of the chroot are there");
    };
    std::thread::spawn(separated).join().unwrap();
    println!("<done>");
}

#[test]
fn a_thread_is_separated_where_the_root_is_no_mount_point() {
    let words = "for there in /*; do if test -d \"$there\" -a ! -L \"$there\"; then mkdir \"$1$there\"; \
                 mount --rbind \"$there\" \"$1$there\"; else cp -P \"$there\" \"$1$there\"; fi; done";
    part_after(words, "part_in_a_chroot_below_a_mount_point");
}
