//! Programs in Python: with the index they find the same modules in the same files, print the same and end the same.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::symlink;
use std::process::Command;

use coldstart_testing::succeed;

use super::scene::{PYTHON, Scene};
use crate::text;

/// A program that prints every module with its file, and how it would be found again.
pub(super) const REPORT: &str = "
import importlib.util, sys
def report(*names):
    for name in names:
        module = sys.modules.get(name)
        spec = importlib.util.find_spec(name) if module is None else module.__spec__
        if spec is None:
            print(name, 'absent')
            continue
        locations = list(spec.submodule_search_locations or ())
        print(name, getattr(module, '__file__', '-'), getattr(module, '__cached__', '-'), spec.origin, spec.cached, locations,
              type(spec.loader).__name__, getattr(module, 'value', None))
";

/// Prints whether the index is in use.
pub(super) const ASKED: &str = "
import importlib.machinery
print(importlib.machinery.PathFinder._get_spec.__func__.__code__.co_filename == '<coldstart index>')
";

/// A scene with a package in each of some directories, all in PYTHONPATH, and a program that imports all of them.
pub(super) fn packages(count: usize) -> Scene {
    let mut scene = Scene::new();
    let entries: Vec<String> = (0..count).map(|number| format!("p{number}")).collect();
    let mut app = REPORT.to_owned();
    for (number, entry) in entries.iter().enumerate() {
        scene.file(&format!("{entry}/pkg{number}/__init__.py"), &format!("from . import sub\nvalue = {number}\n"));
        scene.file(&format!("{entry}/pkg{number}/sub.py"), "value = 'sub'\n");
        scene.file(&format!("{entry}/single{number}.py"), "value = 'single'\n");
        app.push_str(&format!("import pkg{number}, single{number}\n"));
        app.push_str(&format!(
            "report('pkg{number}', 'pkg{number}.sub', 'single{number}', 'pkg{number}.no', 'no{number}')\n"
        ));
    }
    app.push_str("import json, xml.dom\nreport('json', 'xml.dom', 'encodings', 'os')\nsys.exit(7)\n");
    scene.file("app.py", &app);
    scene.search("PYTHONPATH", &entries.iter().map(String::as_str).collect::<Vec<_>>());
    scene
}

#[test]
fn modules_come_from_the_same_files_with_fewer_calls() {
    let scene = packages(40);
    let made = scene.make(&[PYTHON, "app.py"]);
    assert_eq!((&made["schema"], &made["kept"]), (&"coldstart.index-make/1".into(), &true.into()));
    let calls = |number: usize| made["calls"][number].as_u64().unwrap();
    assert!(calls(1) * 2 < calls(0), "{made}");
    let printed = scene.same(&[PYTHON, "app.py"]);
    assert!(printed.contains(&format!("pkg39 {}", scene.text_of("p39/pkg39/__init__.py"))), "{printed}");
    assert_eq!(scene.plain(&[PYTHON, "app.py"]).status.code(), Some(7));
    assert_eq!(text(&scene.indexed(&[PYTHON, "-c", ASKED]).stdout), "True\n");
    assert_eq!(text(&scene.plain(&[PYTHON, "-c", ASKED]).stdout), "False\n");
    assert_eq!(scene.check().0, Some(0));
}

#[test]
fn the_program_sees_its_own_path_variable_and_children_inherit_the_index() {
    let scene = packages(2);
    let program = "import os, subprocess, sys\nprint(os.environ.get('PYTHONPATH'), sys.path)\n";
    scene.file("env.py", program);
    scene.make(&[PYTHON, "app.py"]);
    scene.same(&[PYTHON, "env.py"]);
    let child = format!("import subprocess, sys\nsubprocess.run([sys.executable, '-c', {ASKED:?}], check=True)\n");
    scene.file("child.py", &child);
    assert_eq!(text(&scene.indexed(&[PYTHON, "child.py"]).stdout), "True\n");
    let mut without = Scene::new();
    without.file("app.py", "import json\n");
    without.make(&[PYTHON, "app.py"]);
    without.file("env.py", program);
    without.same(&[PYTHON, "env.py"]);
    // Without anything in the environment but PATH.
    without.variables.clear();
    assert!(without.same(&[PYTHON, "env.py"]).starts_with("None "));
}

