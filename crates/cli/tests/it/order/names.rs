//! Names of stripped objects, and what is refused.

use std::process::{Child, Stdio};
use std::time::Duration;

use coldstart_testing::{is_there, skip, succeed, within};

use super::scene::Scene;
use crate::text;

/// A stripped program, traced, and its debug file.
fn stripped() -> Scene {
    let scene = Scene::new("gcc", &[]);
    scene.link("old", &["-fuse-ld=lld"]);
    std::fs::create_dir(scene.path("debug")).unwrap();
    succeed(scene.command("objcopy").args(["--only-keep-debug", "old", "debug/app.debug"]));
    succeed(scene.command("strip").args(["-o", "app", "old"]));
    scene.trace("t", &["./app"]);
    scene
}

#[test]
fn a_debug_file_beside_the_program_is_found_and_names_the_same() {
    let scene = stripped();
    let words = ["order", "functions", "t", "--for", "lld", "-o"];
    scene.refused(&[&words[..], &["list"]].concat(), "is stripped");
    scene.json(&[&words[..], &["list", "--symbols", "old", "--json"]].concat(), 0);
    let by_file = scene.json(&[&words[..], &["other", "--symbols", "debug/app.debug", "--json"]].concat(), 0);
    assert!(by_file["names_from"]["path"].as_str().unwrap().ends_with("debug/app.debug"), "{by_file}");
    let read = |name: &str| std::fs::read(scene.path(name)).unwrap();
    assert_eq!(read("list"), read("other"));
    std::fs::create_dir(scene.path(".debug")).unwrap();
    std::fs::copy(scene.path("debug/app.debug"), scene.path(".debug/app.debug")).unwrap();
    succeed(scene.command("objcopy").args(["--add-gnu-debuglink=.debug/app.debug", "app"]));
    let linked = scene.json(&[&words[..], &["list", "--json"]].concat(), 0);
    assert!(linked["names_from"]["path"].as_str().unwrap().ends_with(".debug/app.debug"), "{linked}");
    assert_eq!(read("list"), read("other"));
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_debuginfod_server_names_a_stripped_program() {
    if !is_there("debuginfod") || !is_there("debuginfod-find") {
        return skip("needs debuginfod");
    }
    let scene = stripped();
    let port = coldstart_testing::distinct_port("127.0.0.1");
    let mut serve = scene.command("debuginfod");
    serve.args(["-F", "debug", "-d", "index.sqlite", "-p", &port.to_string()]).env("HOME", scene.path(""));
    let server = Server(serve.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let ask = |list: &str| {
        let mut ask = scene.command(env!("CARGO_BIN_EXE_coldstart"));
        ask.args(["order", "functions", "t", "--for", "lld", "--debuginfod", "-o", list])
            .env("DEBUGINFOD_URLS", format!("http://127.0.0.1:{port}"))
            .env("DEBUGINFOD_CACHE_PATH", scene.path("cache"))
            .env("HOME", scene.path(""));
        // A failure is remembered for ten minutes.
        let _ = std::fs::remove_dir_all(scene.path("cache"));
        ask.output().unwrap()
    };
    assert!(within(Duration::from_secs(60), || ask("list").status.success()), "{}", text(&ask("list").stderr));
    scene.json(&["order", "functions", "t", "--symbols", "old", "--for", "lld", "-o", "other", "--json"], 0);
    assert_eq!(std::fs::read(scene.path("list")).unwrap(), std::fs::read(scene.path("other")).unwrap());
    drop(server);
    let failed = ask("third");
    assert!(
        failed.status.code() == Some(2) && text(&failed.stderr).contains("no debug file"),
        "{}",
        text(&failed.stderr)
    );
}

#[test]
fn other_builds_and_traces_without_calls_are_refused() {
    let scene = stripped();
    let words = ["order", "functions", "t", "--for", "lld", "-o", "list"];
    scene.link("reversed", &["-fuse-ld=lld", "-Wl,--shuffle-sections=*=-1"]);
    scene
        .refused(&[&words[..], &["--symbols", "reversed"]].concat(), "another build than the traced one: its build id");
    scene.trace("u", &["./reversed"]);
    scene.refused(
        &["order", "functions", "t", "u", "--symbols", "old", "--for", "lld", "-o", "list"],
        "different builds",
    );
    let check = ["order", "check", "no-list", "--before", "reversed", "--after", "old", "--trace", "t"];
    std::fs::write(scene.path("no-list"), "main\n").unwrap();
    scene.refused(&check, "is not of this build");
    scene.refused(&[&words[..], &["--object", "libnone.so"]].concat(), "has no object");
    let pages = scene.coldstart(&["trace", "--layers", "pages", "-o", "v", "--", "./app"]);
    assert!(pages.status.success());
    scene.refused(&["order", "functions", "v", "--symbols", "old", "--for", "lld", "-o", "list"], "has no first calls");
    std::fs::write(scene.path("list"), "mine").unwrap();
    scene.refused(&[&words[..], &["--symbols", "old"]].concat(), "already exists");
    assert_eq!(std::fs::read(scene.path("list")).unwrap(), b"mine");
    std::fs::write(scene.path("empty"), "# nothing\n").unwrap();
    scene.refused(&["order", "check", "empty", "--before", "old", "--after", "reversed"], "lists no function");
    let full = scene
        .command("sh")
        .args([
            "-c",
            &format!("{} order functions t --symbols old --for lld -o /dev/full", env!("CARGO_BIN_EXE_coldstart")),
        ])
        .output()
        .unwrap();
    assert_eq!(full.status.code(), Some(2));
}

#[cfg(target_arch = "x86_64")]
#[test]
fn a_32_bit_program_is_ordered() {
    if !is_there("i686-linux-gnu-gcc") {
        return skip("needs a compiler for i386");
    }
    let scene = Scene::new("i686-linux-gnu-gcc", &[]);
    let link = ["a.o", "b.o", "-static", "-Wl,--build-id=sha1", "-o", "old"];
    succeed(scene.command("i686-linux-gnu-gcc").args(link));
    scene.trace("t", &["./old"]);
    let made = scene.json(&["order", "functions", "t", "--for", "lld", "-o", "list", "--json"], 0);
    assert!(made["functions"].as_u64().unwrap() > 40, "{made}");
}
