//! A directory with an object, and packages and images that hold it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_app::observer::Silent;
use coldstart_app::survey::{Limits, Options, Outcome};
use coldstart_survey::{SurveyError, survey};
use coldstart_testing::{compile, succeed};

/// A table of pointers, which relocations fill.
const LIBRARY: &str =
    "static int x; int *table[4000]; __attribute__((constructor)) static void start(void) { table[0] = &x; }
#define P &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x, &x
int *pointers[] = { P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P, P };";

pub(crate) struct Scene {
    directory: tempfile::TempDir,
}

impl Scene {
    /// With `tree/usr/lib/app/libtable.so` and a file that is no object.
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scene = Self { directory };
        fs::create_dir_all(scene.path("tree/usr/lib/app")).unwrap();
        fs::write(scene.path("library.c"), LIBRARY).unwrap();
        let library = scene.path("tree/usr/lib/app/libtable.so");
        compile("cc", &library, LIBRARY, &["-shared", "-fPIC", "-Wl,-soname,libtable.so"]);
        fs::write(scene.path("tree/usr/lib/app/module.py"), "x = 1\n").unwrap();
        scene
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// `NAME.deb` of the tree.
    pub(crate) fn deb(&self, name: &str, compression: &str) -> PathBuf {
        let (root, package) = (self.path(&format!("{name}.root")), self.path(&format!("{name}.deb")));
        succeed(Command::new("cp").arg("-a").arg(self.path("tree")).arg(&root));
        fs::create_dir_all(root.join("DEBIAN")).unwrap();
        let control =
            "Package: app\nVersion: 1.2-3\nArchitecture: amd64\nMaintainer: x <x@example.org>\nDescription: x\n";
        fs::write(root.join("DEBIAN/control"), control).unwrap();
        let mut command = Command::new("dpkg-deb");
        succeed(command.args(["--root-owner-group", "--build", "-Z"]).arg(compression).arg(&root).arg(&package));
        fs::remove_dir_all(&root).unwrap();
        package
    }

    pub(crate) fn squashfs(&self, name: &str, compression: &str) -> PathBuf {
        let image = self.path(name);
        let mut command = Command::new("mksquashfs");
        succeed(command.arg(self.path("tree")).arg(&image).args(["-quiet", "-no-progress", "-comp", compression]));
        image
    }

    pub(crate) fn survey(&self, what: &[&Path], output: &str) -> Outcome {
        self.try_survey(what, output).unwrap()
    }

    pub(crate) fn try_survey(&self, what: &[&Path], output: &str) -> Result<Outcome, SurveyError> {
        self.survey_within(what, output, Limits::default())
    }

    pub(crate) fn survey_within(&self, what: &[&Path], output: &str, limits: Limits) -> Result<Outcome, SurveyError> {
        let options = Options {
            what: what.iter().map(|path| path.as_os_str().to_owned()).collect(),
            directory: self.path(output),
            limits,
            scratch: Some(self.directory.path().to_owned()),
            ..Options::default()
        };
        survey(&options, &Silent)
    }
}
