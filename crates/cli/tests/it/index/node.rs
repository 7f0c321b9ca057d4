//! Programs for Node: with the index they load the same files, print the same and end the same, also after changes.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use coldstart_testing::{as_unprivileged, copy_program, is_root};
use rustix::fs::{XattrFlags, setxattr};

use super::scene::Scene;
use crate::text;

const NODE: &str = "/usr/bin/node";

/// A module that tells its file and a value.
fn module(value: &str) -> String {
    format!("exports.value = '{value}'; exports.file = __filename;\n")
}

fn scene() -> Scene {
    let mut scene = Scene::new();
    for directory in ["a", "b", "c"] {
        scene.file(&format!("{directory}/only-{directory}.js"), &module(directory));
    }
    scene.file("b/both/package.json", r#"{"name":"both","main":"lib/start"}"#);
    scene.file("b/both/lib/start.js", &format!("require('../part'); {}", module("b")));
    scene.file("b/both/part/index.js", &module("part"));
    scene.file("c/both/index.js", &module("c"));
    scene.file("c/data.json", r#"{"value":"json"}"#);
    scene.file("a/@team/one/index.js", &module("one of a"));
    scene.file("c/@team/two/index.js", &module("two of c"));
    scene.search("NODE_PATH", &["a", "b", "c"]);
    let app = "for (const name of ['only-a', 'only-b', 'only-c', 'both', 'both/part', 'data', '@team/one', '@team/two', 'not-there', 'both/none', 'fs']) {\n\
        \x20 try { const it = require(name); console.log(name, it.value, it.file, require.resolve(name)); }\n\
        \x20 catch (error) { console.log(name, error.code, error.message); }\n}\n\
        console.log(Object.keys(require.cache), module.paths, require('module').globalPaths, process.env.NODE_PATH);\n\
        process.exitCode = 6;\n";
    scene.file("app.js", app);
    scene
}

#[track_caller]
fn noticed(scene: &Scene, printed: &str) {
    let said = scene.same(&[NODE, "app.js"]);
    assert!(said.contains(printed), "{printed}: {said}");
    assert_eq!(scene.check().0, Some(1));
}

#[test]
fn node_loads_the_same_files_with_fewer_calls() {
    let mut scene = scene();
    let more: Vec<String> = (0..60).map(|number| format!("more{number}")).collect();
    for directory in &more {
        fs::create_dir(scene.path(directory)).unwrap();
        // A scope that all of them have.
        fs::create_dir(scene.path(directory).join("@team")).unwrap();
    }
    let entries: Vec<&str> = more.iter().map(String::as_str).chain(["a", "b", "c"]).collect();
    scene.search("NODE_PATH", &entries);
    let made = scene.make(&[NODE, "app.js"]);
    assert_eq!(made["languages"][0]["language"], "node");
    let calls = |number: usize| made["calls"][number].as_u64().unwrap();
    assert!(calls(1) * 3 < calls(0), "{made}");
    assert!(scene.same(&[NODE, "app.js"]).contains("two of c"));
}

#[test]
fn every_way_of_starting_node() {
    let mut scene = scene();
    scene.file("a/early.js", "console.log('early', process.argv.length);\n");
    scene.make(&[NODE, "app.js"]);
    let code = "console.log(require('both').file, require('./c/data').value)";
    scene.same(&[NODE, "-e", code]);
    scene.same(&[NODE, "-p", "require('only-b').value + process.execArgv"]);
    scene.same(&[NODE, "--require", "early", "app.js", "argument"]);
    scene.same(&[NODE, "--preserve-symlinks", "app.js"]);
    scene.same(&[NODE, "-c", "app.js"]);
    scene.same(&[NODE, "--version"]);
    scene.same(&[NODE, "absent.js"]);
    scene.file("dir/package.json", r#"{"main":"main.js"}"#);
    scene.file("dir/main.js", code);
    scene.same(&[NODE, "dir"]);
    scene.file(
        "app.mjs",
        "import both from './b/both/lib/start.js'; import { createRequire } from 'module';\n\
        console.log(both.file, createRequire(import.meta.url)('only-c').file);\n\
        try { await import('only-c') } catch (error) { console.log(error.code) }\n",
    );
    scene.same(&[NODE, "app.mjs"]);
    // Options of one's own stay.
    scene.variables.push(("NODE_OPTIONS".to_owned(), "--require early --no-warnings".to_owned()));
    scene.same(&[NODE, "app.js"]);
    scene.make(&[NODE, "app.js"]);
    assert!(scene.same(&[NODE, "app.js"]).starts_with("early"));
}

#[test]
fn workers_clusters_and_children_of_node() {
    let scene = scene();
    let app = "const { Worker, isMainThread } = require('worker_threads');\nconst cluster = require('cluster');\n\
        const { fork, execFileSync } = require('child_process');\nconst show = (who) => console.log(who, require('both').file, require('only-c').file);\n\
        if (!isMainThread) show('worker');\nelse if (cluster.isWorker) { show('cluster'); process.exit(0); }\n\
        else if (process.argv[2] === 'child') show('child');\n\
        else { show('main'); console.log(execFileSync(process.execPath, [__filename, 'child']) + '');\n\
        \x20 new Worker(__filename).on('exit', () => fork(__filename, ['child']).on('exit', () => cluster.fork().on('exit', (code) => console.log(code)))); }\n";
    scene.file("many.js", app);
    scene.made_and_same(&[NODE, "many.js"]);
}

#[test]
fn packages_with_exports_imports_links_and_their_own_dependencies() {
    let scene = scene();
    scene.file("node_modules/mapped/package.json", r##"{"name":"mapped","exports":{".":"./main.js","./sub":{"require":"./deep/sub.cjs"}},"imports":{"#inner":"./deep/inner.js","#other":"nested"}}"##);
    scene.file(
        "node_modules/mapped/main.js",
        "exports.all = [require('#inner'), require('#other'), require('mapped/sub'), require('nested')];\n",
    );
    scene.file("node_modules/mapped/deep/inner.js", "module.exports = __filename;\n");
    scene.file("node_modules/mapped/deep/sub.cjs", "module.exports = __filename;\n");
    scene.file("node_modules/mapped/node_modules/nested/index.js", "module.exports = __filename;\n");
    scene.file("node_modules/nested/index.js", "module.exports = __filename;\n");
    // As pnpm and workspaces have it.
    scene.file(
        "store/linked@1/node_modules/linked/index.js",
        "exports.file = __filename; exports.nested = require('beside');\n",
    );
    scene.file("store/linked@1/node_modules/beside/index.js", "module.exports = __filename;\n");
    symlink("../store/linked@1/node_modules/linked", scene.path("node_modules/linked")).unwrap();
    scene.file(
        "lib/deep/part.js",
        "module.exports = [require('mapped').all, require('nested'), require('linked'), require('only-a').file];\n",
    );
    let app = "console.log(require('./lib/deep/part'));\n\
        for (const name of ['mapped/deep/inner.js', 'mapped/none', 'both/../both', 'both/', './both', 'nested/index', 'linked/package.json', 'a.b', '@team', 'Both'])\n\
        \x20 try { console.log(require.resolve(name)) } catch (error) { console.log(name, error.code) }\n\
        console.log(require.resolve('both', { paths: [__dirname + '/c'] }), require.resolve.paths('x'));\n\
        const { createRequire } = require('module');\n\
        console.log(createRequire(__dirname + '/store/linked@1/node_modules/linked/x.js').resolve('beside'));\n\
        require.extensions['.special'] = (module, file) => { module.exports = 'special ' + file };\n\
        console.log(require('odd'));\n";
    scene.file("b/odd.special", "");
    scene.file("packages.js", app);
    assert!(scene.made_and_same(&[NODE, "packages.js"]).contains("special "));
    // The store's directory changes, and so does the link.
    scene.file("store/linked@2/node_modules/linked/index.js", "exports.file = __filename;\n");
    fs::remove_file(scene.path("node_modules/linked")).unwrap();
    symlink("../store/linked@2/node_modules/linked", scene.path("node_modules/linked")).unwrap();
    assert!(scene.same(&[NODE, "packages.js"]).contains("linked@2"));
    // A dependency of one's own appears.
    scene.file("lib/deep/node_modules/nested/index.js", "module.exports = 'nearer';\n");
    assert!(scene.same(&[NODE, "packages.js"]).contains("nearer"));
}

#[test]
fn a_program_for_node_that_installs_packages_while_it_runs() {
    let scene = scene();
    let app = "const fs = require('fs');\nconst look = () => { try { return require('fresh') } catch (error) { return error.code } };\n\
        console.log(require('only-c').value, look());\nfs.writeFileSync(__dirname + '/b/fresh.js', 'module.exports = __filename');\n\
        console.log(look());\nfs.unlinkSync(__dirname + '/b/fresh.js');\n\
        fs.renameSync(__dirname + '/c/only-c.js', __dirname + '/c/away.js');\n\
        delete require.cache[require.resolve('only-c')];\ntry { require('only-c') } catch (error) { console.log(error.code) }\n\
        console.log(Object.keys(require('module')._pathCache).map((key) => key.split('\\0')[0]).filter((key) => key[0] !== '/').sort());\n\
        fs.writeFileSync(__dirname + '/a/both.js', 'module.exports = 1');\nfor (let time = 0; time < 2; time++) {\n\
        \x20 console.log(require.resolve('both'), look());\n  require('module')._pathCache = Object.create(null); }\n\
        fs.unlinkSync(__dirname + '/a/both.js');\n\
        fs.renameSync(__dirname + '/c/away.js', __dirname + '/c/only-c.js');\n";
    let app = app.replace("const look", "require.resolve('both');\nconst look");
    scene.file("install.js", &app);
    scene.make(&[NODE, "install.js"]);
    assert!(scene.same(&[NODE, "install.js"]).contains("b/fresh.js"));
}

#[test]
fn packages_of_node_that_shadow_others_or_are_removed() {
    let scene = scene();
    scene.make(&[NODE, "app.js"]);
    assert_eq!(scene.check().0, Some(0));
    scene.file("b/both/part/index.js", &module("edited"));
    assert!(scene.same(&[NODE, "app.js"]).contains("both/part edited"));
    scene.file("a/both.json", r#"{"value":"shadow"}"#);
    noticed(&scene, "both shadow");
    fs::remove_file(scene.path("a/both.json")).unwrap();
    scene.file("a/@team/two.js", &module("shadow in the scope"));
    noticed(&scene, "shadow in the scope");
    scene.file("b/@team/one/index.js", &module("behind the first"));
    fs::remove_dir_all(scene.path("a/@team")).unwrap();
    noticed(&scene, "behind the first");
    fs::remove_dir_all(scene.path("b/both")).unwrap();
    noticed(&scene, "both c");
    scene.file("a/not-there/index.js", &module("came late"));
    noticed(&scene, "came late");
    scene.file("node_modules/only-b/index.js", &module("nearest"));
    noticed(&scene, "nearest");
    fs::rename(scene.path("c"), scene.path("moved")).unwrap();
    symlink("moved", scene.path("c")).unwrap();
    scene.same(&[NODE, "app.js"]);
}

#[test]
fn odd_entries_of_node_path() {
    let mut scene = scene();
    symlink("b", scene.path("link")).unwrap();
    fs::create_dir_all(scene.path("x/y")).unwrap();
    symlink("x/y", scene.path("deep")).unwrap();
    scene.file("file", "");
    let [slash, up] = [format!("{}/", scene.text_of("c")), format!("{}/../a", scene.text_of("deep"))];
    scene.search("NODE_PATH", &["missing", "./a", "file", &up, "link", "link", &slash, ""]);
    scene.made_and_same(&[NODE, "app.js"]);
    scene.file("missing/both.js", &module("appeared"));
    noticed(&scene, "appeared");
    fs::remove_file(scene.path("link")).unwrap();
    scene.file("other/only-b.js", &module("other"));
    symlink("other", scene.path("link")).unwrap();
    noticed(&scene, "only-b other");
    scene.search("NODE_PATH", &["c", "a"]);
    scene.same(&[NODE, "app.js"]);
}

#[test]
fn an_index_for_node_that_is_damaged_or_of_another_node() {
    let mut scene = scene();
    scene.variables.push(("NODE_OPTIONS".to_owned(), "--no-warnings".to_owned()));
    scene.make(&[NODE, "app.js"]);
    let index = scene.path("index/current/node/index.json");
    let good = fs::read(&index).unwrap();
    for bad in [&good[..0], &good[..good.len() / 2], b"[]", b"null"] {
        fs::write(&index, bad).unwrap();
        scene.same(&[NODE, "app.js"]);
    }
    // Another Node sees its variable as it was.
    let other = text(&good).replacen("\"tag\":\"v", "\"tag\":\"v1", 1);
    fs::write(&index, other).unwrap();
    scene.same(&[NODE, "app.js"]);
    assert_eq!(scene.same(&[NODE, "-p", "process.env.NODE_OPTIONS"]), "--no-warnings\n");
}

#[test]
fn settings_for_node_and_a_place_whose_name_must_be_quoted() {
    let scene = scene();
    let app = scene.text_of("app.js");
    let output = scene.coldstart(&["make", "-o", "in\"dex", "--", NODE, &app]);
    assert_eq!(output.status.code(), Some(0), "{}{}", text(&output.stdout), text(&output.stderr));
    let settings = text(&scene.coldstart(&["env", "in\"dex"]).stdout);
    let run = |script: &str| {
        let output = scene.command("sh").args(["-c", script]).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let used = run(&format!("{settings}\n{NODE} -p 'require(\"module\")._findPath.toString().length < 200'"));
    assert_eq!(used, (Some(0), "true\n".to_owned(), String::new()));
    assert_eq!(run(&format!("{settings}\n{NODE} app.js")), run(&format!("{NODE} app.js")));
    // Once the index is gone, the settings do nothing.
    fs::remove_dir_all(scene.path("in\"dex")).unwrap();
    assert_eq!(run(&format!("{settings}\n{NODE} app.js")), run(&format!("{NODE} app.js")));
}

/// `CAP_NET_BIND_SERVICE` permitted and effective, as `security.capability` says it (`struct vfs_cap_data`, version 2).
const CAPABILITY: [u8; 20] = [1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

#[test]
fn a_node_with_rights_of_its_own_is_refused_with_the_reason() {
    if !is_root() {
        return;
    }
    // Where others than root may enter.
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let root = directory.path().canonicalize().unwrap();
    copy_program(NODE, root.join("node"));
    copy_program(env!("CARGO_BIN_EXE_coldstart"), root.join("coldstart"));
    fs::create_dir(root.join("a")).unwrap();
    fs::write(root.join("a/one.js"), "").unwrap();
    fs::write(root.join("app.js"), "require('one');\n").unwrap();
    if let Err(error) = setxattr(root.join("node"), "security.capability", &CAPABILITY, XattrFlags::empty()) {
        return coldstart_testing::skip(&format!("no file capabilities here: {error}"));
    }
    let mut command = as_unprivileged(root.join("coldstart"));
    command.args(["index", "make", "-o", "index", "--", "./node", "app.js"]).current_dir(&root);
    let output = command.env("NODE_PATH", root.join("a")).env("HOME", &root).output().unwrap();
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("node` gets rights that its caller has not") && said.contains("hint: "), "{said}");
}
