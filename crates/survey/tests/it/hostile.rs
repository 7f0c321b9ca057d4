//! Packages that are damaged, lie, or unpack to far too much.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use coldstart_app::survey::Limits;
use coldstart_testing::succeed;

use crate::scene::Scene;
use crate::tables::{column, rows};

#[test]
fn a_package_cut_anywhere_is_a_problem_and_no_more() {
    let scene = Scene::new();
    let whole = fs::read(scene.deb("whole", "gzip")).unwrap();
    fs::create_dir(scene.path("pool")).unwrap();
    for part in 0..24 {
        fs::write(scene.path(&format!("pool/{part:02}.deb")), &whole[..whole.len() * part / 24]).unwrap();
    }
    fs::write(scene.path("pool/whole.deb"), &whole).unwrap();
    let pool = scene.path("pool");
    let outcome = scene.survey(&[&pool], "survey");
    let survey = scene.path("survey");
    assert!(outcome.objects >= 1);
    // The first is empty, which is no package.
    assert!(outcome.problems >= 20, "{:?}", rows(&survey, "problems", &["archive", "problem"]));
    assert!(!column(&survey, "problems", "archive").contains(&"whole.deb".to_owned()));
}

#[test]
fn damaged_bytes_do_no_harm() {
    let scene = Scene::new();
    fs::create_dir(scene.path("pool")).unwrap();
    let mut random = coldstart_testing::Random::new(7);
    let archives =
        [scene.deb("a", "xz"), scene.deb("b", "zstd"), scene.squashfs("c", "gzip"), scene.squashfs("d", "xz")];
    for (number, archive) in archives.iter().enumerate() {
        let whole = fs::read(archive).unwrap();
        for round in 0..12 {
            let mut bytes = whole.clone();
            for _ in 0..4 {
                let at = random.below(bytes.len());
                bytes[at] = random.below(256) as u8;
            }
            fs::write(scene.path(&format!("pool/{number}-{round}")), bytes).unwrap();
        }
    }
    let pool = scene.path("pool");
    assert_eq!(scene.survey(&[&pool], "survey").files, 48);
}

/// A package of an ar file with these parts.
fn package(scene: &Scene, name: &str, data: &[u8]) -> std::path::PathBuf {
    let directory = scene.path(&format!("{name}.parts"));
    fs::create_dir(&directory).unwrap();
    fs::write(directory.join("debian-binary"), "2.0\n").unwrap();
    fs::write(directory.join("control"), "Package: bad\nVersion: 1\n").unwrap();
    succeed(Command::new("tar").args(["-cf", "control.tar", "./control"]).current_dir(&directory));
    fs::write(directory.join("data.tar.xz"), data).unwrap();
    let package = scene.path(&format!("{name}.deb"));
    let mut command = Command::new("ar");
    succeed(
        command.arg("rc").arg(&package).args(["debian-binary", "control.tar", "data.tar.xz"]).current_dir(&directory),
    );
    package
}

fn xz(bytes: &mut dyn FnMut(&mut dyn Write)) -> Vec<u8> {
    let mut child = Command::new("xz").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    bytes(&mut input);
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    output.stdout
}

#[test]
fn a_bomb_is_stopped_at_the_limit() {
    let scene = Scene::new();
    let zeros = vec![0; 1 << 20];
    let bomb = xz(&mut |out| (0..96).for_each(|_| out.write_all(&zeros).unwrap()));
    let bomb = package(&scene, "bomb", &bomb);
    assert!(fs::metadata(&bomb).unwrap().len() < 64 << 10, "it is small");
    let good = scene.deb("good", "xz");
    let outcome = scene.survey(&[&bomb, &good], "survey");
    let survey = scene.path("survey");
    assert_eq!((outcome.objects, outcome.problems), (1, 1));
    assert!(column(&survey, "problems", "problem")[0].contains("zip bomb"));
    let few = Limits { files: 1, ..Limits::default() };
    assert_eq!(scene.survey_within(&[&good], "few", few).unwrap().problems, 1);
    assert!(column(&scene.path("few"), "problems", "problem")[0].contains("too many files"));
}

#[test]
fn names_that_lead_out_lead_nowhere() {
    let scene = Scene::new();
    let library = scene.path("tree/usr/lib/app/libtable.so");
    let tar = scene.path("evil.tar");
    let target = scene.path("planted");
    let mut command = Command::new("tar");
    command.args(["-P", "--transform"]).arg(format!("s,.*,{},", target.display())).arg("-cf").arg(&tar).arg(&library);
    succeed(&mut command);
    let mut command = Command::new("tar");
    succeed(command.args(["-P", "--transform", "s,.*,../../planted,", "-rf"]).arg(&tar).arg(&library));
    let bytes = fs::read(&tar).unwrap();
    let evil = package(&scene, "evil", &xz(&mut |out| out.write_all(&bytes).unwrap()));
    let before: Vec<_> = fs::read_dir(scene.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let outcome = scene.survey(&[&evil], "survey");
    assert_eq!(outcome.objects, 2, "{:?}", column(&scene.path("survey"), "problems", "problem"));
    let mut after: Vec<_> = fs::read_dir(scene.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    after.retain(|name| name != "survey");
    assert_eq!(before.len(), after.len());
    assert!(!target.exists());
}

#[test]
fn archives_are_opened_three_deep() {
    let scene = Scene::new();
    for depth in 0..4 {
        let inner = scene.deb(&format!("depth-{depth}"), "none");
        fs::rename(inner, scene.path("tree/inner.deb")).unwrap();
    }
    let outermost = scene.path("tree/inner.deb");
    let outcome = scene.survey(&[&outermost], "survey");
    let survey = scene.path("survey");
    assert_eq!((outcome.objects, outcome.problems), (3, 1), "{:?}", rows(&survey, "objects", &["archive"]));
    assert_eq!(column(&survey, "problems", "archive"), ["inner.deb > inner.deb"]);
}
