//! Libraries that relocate themselves by a stub: they do what they did with every linker, and the proof accepts no other code and no word that
//! somebody reads too early.

use std::path::{Path, PathBuf};
use std::process::Command;

use coldstart_elf::{ElfFile, Tag};
use coldstart_prove::{BindEdit, Source, prove, prove_bound, prove_identity};
use coldstart_rewrite::{
    ChangedFile, NothingToPack, PackDecision, PackOptions, PackSummary, Pass, Passes, Refusal, plan_pack,
};
use coldstart_testing::{compile, skip};
use tempfile::TempDir;

use crate::rewritten_scene::restored;
use crate::scene::linkers;

/// Many pointers, in constant and in changing data; exported ones, of which a program gets a copy; one in thread-local data; and functions
/// before and after that look at them.
const LIBRARY: &str = "\
#include <stdio.h>\n\
static int numbers[4096];\n\
#define P4(n) &numbers[n], &numbers[n + 1], &numbers[n + 2], &numbers[n + 3]\n\
#define P64(n) P4(n), P4(n + 5), P4(n + 9), P4(n + 16), P4(n + 25), P4(n + 31), P4(n + 40), P4(n + 47), \\\n\
  P4(n + 50), P4(n + 55), P4(n + 60), P4(n + 64), P4(n + 71), P4(n + 80), P4(n + 81), P4(n + 90)\n\
#define P512(n) P64(n), P64(n + 100), P64(n + 200), P64(n + 300), P64(n + 400), P64(n + 500), P64(n + 600), P64(n + 700)\n\
#define P2048(n) P512(n), P512(n + 1), P512(n + 2), P512(n + 3)\n\
static int *const constant[] = { P2048(0), P2048(4) };\n\
struct gap { int *pointer; long number; };\n\
static struct gap changing[] = { { &numbers[1], 1 }, { &numbers[2], 2 }, { &numbers[3], 3 } };\n\
int *exported[] = { &numbers[7], &numbers[8], &numbers[9] };\n\
static __thread int *volatile own = &numbers[11];\n\
static int early = -1;\n\
long sum(void) {\n\
  long all = 0;\n\
  for (unsigned i = 0; i < sizeof constant / sizeof *constant; i++) all = all * 3 + (constant[i] - numbers);\n\
  for (unsigned i = 0; i < 3; i++) all = all * 3 + (changing[i].pointer - numbers) + changing[i].number;\n\
  return all * 3 + (exported[1] - numbers) + (own - numbers) + early;\n\
}\n\
#ifdef INIT\nvoid first(int count, char **words, char **environment) { early = constant[5] == &numbers[5 + 1] && count > 0 && words && environment; }\n#endif\n\
__attribute__((constructor)) static void begin(void) { if (early < 0) early = 2; if (sum() == 0) printf(\"zero\\n\"); }\n\
__attribute__((destructor)) static void end(void) { printf(\"%ld at the end\\n\", sum()); }\n";

const PROGRAM: &str = "\
#include <stdio.h>\n\
long sum(void); extern int *exported[3];\n\
int main(void) { printf(\"%ld %d\\n\", sum(), (int)(exported[2] - exported[0])); }\n";

const OPENER: &str = "\
#include <dlfcn.h>\n#include <stdio.h>\n#include <pthread.h>\n\
static void *in_thread(void *sum) { return (void *)((long (*)(void))sum)(); }\n\
int main(int count, char **words) {\n\
  long last = 0;\n\
  for (int i = 0; i < 200; i++) {\n\
    void *library = dlopen(words[count - 1], i % 2 ? RTLD_NOW : RTLD_LAZY);\n\
    if (!library) { puts(dlerror()); return 1; }\n\
    long (*sum)(void) = dlsym(library, \"sum\");\n\
    pthread_t thread; void *other = 0;\n\
    pthread_create(&thread, 0, in_thread, sum); pthread_join(thread, &other);\n\
    if (i > 0 && last != sum()) return 2;\n\
    last = sum(); if (last != (long)other) return 3;\n\
    fclose(stdout); stdout = fopen(\"/dev/null\", \"w\"); dlclose(library);\n\
  }\n\
  fprintf(stderr, \"%ld\\n\", last); return 0;\n}\n";