#[test]
fn every_way_of_starting_python() {
    let scene = packages(3);
    scene.file("p1/pkg1/__main__.py", "import pkg2, sys\nprint(pkg2.__file__, __spec__.origin, sys.path)\n");
    scene.make(&[PYTHON, "app.py"]);
    let report = format!("{REPORT}\nreport('pkg1', 'single2', 'nothing', 'json', 'site')\nprint(sys.path)\n");
    scene.file("report.py", &report);
    for options in
        [&[][..], &["-I"], &["-E"], &["-S"], &["-s"], &["-B"], &["-O"], &["-OO"], &["-X", "utf8"], &["-W", "error"]]
    {
        scene.same(&[&[PYTHON], options, &["report.py"]].concat());
        scene.same(&[&[PYTHON], options, &["-c", &report]].concat());
        scene.same(&[&[PYTHON], options, &["-m", "pkg1"]].concat());
    }
    scene.same(&[PYTHON, "-m", "pkg1.sub"]);
    scene.same(&[PYTHON, "-m", "absent"]);
    scene.same(&[PYTHON, "absent.py"]);
    scene.same(&[PYTHON, "--version"]);
    // A program that begins in an archive or a directory.
    scene.file("dir/__main__.py", &report);
    scene.same(&[PYTHON, "dir"]);
    for ignored in ["-I", "-E"] {
        assert_eq!(text(&scene.indexed(&[PYTHON, ignored, "-c", ASKED]).stdout), "False\n");
    }
}

#[test]
fn namespaces_of_both_kinds() {
    let mut scene = Scene::new();
    for number in 0..4 {
        scene.file(&format!("p{number}/native/part{number}.py"), "value = 1\n");
        scene.file(&format!("p{number}/native/deep/leaf{number}.py"), "value = 2\n");
        let extend = "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n";
        scene.file(&format!("p{number}/old/__init__.py"), extend);
        scene.file(&format!("p{number}/old/part{number}.py"), "value = 3\n");
    }
    // A package ends the search for parts.
    scene.file("p1/mixed/a.py", "");
    scene.file("p2/mixed/__init__.py", "value = 'package'\n");
    scene.search("PYTHONPATH", &["p0", "p1", "p2", "p3"]);
    let mut app = REPORT.to_owned();
    for number in 0..4 {
        app.push_str(&format!("import native.part{number}, native.deep.leaf{number}, old.part{number}\n"));
        app.push_str(&format!("report('native.part{number}', 'native.deep.leaf{number}', 'old.part{number}')\n"));
    }
    app.push_str("import mixed\nprint(native.__path__, native.__spec__.origin, native.__file__, old.__path__)\nreport('mixed')\n");
    // A new entry extends a namespace that is imported already.
    app.push_str("import os\nsys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), 'p4'))\n");
    app.push_str("import native.part4\nreport('native.part4')\nprint(native.__path__)\n");
    scene.file("p4/native/part4.py", "value = 4\n");
    scene.file("app.py", &app);
    let printed = scene.made_and_same(&[PYTHON, "app.py"]);
    assert!(printed.contains("p4/native/part4.py") && printed.contains("package"), "{printed}");
}

