//! A fixture linked in one way: the original, the packed one, and what other tools make of them.

use std::path::{Path, PathBuf};

use super::build::{Kind, Objects, Role, link};
use super::debuggers::{backtraces, code_addresses, source_lines};
use super::expected::find;
use super::feature::Feature;
use super::packer::{Verdict, pack, prove, prove_same, restore};
use super::readers::{Pair, new_complaints};
use super::run::run_fixture;
use super::toolchain::{Linker, Machine};
use super::treatment::Treatment;

/// One way to build one fixture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell {
    pub(crate) feature: &'static Feature,
    pub(crate) machine: Machine,
    pub(crate) linker: Linker,
    pub(crate) kind: Kind,
}

/// What came of a cell.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Programs that were run and said what the original says.
    pub(crate) runs: usize,
    /// Refusals that were expected.
    pub(crate) refused: Vec<&'static str>,
    pub(crate) failures: Vec<String>,
    /// Treatments that break the original, too.
    pub(crate) broken_by_tool: Vec<&'static str>,
}

impl Cell {
    pub(crate) fn name(&self) -> String {
        format!("{}, {}, {}, {}", self.feature.name, self.machine.name(), self.linker.name(), self.kind.name())
    }

    fn run(&self, folder: &Path) -> Result<String, String> {
        run_fixture(self.feature, self.machine, self.kind, folder)
    }

    /// Does all of it in `folder`, which is there and empty.
    pub(crate) fn check(&self, objects: &Objects, linkers: &Path, folder: &Path) -> Outcome {
        let mut outcome = Outcome::default();
        if let Err(failure) = self.check_all(objects, linkers, folder, &mut outcome) {
            outcome.failures.push(failure);
        }
        outcome
    }

    fn check_all(&self, objects: &Objects, linkers: &Path, folder: &Path, outcome: &mut Outcome) -> Result<(), String> {
        let original = folder.join("original");
        link((self.feature, self.machine, self.linker, self.kind), objects, linkers, &original)?;
        let text = self.run(&original).map_err(|failure| format!("the original: {failure}"))?;
        let packed = self.pack_all(&original, &folder.join("packed"), &mut outcome.refused)?;
        let mut pairs = Vec::new();
        for role in self.kind.roles() {
            let (original, packed) = (original.join(role.file_name()), packed.join(role.file_name()));
            if same_file(&original, &packed) {
                continue;
            }
            outcome.failures.extend(prove(&original, &packed).err());
            let restored = restore(&original, &packed, &packed.with_extension("restored"));
            outcome.failures.extend(restored.err());
            pairs.push(Pair { before: original, after: packed });
        }
        let mut folders = vec![packed.clone()];
        if self.machine == Machine::Native {
            folders.push(self.bind_all(&original, &folder.join("bound"), &mut pairs, outcome)?);
        }
        if self.kind == Kind::Library {
            folders.push(mixed(folder, "only-library", &[&packed, &original]));
            folders.push(mixed(folder, "only-driver", &[&original, &packed]));
        }
        for folder in folders {
            self.compare(&text, &folder, outcome);
        }
        self.check_treatments(&text, [folder, &original, &packed], &mut pairs, outcome);
        outcome.failures.extend(new_complaints(self.machine, &pairs));
        if self.feature.all_treatments && self.machine == Machine::Native {
            self.check_debuggers([folder, &original, &packed], outcome);
        }
        Ok(())
    }

    /// Runs what is in a folder, which must say what the original says.
    fn compare(&self, text: &str, folder: &Path, outcome: &mut Outcome) {
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        match self.run(folder) {
            Ok(same) if same == text => outcome.runs += 1,
            Ok(other) => outcome.failures.push(format!("{name}: prints\n{other}instead of\n{text}")),
            Err(failure) => outcome.failures.push(format!("{name}: {failure}")),
        }
    }

    /// Packs all objects of a folder into a new one. Those that are rightly never packed are the same as before.
    fn pack_all(&self, from: &Path, to: &Path, refused: &mut Vec<&'static str>) -> Result<PathBuf, String> {
        std::fs::create_dir(to).unwrap();
        for &role in self.kind.roles() {
            let (input, output) = (from.join(role.file_name()), to.join(role.file_name()));
            let mut options: Vec<&str> = Vec::new();
            // How often each reason was given.
            let mut given: Vec<&str> = Vec::new();
            loop {
                let verdict = pack(&input, &output, &options)?;
                if verdict == Verdict::Packed {
                    break;
                }
                let row = find(self.feature, self.machine, self.linker, role, &verdict);
                let remedy = row.and_then(|row| {
                    let times = given.iter().filter(|code| **code == row.code).count();
                    given.push(row.code);
                    row.remedies.get(times)
                });
                let remedy = remedy.ok_or_else(|| format!("{}, {options:?}: {verdict:?}", role.file_name()))?;
                refused.extend(given.last());
                options.extend(*remedy);
                if remedy.is_empty() {
                    std::fs::hard_link(&input, &output).unwrap();
                    break;
                }
            }
        }
        Ok(to.to_owned())
    }

