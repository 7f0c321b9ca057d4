//! A small program whose pages are known, recorded by the real perf.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Pages of the data file in the order in which the program reads them. They are so far apart that none is mapped with another.
pub(crate) const TOUCHED: [u64; 5] = [160, 0, 96, 224, 32];

const PAGES: usize = 256;

const SOURCE: &str = include_str!("support/touches.c");

/// A recording of the program.
pub(crate) struct Recorded {
    folder: TempDir,
    pub(crate) program: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) recording: PathBuf,
}

impl Recorded {
    /// `None` after a word on why there is none.
    pub(crate) fn make(name: &str, options: &[&str]) -> Option<Self> {
        let recorded = Self::prepare(name)?;
        let mut perf = Command::new("perf");
        perf.arg("record").args(options).arg("-o").arg(&recorded.recording).arg("--");
        let output = perf.arg(&recorded.program).arg(&recorded.data).output().unwrap();
        if !output.status.success() || !recorded.recording.exists() {
            skip(&format!("perf record {options:?}: {}", String::from_utf8_lossy(&output.stderr).trim()));
            return None;
        }
        Some(recorded)
    }

    /// Through a pipe, in which perf cannot go back to its header.
    pub(crate) fn piped(name: &str) -> Option<Self> {
        let recorded = Self::prepare(name)?;
        let mut perf = Command::new("perf");
        perf.args(["record", "-e", "page-faults", "-c", "1", "-d", "-o", "-", "--"]);
        let output = perf.arg(&recorded.program).arg(&recorded.data).stderr(Stdio::null()).output().unwrap();
        std::fs::write(&recorded.recording, output.stdout).unwrap();
        Some(recorded)
    }

    fn prepare(name: &str) -> Option<Self> {
        if !perf() {
            return None;
        }
        let folder = tempfile::Builder::new().prefix(&format!("coldstart-import-{name}-")).tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        // A name of its own: who records the whole machine sees the programs of tests beside it. It is longer than a thread's name.
        let program = real.join(format!("{name}-reads-some-pages"));
        let [data, recording] = ["data", "perf.data"].map(|name| real.join(name));
        let recorded = Self { folder, program, data, recording };
        // Page by page, and later not read ahead: a fault may map a whole large folio (Linux 6.18), which one large write makes.
        let mut data = std::fs::File::create(&recorded.data).unwrap();
        (0..PAGES).for_each(|_| data.write_all(&[b'x'; 4096]).unwrap());
        recorded.build(SOURCE);
        Some(recorded)
    }

    /// Builds the program, from another source perhaps.
    pub(crate) fn build(&self, source: &str) {
        let file = self.folder.path().join("program.c");
        std::fs::write(&file, source).unwrap();
        let mut cc = Command::new("cc");
        let built = cc.args(["-O1", "-g0", "-Wl,--build-id", "-o"]).arg(&self.program).arg(&file).status().unwrap();
        assert!(built.success());
    }
}

/// Whether there is a perf that may record page faults; if not, that is said.
pub(crate) fn perf() -> bool {
    let tried =
        Command::new("perf").args(["record", "-e", "page-faults", "-c", "1", "-o", "/dev/null", "--", "true"]).output();
    match tried {
        Ok(output) if output.status.success() => true,
        Ok(output) => skip(&format!("perf records no page faults: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => skip(&format!("no perf (package linux-perf): {error}")),
    }
}

fn skip(reason: &str) -> bool {
    coldstart_testing::skip(reason);
    false
}

/// The lines that `perf script` prints of a recording with these fields; more options may follow them.
pub(crate) fn script(recording: &Path, fields: &str) -> Vec<String> {
    let mut perf = Command::new("perf");
    perf.args(["script", "-f", "-F"]).args(fields.split(' ')).arg("-i").arg(recording);
    let output = perf.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}