#[test]
fn a_virtual_environment_with_editable_installs_and_pth_files() {
    let mut scene = Scene::new();
    scene.variables.push(("PYTHONDONTWRITEBYTECODE".to_owned(), String::new()));
    succeed(scene.command(PYTHON).args(["-m", "venv", "--without-pip", "venv"]));
    let python = scene.text_of("venv/bin/python3");
    let site = succeed(scene.command(&python).args(["-c", "import site; print(site.getsitepackages()[0], end='')"]));
    fs::create_dir_all(scene.path("project/src/edited")).unwrap();
    scene.file("project/src/edited/__init__.py", "value = 'editable'\n");
    scene.file("more/extra.py", "value = 'from a line of a .pth file'\n");
    scene.file("inside.py", "");
    let at = |name: &str| std::path::Path::new(&site).join(name);
    fs::write(at("__editable__.pth"), format!("{}\n", scene.text_of("project/src"))).unwrap();
    fs::write(at("more.pth"), format!("import sys; sys.path.insert(0, {:?})\n", scene.text_of("more"))).unwrap();
    // setuptools' other way: a finder of its own.
    let finder = format!(
        "import sys, importlib.util\nclass Finder:\n    @staticmethod\n    def find_spec(name, path=None, target=None):\n        \
         if name == 'mapped':\n            return importlib.util.spec_from_file_location(name, {:?})\n\
         def install():\n    sys.meta_path.append(Finder)\n",
        scene.text_of("mapped_here.py")
    );
    fs::write(at("__editable___finder.py"), finder).unwrap();
    fs::write(at("__editable___finder.pth"), "import __editable___finder; __editable___finder.install()\n").unwrap();
    fs::write(at("installed.py"), "value = 'installed'\n").unwrap();
    scene.file("mapped_here.py", "value = 'mapped'\n");
    let app = format!(
        "{REPORT}\nimport edited, extra, installed, mapped\nreport('edited', 'extra', 'installed', 'mapped')\n\
         print(sys.prefix, sys.base_prefix, sys.path)\n"
    );
    scene.file("app.py", &app);
    let printed = scene.made_and_same(&[&python, "app.py"]);
    for found in ["editable", "from a line of a .pth file", "installed", "mapped"] {
        assert!(printed.contains(found), "{found}: {printed}");
    }
    // The base interpreter inherits the environment and is another one, in whatever way it starts.
    scene.same(&[PYTHON, "-c", "import sys; print(sys.prefix, sys.path)"]);
}

#[test]
fn archives_eggs_and_compiled_files_without_source() {
    let mut scene = Scene::new();
    let prepare = "
import compileall, py_compile, zipfile
for name, module in (('a.zip', 'inzip'), ('b.egg', 'inegg')):
    with zipfile.ZipFile(name, 'w') as archive:
        archive.writestr(module + '.py', 'value = __file__\\n')
        archive.writestr('both_' + module + '/__init__.py', 'from . import leaf\\n')
        archive.writestr('both_' + module + '/leaf.py', 'value = 1\\n')
py_compile.compile('source.py', cfile='plain/compiled.pyc')
";
    scene.file("source.py", "value = 'compiled'\n");
    scene.file("plain/inzip.py", "value = 'shadowed by the archive'\n");
    scene.file("dir.egg/ineggdir.py", "value = 'egg directory'\n");
    succeed(scene.command(PYTHON).args(["-c", prepare]));
    fs::remove_file(scene.path("source.py")).unwrap();
    scene.search("PYTHONPATH", &["a.zip", "plain", "b.egg", "dir.egg", "no.zip"]);
    let names = "'inzip', 'inegg', 'both_inzip.leaf', 'both_inegg.leaf', 'ineggdir', 'compiled'";
    let app = format!(
        "{REPORT}\nimport inzip, inegg, both_inzip.leaf, both_inegg.leaf, ineggdir, compiled\nreport({names})\n"
    );
    scene.file("app.py", &app);
    let printed = scene.made_and_same(&[PYTHON, "app.py"]);
    assert!(printed.contains("a.zip/inzip.py") && printed.contains("SourcelessFileLoader"), "{printed}");
}

#[test]
fn extension_modules_go_before_sources() {
    let mut scene = Scene::new();
    let find = "import glob, sysconfig; print(glob.glob(sysconfig.get_path('platstdlib') + '/lib-dynload/_bz2.*.so')[0], end='')";
    let extension = succeed(Command::new(PYTHON).args(["-I", "-c", find]));
    let name = std::path::Path::new(&extension).file_name().unwrap().to_str().unwrap().to_owned();
    fs::create_dir_all(scene.path("p0")).unwrap();
    fs::create_dir_all(scene.path("p1")).unwrap();
    fs::copy(&extension, scene.path("p1").join(&name)).unwrap();
    scene.file("p1/_bz2.py", "value = 'source'\n");
    scene.search("PYTHONPATH", &["p0", "p1"]);
    scene.file("app.py", &format!("{REPORT}\nimport _bz2\nreport('_bz2')\n"));
    let printed = scene.made_and_same(&[PYTHON, "app.py"]);
    assert!(printed.contains("ExtensionFileLoader") && printed.contains(&scene.text_of("p1")), "{printed}");
    // The extension goes, and its source is found instead.
    fs::remove_file(scene.path("p1").join(&name)).unwrap();
    assert!(scene.same(&[PYTHON, "app.py"]).contains("source"));
    // And it comes back in front of it.
    fs::copy(&extension, scene.path("p1").join(&name)).unwrap();
    assert!(scene.same(&[PYTHON, "app.py"]).contains("ExtensionFileLoader"));
}