    /// Packs all objects of a folder into a new one by all passes, for the program in it. What is refused then was refused
    /// anyway.
    fn bind_all(
        &self,
        from: &Path,
        to: &Path,
        pairs: &mut Vec<Pair>,
        outcome: &mut Outcome,
    ) -> Result<PathBuf, String> {
        std::fs::create_dir(to).unwrap();
        let world = from.join(self.kind.roles().last().unwrap().file_name());
        let options = ["--passes", "all-safe", "--closed-world", world.to_str().unwrap()];
        for &role in self.kind.roles() {
            let (input, output) = (from.join(role.file_name()), to.join(role.file_name()));
            let verdict = pack(&input, &output, &options)?;
            if verdict == Verdict::Packed {
                outcome.failures.extend(prove_same(&input, &output).err());
                outcome.failures.extend(restore(&input, &output, &output.with_extension("restored")).err());
                pairs.push(Pair { before: input, after: output });
                continue;
            }
            find(self.feature, self.machine, self.linker, role, &verdict)
                .ok_or_else(|| format!("{}, {options:?}: {verdict:?}", role.file_name()))?;
            std::fs::hard_link(&input, &output).unwrap();
        }
        Ok(to.to_owned())
    }

    /// Other tools change what was packed, and what they have changed is packed.
    fn check_treatments(
        &self,
        text: &str,
        [folder, original, packed]: [&Path; 3],
        pairs: &mut Vec<Pair>,
        outcome: &mut Outcome,
    ) {
        let all = self.feature.all_treatments && self.machine == Machine::Native;
        let treatments = if all { Treatment::ALL.as_slice() } else { &[Treatment::Strip] };
        for treatment in treatments {
            let (name, label) = (treatment.name(), treatment.label());
            let treat = |from: &Path, to: &str| treat_all(*treatment, self, from, &folder.join(to));
            let before = treat(original, &format!("original-{label}"));
            let before = before.and_then(|folder| self.run(&folder).map(|_| folder));
            let Ok(before) = before else {
                outcome.broken_by_tool.push(name);
                continue;
            };
            let object = self.kind.roles().first().unwrap().file_name();
            let pair = |after: &Path| Pair { before: before.join(object), after: after.join(object) };
            match treat(packed, &format!("packed-{label}")) {
                Ok(after) => {
                    self.compare(text, &after, outcome);
                    pairs.push(pair(&after));
                }
                Err(failure) => outcome.failures.push(format!("{name} of what was packed: {failure}")),
            }
            let to = folder.join(format!("{label}-packed"));
            match self.pack_all(&before, &to, &mut outcome.refused) {
                Ok(after) => {
                    link_debug_files(&before, &after);
                    self.compare(text, &after, outcome);
                    pairs.push(pair(&after));
                }
                Err(failure) => outcome.failures.push(format!("{name}, then pack: {failure}")),
            }
        }
    }

    /// Debuggers find the same in the original, in what was packed, and where debug information stands apart.
    fn check_debuggers(&self, [folder, original, packed]: [&Path; 3], outcome: &mut Outcome) {
        let split = Treatment::SplitDebug.label();
        let variants =
            [packed.to_owned(), folder.join(format!("packed-{split}")), folder.join(format!("{split}-packed"))];
        for role in self.kind.roles().iter().filter(|role| **role != Role::Driver) {
            let look = |folder: &Path, addresses: &[String]| {
                source_lines(self.machine, &folder.join(role.file_name()), addresses)
            };
            let compared = code_addresses(self.machine, &original.join(role.file_name())).and_then(|addresses| {
                let before = look(original, &addresses)?;
                for variant in &variants {
                    if look(variant, &addresses)? != before {
                        return Err(format!("addr2line finds other lines in {}", variant.display()));
                    }
                }
                Ok(())
            });
            outcome.failures.extend(compared.err());
        }
        if self.feature.cxx && self.kind == Kind::Library {
            let traces = |folder: &Path| backtraces(&folder.join("driver"));
            let compared = traces(original).and_then(|before| {
                for variant in &variants {
                    let after = traces(variant)?;
                    if after != before {
                        return Err(format!("gdb in {}:\n{after}\ninstead of\n{before}", variant.display()));
                    }
                }
                Ok(())
            });
            outcome.failures.extend(compared.err());
        }
    }
}

/// Gives what was packed the debug files of what it was made from.
fn link_debug_files(from: &Path, to: &Path) {
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_some_and(|extension| extension == "debug") {
            std::fs::hard_link(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// Treats all objects of a folder into a new one.
fn treat_all(treatment: Treatment, cell: &Cell, from: &Path, to: &Path) -> Result<PathBuf, String> {
    std::fs::create_dir(to).unwrap();
    for role in cell.kind.roles() {
        treatment.apply(cell.machine, &from.join(role.file_name()), &to.join(role.file_name()))?;
    }
    Ok(to.to_owned())
}

/// A folder with the library of one folder and the driver of another.
fn mixed(folder: &Path, name: &str, [library, driver]: &[&PathBuf; 2]) -> PathBuf {
    let folder = folder.join(name);
    std::fs::create_dir(&folder).unwrap();
    for (from, role) in [(library, Role::Library), (driver, Role::Driver)] {
        std::fs::hard_link(from.join(role.file_name()), folder.join(role.file_name())).unwrap();
    }
    folder
}

fn same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(one).unwrap().ino() == std::fs::metadata(other).unwrap().ino()
}
