//! Several programs of one image, several starts at once, other roots, and compressed images.

use std::fs;
use std::process::{Command, Stdio};

use coldstart_testing::{copy_program, succeed};

use super::rights::{CAPABILITY, alone};
use super::{Scene, Waiting};
use crate::text;

#[test]
fn two_programs_share_an_image() {
    let Some(scene) = Scene::new() else { return };
    let program = scene.path("app/program");
    for name in ["a", "b"] {
        let mut record = Command::new(env!("CARGO_BIN_EXE_coldstart"));
        record.args(["trace", "--layers", "pages,files", "-o"]).arg(scene.path(name)).arg("--").arg(&program);
        succeed(record.args(["look", &scene.share(name)]).stdin(Stdio::null()));
    }
    let made = scene.json(&["make", "--json", "-o", "x.erofs", "--trace", "a", "--trace", "b"], &[]);
    assert_eq!(made["programs"].as_array().unwrap().len(), 2);
    let shown = scene.json(&["show", "--json", "x.erofs"], &[]);
    let pages = |at: usize| shown["programs"][at]["pages"].as_u64().unwrap();
    // Each has a page that the other has not.
    assert!(pages(0) > 0 && pages(1) > 0, "{shown}");
    assert!(shown["hot_pages"].as_u64().unwrap() > pages(0).max(pages(1)), "{shown}");
    for name in ["a", "b"] {
        assert!(scene.said("x.erofs", &["look", &scene.share(name)]).ends_with(&scene.line_of_image(name)));
    }
    // Another start of the program may use all of it.
    let said = scene.said("x.erofs", &["exe", "", "look", &scene.share("b"), "look", &scene.share("a")]);
    assert!(said.ends_with(&format!("erofs\n{}{}", scene.line_of_image("b"), scene.line_of_image("a"))), "{said}");
}