#[test]
fn metadata_entry_points_and_resources() {
    let mut scene = Scene::new();
    for number in 0..5 {
        let info = format!("p{number}/dist{number}-1.{number}.dist-info");
        scene.file(
            &format!("{info}/METADATA"),
            &format!("Metadata-Version: 2.1\nName: dist{number}\nVersion: 1.{number}\n"),
        );
        scene.file(&format!("{info}/entry_points.txt"), &format!("[group]\npoint{number} = code{number}:value\n"));
        scene.file(&format!("p{number}/code{number}/__init__.py"), &format!("value = 'loaded {number}'\n"));
        scene.file(&format!("p{number}/code{number}/data/text.txt"), &format!("resource {number}\n"));
    }
    scene.search("PYTHONPATH", &["p0", "p1", "p2", "p3", "p4"]);
    let app = "
import importlib.metadata as metadata, importlib.resources as resources, pkgutil
for number in range(5):
    print(metadata.version(f'dist{number}'))
for point in sorted(metadata.entry_points(group='group'), key=lambda point: point.name):
    print(point.name, point.load())
for number in range(5):
    print((resources.files(f'code{number}') / 'data' / 'text.txt').read_text(), end='')
    print(pkgutil.get_data(f'code{number}', 'data/text.txt'))
try:
    metadata.version('absent')
except metadata.PackageNotFoundError as error:
    print(error)
print(sorted(name for _, name, _ in pkgutil.iter_modules() if name.startswith('code')))
";
    scene.file("app.py", app);
    let printed = scene.made_and_same(&[PYTHON, "app.py"]);
    assert!(printed.contains("point4 loaded 4") && printed.contains("resource 3"), "{printed}");
}

#[test]
fn processes_made_by_fork_forkserver_and_spawn() {
    let scene = packages(3);
    let app = "
import multiprocessing, sys
def work(number):
    module = __import__(f'pkg{number}')
    return module.__file__, module.value, 'single%d' % number in sys.modules
if __name__ == '__main__':
    for method in ('fork', 'forkserver', 'spawn'):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(work, [0, 1, 2]))
";
    scene.file("pool.py", app);
    let printed = scene.made_and_same(&[PYTHON, "pool.py"]);
    assert!(printed.contains("spawn") && printed.contains("p2/pkg2/__init__.py"), "{printed}");
}