struct Scene {
    directory: TempDir,
    original: Vec<u8>,
}

impl Scene {
    fn new(linker: &str, extra: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let linker_option = format!("-fuse-ld={linker}");
        let relr = ["-Wl,-z,nopack-relative-relocs"].iter().copied().filter(|_| linker != "gold");
        let mut options = vec!["-O1", "-fPIC", "-shared", "-Wl,-soname,libpointers.so", &linker_option];
        options.extend(relr);
        options.extend(extra);
        compile("gcc", &directory.path().join("libpointers.so"), LIBRARY, &options);
        let link = format!("-L{}", directory.path().display());
        compile(
            "gcc",
            &directory.path().join("program"),
            PROGRAM,
            &[&link, "-lpointers", "-Wl,-rpath,$ORIGIN", "-fno-pie", "-no-pie"],
        );
        compile("gcc", &directory.path().join("opener"), OPENER, &["-pthread"]);
        let original = std::fs::read(directory.path().join("libpointers.so")).unwrap();
        Self { directory, original }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What the programs print.
    fn said(&self) -> Vec<String> {
        let run = |program: &Path, words: &[&Path], now: bool| {
            let mut command = Command::new(program);
            command.args(words);
            if now {
                command.env("LD_BIND_NOW", "1");
            }
            let output = command.output().unwrap();
            assert!(output.status.success(), "{} {output:?}", program.display());
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr)
        };
        let library = self.at("libpointers.so");
        vec![
            run(&self.at("program"), &[], false),
            run(&self.at("program"), &[], true),
            run(&self.at("opener"), &[&library], false),
        ]
    }
}

fn options() -> PackOptions {
    // lld leaves no entry for a library without DT_INIT.
    PackOptions { passes: Passes::of([Pass::Stub]), drop_syment: true, ..PackOptions::default() }
}

fn packed(bytes: &[u8]) -> (Vec<u8>, PackSummary) {
    match plan_pack(&ElfFile::parse(bytes).unwrap(), &options()).unwrap() {
        PackDecision::Pack(plan) => (plan.script.to_vec(bytes).unwrap(), plan.summary),
        PackDecision::Nothing(nothing) => panic!("{nothing:?}"),
    }
}

fn edit() -> BindEdit {
    BindEdit { stub: true, ..BindEdit::default() }
}

fn proof_of(original: &[u8], output: &[u8], edit: &BindEdit) -> Result<u64, String> {
    let proof = prove_bound(Source::in_memory(original), Source::in_memory(output), edit);
    proof.map(|proof| proof.relr_relocations).map_err(|error| error.to_string())
}