#[test]
fn twenty_starts_at_once_do_not_meet() {
    let Some(scene) = Scene::new() else { return };
    scene.whole_image("x.erofs");
    let mut programs: Vec<Waiting> = (0..20).map(|_| scene.wait("x.erofs")).collect();
    for program in &mut programs {
        assert_eq!(program.ask(&format!("look {}", scene.share("c"))), scene.line_of_image("c"));
    }
    for program in programs {
        assert_eq!(program.end(), Some(0));
    }
    let starts: Vec<_> = (0..20)
        .map(|_| {
            let mut command = scene.command(&["run", "x.erofs"], &["look", &scene.share("a")]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for start in starts {
        let output = start.wait_with_output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
        assert!(text(&output.stdout).ends_with(&scene.line_of_image("a")), "{}", text(&output.stdout));
    }
}

#[test]
fn a_compressed_image_starts_programs_as_well() {
    let Some(scene) = Scene::new() else { return };
    fs::write(scene.share("a"), "words of a\n".repeat(5000)).unwrap();
    let orders = ["part", "", "look", &scene.share("a")];
    let make = ["make", "--json", "--as-is", "--compress", "zstd", "-o", "x.erofs"];
    scene.json(&make, &orders);
    assert_eq!(scene.json(&["show", "--json", "x.erofs"], &[])["compressed"], true);
    let output = scene.run("x.erofs", &["exe", "", "part", "", "look", &scene.share("a")]);
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{complained}");
    if complained.contains("cannot be mounted") {
        return coldstart_testing::skip(&format!("this kernel mounts no image with zstd: {complained}"));
    }
    assert_eq!(complained, "");
    assert!(said.ends_with(&scene.line_of_image("a")) && !said.contains(" disk"), "{said}");
}

/// A root with the files that the program and coldstart need, and nothing else.
fn root_of(scene: &Scene) -> std::path::PathBuf {
    let root = scene.path("root");
    let mut files = vec![scene.path("app/program"), scene.path("app/share/a"), scene.path("x.erofs")];
    let mut ldd = Command::new("ldd");
    let libraries = succeed(ldd.arg(scene.path("app/program")).arg(env!("CARGO_BIN_EXE_coldstart")));
    files.extend(
        libraries.split_whitespace().filter(|word| word.starts_with('/') && !word.ends_with(':')).map(Into::into),
    );
    for file in files {
        let place = root.join(file.strip_prefix("/").unwrap());
        if !place.exists() {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            succeed(Command::new("cp").arg("-pL").arg(file).arg(place));
        }
    }
    copy_program(env!("CARGO_BIN_EXE_coldstart"), root.join("coldstart"));
    for name in ["proc", "tmp", "dev"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    fs::write(root.join("dev/null"), "").unwrap();
    root
}

#[test]
fn in_a_chroot_the_files_there_count() {
    let Some(scene) = Scene::new() else { return };
    let (program, a) = (scene.path("app/program"), scene.share("a"));
    // Made elsewhere, of the files that the root gets copies of: they are other files.
    scene.image("x.erofs", &["part", "", "look", &a]);
    let root = root_of(&scene);
    let _process = match coldstart_testing::Mount::new(&root.join("proc"), &["-t", "proc", "proc"]) {
        Ok(mounted) => mounted,
        Err(reason) => return coldstart_testing::skip(&format!("this machine does not mount proc: {reason}")),
    };
    let inside = |words: &[&str]| {
        let mut command = Command::new("chroot");
        command.arg(&root).args(["/coldstart", "image"]).args(words).arg("--").arg(&program);
        let output = command.args(["part", "", "look", &a]).stdin(Stdio::null()).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""), "{words:?}");
        text(&output.stdout)
    };
    let image = scene.path("x.erofs");
    let said = inside(&["run", image.to_str().unwrap()]);
    assert!(said.ends_with(&format!("{a} disk words of a\n")), "{said}");
    inside(&["make", "--as-is", "-o", "/inside.erofs"]);
    let said = inside(&["run", "/inside.erofs"]);
    assert!(said.ends_with(&scene.line_of_image("a")) && said.contains("libpart.so erofs mapped\n"), "{said}");
    assert_eq!(super::mounts_below(&root), [root.join("proc")]);
}

#[test]
fn an_image_of_a_root_serves_in_that_root_and_gives_no_rights() {
    let Some(scene) = Scene::new() else { return };
    let a = scene.share("a");
    scene.image("x.erofs", &["part", ""]);
    let root = root_of(&scene);
    // Without /proc, the loader finds no library by $ORIGIN.
    let program = alone(&scene, "alone");
    let copy = root.join(program.strip_prefix('/').unwrap());
    copy_program(&program, &copy);
    let chrooted = ["--", "chroot", root.to_str().unwrap(), &program, "look", &a];
    let make = ["make", "--json", "--as-is", "--root", "root", "-o", "rooted.erofs"];
    scene.json(&[&make[..], &chrooted].concat(), &[]);
    succeed(Command::new("mv").arg(scene.path("rooted.erofs")).arg(&root));
    let _process = match coldstart_testing::Mount::new(&root.join("proc"), &["-t", "proc", "proc"]) {
        Ok(mounted) => mounted,
        Err(reason) => return coldstart_testing::skip(&format!("this machine does not mount proc: {reason}")),
    };
    let said = || {
        let mut command = Command::new("chroot");
        command.arg(&root).args(["/coldstart", "image", "run", "/rooted.erofs", "--"]).arg(&program);
        let output = command.args(["exe", "", "look", &a]).stdin(Stdio::null()).output().unwrap();
        assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(0), ""));
        text(&output.stdout)
    };
    assert!(said().ends_with(&format!("exe {program} erofs\n{}", scene.line_of_image("a"))), "{}", said());
    // Its size and time are those of before.
    if rustix::fs::setxattr(copy, "security.capability", &CAPABILITY, rustix::fs::XattrFlags::empty()).is_ok() {
        assert!(said().ends_with(&format!("exe {program} disk\n{}", scene.line_of_image("a"))), "{}", said());
    }
}