#[test]
fn threads_that_import_at_the_same_time() {
    let scene = packages(20);
    let app = "
import importlib, threading
results = {}
def work(offset):
    for number in range(20):
        name = f'pkg{(number + offset * 7) % 20}'
        results[name] = importlib.import_module(name + '.sub').__file__
threads = [threading.Thread(target=work, args=(offset,)) for offset in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
for name in sorted(results): print(name, results[name])
";
    scene.file("threads.py", app);
    let printed = scene.made_and_same(&[PYTHON, "threads.py"]);
    assert_eq!(printed.lines().count(), 20);
}

#[test]
fn entries_that_are_relative_missing_unreadable_repeated_or_links() {
    let mut scene = Scene::new();
    for (directory, name) in
        [("real", "linked"), ("relative", "near"), ("twice", "double"), ("slash", "trailing"), ("last", "end")]
    {
        scene.file(&format!("{directory}/{name}.py"), &format!("value = '{directory}'\n"));
    }
    scene.file("hidden/end.py", "value = 'hidden'\n");
    fs::set_permissions(scene.path("hidden"), std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    symlink("real", scene.path("link")).unwrap();
    symlink("nowhere", scene.path("dangling")).unwrap();
    scene.file("file", "not a directory\n");
    let slash = format!("{}/", scene.text_of("slash"));
    let odd = format!("{}/../twice", scene.text_of("slash"));
    let entries =
        ["link", "dangling", "./relative", "missing", "hidden", "twice", "twice", &slash, "", &odd, "file", "last"];
    scene.search("PYTHONPATH", &entries);
    let names = "'linked', 'near', 'double', 'trailing', 'end', 'absent'";
    let app = format!("{REPORT}\nimport linked, near, double, trailing, end\nreport({names})\nprint(sys.path)\n");
    scene.file("app.py", &app);
    scene.made_and_same(&[PYTHON, "app.py"]);
    // The link leads elsewhere.
    scene.file("other/linked.py", "value = 'other'\n");
    fs::remove_file(scene.path("link")).unwrap();
    symlink("other", scene.path("link")).unwrap();
    assert!(scene.same(&[PYTHON, "app.py"]).contains("other"));
    // What was missing appears, before the others.
    scene.file("missing/end.py", "value = 'appeared'\n");
    let printed = scene.same(&[PYTHON, "app.py"]);
    assert!(printed.contains("appeared") || printed.contains("hidden"), "{printed}");
    fs::set_permissions(scene.path("hidden"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn names_that_are_not_utf_8() {
    let mut scene = Scene::new();
    let odd = std::ffi::OsString::from_vec(b"p\xff\xfe".to_vec());
    let directory = scene.root().join(&odd);
    fs::create_dir_all(directory.join("pkg")).unwrap();
    fs::write(directory.join("pkg/__init__.py"), "value = 'odd'\n").unwrap();
    let strange = std::ffi::OsString::from_vec(b"m\xe9.py".to_vec());
    fs::write(directory.join(strange), "").unwrap();
    scene.file("p1/größe.py", "value = 'größe'\n");
    scene.file("p1/тест/__init__.py", "value = 'тест'\n");
    scene.search("PYTHONPATH", &["p1"]);
    let app = format!(
        "{REPORT}
import os
here = os.fsencode(os.path.dirname(os.path.abspath(__file__)))
sys.path.append(os.fsdecode(here + b'/p\\xff\\xfe'))
import pkg, größe, тест
for name in ('pkg', 'größe', 'тест'):
    print(ascii(sys.modules[name].__file__), sys.modules[name].value)
"
    );
    scene.file("app.py", &app);
    let printed = scene.made_and_same(&[PYTHON, "app.py"]);
    assert!(printed.contains("\\udcff") && printed.contains("тест"), "{printed}");
}

#[test]
fn a_path_that_changes_while_the_program_runs() {
    let mut scene = Scene::new();
    for directory in ["a", "b", "c"] {
        scene.file(&format!("{directory}/which.py"), &format!("value = '{directory}'\n"));
        scene.file(&format!("{directory}/only_{directory}.py"), "value = 'only'\n");
    }
    scene.search("PYTHONPATH", &["a", "b"]);
    let app = format!(
        "{REPORT}
import os
here = os.path.dirname(os.path.abspath(__file__))
import which, only_b
report('which', 'only_b', 'only_c')
sys.path.insert(0, here + '/c')
del sys.modules['which']
import which, only_c
report('which', 'only_c')
sys.path.remove(here + '/c')
sys.path[:] = [entry for entry in sys.path if not entry.endswith('/a')]
del sys.modules['which']
import which
report('which', 'only_a')
sys.path = ['c'] + sys.path
os.chdir(here)
del sys.modules['which']
import which
report('which')
os.chdir('/')
del sys.modules['which']
import which
report('which')
"
    );
    scene.file("app.py", &app);
    let printed = scene.made_and_same(&[PYTHON, "app.py"]);
    assert!(printed.contains("only_a absent"), "{printed}");
}

#[test]
fn a_program_that_installs_modules_while_it_runs() {
    let mut scene = Scene::new();
    scene.file("p0/first.py", "value = 1\n");
    scene.file("p1/pkg/__init__.py", "value = 2\n");
    scene.file("p1/old.py", "value = 'old'\n");
    scene.search("PYTHONPATH", &["p0", "p1"]);
    let app = format!(
        "{REPORT}
import os, importlib
here = os.path.dirname(os.path.abspath(__file__))
import first, pkg
def write(name, text):
    with open(os.path.join(here, name), 'w') as file:
        file.write(text)
for name in ('fresh', 'pkg.fresh'):
    try:
        importlib.import_module(name)
    except ImportError as error:
        print(error)
    write('p1/' + name.replace('.', '/') + '.py', 'value = \"installed\"\\n')
    importlib.import_module(name)
    report(name)
# In an earlier directory: Python asks for invalidate_caches() then.
write('p0/old.py', 'value = \"new\"\\n')
importlib.invalidate_caches()
import old
report('old')
# A module that is edited before and after it is imported.
write('p1/edited.py', 'value = 1\\n')
import edited
print(edited.value)
write('p1/edited.py', 'value = 22\\n')
importlib.reload(edited)
print(edited.value)
for name in ('p1/fresh.py', 'p1/pkg/fresh.py', 'p0/old.py', 'p1/edited.py'):
    os.remove(os.path.join(here, name))
    cached = os.path.join(here, os.path.dirname(name), '__pycache__')
    for left in os.listdir(cached):
        if left.startswith(os.path.basename(name)[:-2]):
            os.remove(os.path.join(cached, left))
"
    );
    scene.file("app.py", &app);
    let printed = scene.made_and_same(&[PYTHON, "app.py"]);
    assert!(
        printed.contains("No module named 'fresh'") && printed.contains("installed") && printed.contains("22"),
        "{printed}"
    );
}

#[test]
fn finders_and_loaders_of_the_program_itself() {
    let mut scene = Scene::new();
    scene.file("p0/hooked.py", "value = 'plain'\n");
    scene.file("p0/other.py", "value = 'other'\n");
    scene.search("PYTHONPATH", &["p0"]);
    let app = format!(
        "{REPORT}
import importlib.abc, importlib.machinery, os, types
here = os.path.dirname(os.path.abspath(__file__))
class Loader(importlib.machinery.SourceFileLoader):
    def source_to_code(self, data, path, **options):
        return super().source_to_code(data.replace(b'plain', b'changed'), path)
    def cache_bytecode(self, *arguments):
        pass
    _cache_bytecode = cache_bytecode
    def path_stats(self, path):
        return {{'mtime': 1, 'size': 2}}
class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name == 'hooked':
            path = here + '/p0/hooked.py'
            return importlib.util.spec_from_file_location(name, path, loader=Loader(name, path))
sys.meta_path.insert(0, Finder())
class Entry:
    def __init__(self, path):
        if path != 'made-up':
            raise ImportError
    def find_spec(self, name, target=None):
        if name == 'invented':
            return importlib.util.spec_from_loader(name, loader=None, is_package=None) and None
        return None
    def invalidate_caches(self):
        pass
sys.path_hooks.append(Entry)
sys.path.insert(0, 'made-up')
import hooked, other
print(hooked.value, other.value)
print([getattr(finder, '__name__', type(finder).__name__) for finder in sys.meta_path])
print(sorted(key.rsplit('/', 1)[-1] for key, value in sys.path_importer_cache.items() if isinstance(value, Entry)))
sys.path.insert(0, 7)
sys.path.insert(0, b'bytes')
import wave
print(wave.__name__)
"
    );
    scene.file("app.py", &app);
    let printed = scene.made_and_same(&[PYTHON, "app.py"]);
    assert!(printed.contains("changed other"), "{printed}");
}

#[test]
fn many_modules() {
    let mut scene = Scene::new();
    for directory in 0..100 {
        let path = scene.path(&format!("p/pkg{directory}"));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("__init__.py"), "").unwrap();
        for module in 0..1000 {
            fs::File::create(path.join(format!("m{module}.py"))).unwrap();
        }
    }
    scene.search("PYTHONPATH", &["p"]);
    let app = "import importlib\nfor number in range(100):\n    importlib.import_module(f'pkg{number}.m{number}')\n\
               import pkg7.m999\nprint(pkg7.m999.__file__)\n";
    scene.file("app.py", app);
    scene.file("others.py", "import pkg3.m500, pkg99.m1\nprint(pkg3.m500.__file__, pkg99.m1.__file__)\n");
    let made = scene.make(&[PYTHON, "app.py"]);
    assert!(made["languages"][0]["modules"].as_u64().unwrap() > 200, "{made}");
    scene.same(&[PYTHON, "app.py"]);
    // Modules that were not recorded are found, too.
    scene.same(&[PYTHON, "others.py"]);
}