#[test]
fn libraries_do_what_they_did() {
    for linker in linkers() {
        for extra in [&[][..], &["-DINIT", "-Wl,-init,first"], &["-Wl,-z,now"], &["-Wl,-z,norelro"], &["-nostartfiles"]]
        {
            let scene = Scene::new(linker, extra);
            let before = scene.said();
            let (bytes, summary) = packed(&scene.original);
            assert!(summary.packed > 1000 && summary.kept_relative >= 4, "{linker}, {extra:?}: {summary:?}");
            assert!(bytes.len() < scene.original.len(), "{linker}, {extra:?}");
            assert_eq!(proof_of(&scene.original, &bytes, &edit()), Ok(summary.packed), "{linker}, {extra:?}");
            assert!(proof_of(&scene.original, &bytes, &BindEdit::default()).is_err(), "the edit says what it does");
            assert!(prove(Source::in_memory(&scene.original), Source::in_memory(&bytes)).is_err());
            prove_identity(Source::in_memory(&bytes)).unwrap();
            assert!(restored(&bytes, ChangedFile::Refuse).unwrap() == scene.original, "{linker}, {extra:?}");
            let file = ElfFile::parse(&bytes).unwrap();
            let dynamic = file.dynamic().unwrap().unwrap();
            assert!(dynamic.get(Tag::RELR).is_none() && dynamic.get(Tag::INIT).is_some());
            let again = plan_pack(&file, &options());
            assert!(matches!(again, Ok(PackDecision::Nothing(NothingToPack::PackedByUs))), "{linker}: {again:?}");
            std::fs::write(scene.at("libpointers.so"), &bytes).unwrap();
            assert_eq!(scene.said(), before, "{linker}, {extra:?}");
            for strip in [&["strip"][..], &["llvm-strip"], &["patchelf", "--set-rpath", "/nowhere"]] {
                std::fs::write(scene.at("libpointers.so"), &bytes).unwrap();
                let Ok(status) = Command::new(strip[0]).args(&strip[1..]).arg(scene.at("libpointers.so")).status()
                else {
                    println!("skipped: {} is not installed", strip[0]);
                    continue;
                };
                assert!(status.success());
                assert_eq!(scene.said(), before, "{linker}, {extra:?}, {strip:?}");
            }
        }
    }
}

#[test]
fn what_is_needed_early_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let plan = |name: &str, text: &str, options: &[&str]| {
        let path = directory.path().join(name);
        compile("gcc", &path, text, &[options, &["-Wl,-z,nopack-relative-relocs"]].concat());
        let bytes = std::fs::read(&path).unwrap();
        plan_pack(&ElfFile::parse(&bytes).unwrap(), &self::options())
    };
    let main = "int main(void) { return 0; }";
    let refused = |planned: Result<PackDecision, Refusal>| matches!(planned, Err(Refusal::NeededEarly(_)));
    assert!(refused(plan("program", main, &["-fPIE", "-pie"])));
    let library = &["-shared", "-fPIC"];
    assert!(refused(plan("first.so", LIBRARY, &["-shared", "-fPIC", "-Wl,-z,initfirst"])));
    let with = |text: &str| LIBRARY.to_owned() + text;
    assert!(refused(plan(
        "allocates.so",
        &with("void *malloc(unsigned long size) { return &numbers[size & 1]; }"),
        library
    )));
    let chooses = "static void a(void) {} static void *choose(void) { return a; }\n\
                   static void chosen(void) __attribute__((ifunc(\"choose\"))); void call(void) { chosen(); }";
    assert!(refused(plan("chooses.so", &with(chooses), library)));
}

#[test]
fn the_proof_accepts_no_other_stub() {
    let scene = Scene::new("bfd", &[]);
    let (bytes, _) = packed(&scene.original);
    let file = ElfFile::parse(&bytes).unwrap();
    let section = |name: &str| file.section(name).unwrap().header;
    let (code, words) = (section(".coldstart.stub"), section(".coldstart.words"));
    let places = (code.offset.0..code.offset.0 + code.size).chain(words.offset.0..words.offset.0 + words.size);
    for place in places {
        let mut changed = bytes.clone();
        changed[usize::try_from(place).unwrap()] ^= 0x40;
        assert!(proof_of(&scene.original, &changed, &edit()).is_err(), "byte {place:#x}");
    }
}

#[test]
fn a_library_with_words_for_the_loader_alone_has_nothing_to_pack() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("lib.so");
    let source = "static int one; int *exported[999] = { [0 ... 998] = &one };";
    compile("gcc", &path, source, &["-fPIC", "-shared", "-Wl,-z,nopack-relative-relocs", "-nostartfiles"]);
    let bytes = std::fs::read(path).unwrap();
    let decided = plan_pack(&ElfFile::parse(&bytes).unwrap(), &options()).unwrap();
    assert!(matches!(decided, PackDecision::Nothing(NothingToPack::NoneForStub)), "{decided:?}");
}

#[test]
fn the_proof_accepts_no_word_that_is_read_early() {
    let scene = Scene::new("bfd", &[]);
    // The same library without a name for the table: its stub relocates it, too.
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("libpointers.so");
    let hidden = LIBRARY.replace("int *exported[]", "__attribute__((visibility(\"hidden\"))) int *exported[]");
    compile("gcc", &path, &hidden, &["-O1", "-fPIC", "-shared", "-Wl,-z,nopack-relative-relocs"]);
    let original = std::fs::read(path).unwrap();
    let (_, summary) = packed(&original);
    let (_, exported) = packed(&scene.original);
    assert_eq!(summary.packed, exported.packed + 3);
    let all = ElfFile::parse(&scene.original).unwrap();
    let dynamic = all.dynamic().unwrap().unwrap();
    let count = u32::try_from(all.dynamic_symbols(&dynamic).unwrap().len()).unwrap();
    let closed = coldstart_rewrite::ClosedWorld {
        not_interposed: Some((0..count).collect()),
        ..coldstart_rewrite::ClosedWorld::default()
    };
    let world = BindEdit { not_interposed: (0..count).collect(), stub: true, ..BindEdit::default() };
    let options = PackOptions { closed_world: Some(closed), ..options() };
    let PackDecision::Pack(plan) = plan_pack(&all, &options).unwrap() else { panic!("nothing packed") };
    let bytes = plan.script.to_vec(&scene.original).unwrap();
    assert_eq!(plan.summary.packed, exported.packed + 3);
    assert_eq!(proof_of(&scene.original, &bytes, &world), Ok(plan.summary.packed));
    let error = proof_of(&scene.original, &bytes, &edit()).unwrap_err();
    assert!(error.contains("before the stub runs"), "{error}");
}

/// Builds and runs the pointers' library with another machine's compiler, as it is and packed.
fn of_other_machine(compiler: &str, runner: &[&str]) {
    let is_there = |program: &str| Command::new(program).arg("--version").output().is_ok();
    if !is_there(compiler) || runner.first().is_some_and(|runner| !is_there(runner)) {
        return skip(&format!("{compiler} or {runner:?} is not installed"));
    }
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let no_relr = "-Wl,-z,nopack-relative-relocs";
    compile(
        compiler,
        &at("libpointers.so"),
        LIBRARY,
        &["-O1", "-fPIC", "-shared", "-Wl,-soname,libpointers.so", no_relr],
    );
    let link = format!("-L{}", directory.path().display());
    compile(compiler, &at("program"), PROGRAM, &[&link, "-lpointers", "-Wl,-rpath,$ORIGIN"]);
    let said = || {
        let words = runner.iter().copied().map(PathBuf::from).chain([at("program")]).collect::<Vec<_>>();
        let output = Command::new(&words[0]).args(&words[1..]).output().unwrap();
        assert!(output.status.success(), "{compiler}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let before = said();
    let original = std::fs::read(at("libpointers.so")).unwrap();
    let (bytes, summary) = packed(&original);
    assert_eq!(proof_of(&original, &bytes, &edit()), Ok(summary.packed), "{compiler}");
    assert!(restored(&bytes, ChangedFile::Refuse).unwrap() == original, "{compiler}");
    std::fs::write(at("libpointers.so"), &bytes).unwrap();
    assert_eq!(said(), before, "{compiler}");
}

#[test]
fn on_i386() {
    of_other_machine("i686-linux-gnu-gcc", &["qemu-i386", "-L", "/usr/i686-linux-gnu"]);
}

#[test]
fn on_arm() {
    of_other_machine("arm-linux-gnueabihf-gcc", &["qemu-arm", "-L", "/usr/arm-linux-gnueabihf"]);
}

#[test]
fn on_aarch64() {
    of_other_machine("aarch64-linux-gnu-gcc", &["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]);
}

/// Debian's musl is older than RELR.
#[test]
fn with_musl() {
    of_other_machine("musl-gcc", &[]);
}
