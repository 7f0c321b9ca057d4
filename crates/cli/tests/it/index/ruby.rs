//! Programs in Ruby: with the index they load the same files, print the same and end the same, also after changes.

use std::fs;
use std::os::unix::fs::symlink;

use super::scene::Scene;
use crate::text;

const RUBY: &str = "/usr/bin/ruby";
/// Prints every loaded file.
const REPORT: &str = "puts $LOADED_FEATURES.sort, $LOAD_PATH";

fn source(name: &str, more: &str) -> String {
    format!(
        "{more}\nmodule {name}\n  def self.place\n    [__FILE__, __dir__, __LINE__, caller_locations(0, 1).first.label]\n  end\nend\n"
    )
}

/// Gives `$from` a value.
fn from(place: &str) -> String {
    format!("$from = '{place}'\n")
}

fn scene() -> Scene {
    let mut scene = Scene::new();
    for (number, directory) in ["a", "b", "c", "d"].iter().enumerate() {
        scene.file(&format!("{directory}/only{number}.rb"), &source("Only", &format!("require 'only{number}/part'")));
        scene.file(&format!("{directory}/only{number}/part.rb"), &source("Part", "require_relative 'beside'"));
        scene.file(&format!("{directory}/only{number}/beside.rb"), &source("Beside", ""));
    }
    scene.file("b/both.rb", &from("b"));
    scene.file("c/both.rb", &from("c"));
    scene.file("c/both/deep.rb", "$deep = 'c'\n");
    scene.file("d/both/deep.rb", "$deep = 'd'\n");
    scene.search("RUBYLIB", &["a", "b", "c", "d"]);
    let app = format!(
        "require 'only0'; require 'only1'; require 'only2.rb'; require 'only3'; require 'both'; require 'both/deep'\n\
         require 'json'; require 'set'; require 'socket'; require 'etc.so'\nputs $from, $deep, Only.place, Part.place, Beside.place\n\
         p require('both'), require('only0/part'), require('thread'), JSON.generate([1]), Gem.loaded_specs.keys.sort\n\
         begin; require 'not/there'; rescue LoadError => error; p error.message, error.path; end\n\
         load 'both.rb'; puts $from\nautoload :Part, 'only1/part'; p Part.name\n{REPORT}\nexit 3\n"
    );
    scene.file("app.rb", &app);
    scene
}

#[track_caller]
fn noticed(scene: &Scene, printed: &str) {
    let said = scene.same(&[RUBY, "app.rb"]);
    assert!(said.starts_with(printed), "{printed}: {said}");
    assert_eq!(scene.check().0, Some(1));
}

#[test]
fn ruby_loads_the_same_files_with_fewer_calls() {
    let mut scene = scene();
    let more: Vec<String> = (0..60).map(|number| format!("more{number}")).collect();
    for directory in &more {
        fs::create_dir(scene.path(directory)).unwrap();
    }
    let entries: Vec<&str> = more.iter().map(String::as_str).chain(["a", "b", "c", "d"]).collect();
    scene.search("RUBYLIB", &entries);
    let made = scene.make(&[RUBY, "app.rb"]);
    assert_eq!(made["languages"][0]["language"], "ruby");
    assert!(made["languages"][0]["packed"].as_u64().unwrap() > 20, "{made}");
    let calls = |number: usize| made["calls"][number].as_u64().unwrap();
    assert!(calls(1) * 3 < calls(0) * 2, "{made}");
    let printed = scene.same(&[RUBY, "app.rb"]);
    assert!(printed.contains(&scene.text_of("b/both.rb")), "{printed}");
}

#[test]
fn every_way_of_starting_ruby() {
    let scene = scene();
    scene.file("bin/tool", &format!("#!{RUBY}\nrequire 'only1'\n{REPORT}\n"));
    scene.make(&[RUBY, "app.rb"]);
    for options in [
        &["-w"][..],
        &["-W0"],
        &["-c"],
        &["-Ia"],
        &["-Id", "-Ibin"],
        &["-ronly2"],
        &["--disable=did_you_mean"],
        &["-Ku"],
    ] {
        scene.same(&[&[RUBY], options, &["app.rb"]].concat());
    }
    scene.same(&[RUBY, "--enable=frozen-string-literal", "-ronly3", "-e", "p ''.frozen?"]);
    scene.same(&[RUBY, "-ronly2", "-e", REPORT]);
    scene.same(&[RUBY, "-ne", "print if $. < 3", "app.rb"]);
    scene.same(&[RUBY, "bin/tool"]);
    scene.same(&[RUBY, "-v"]);
    scene.same(&[RUBY, "absent.rb"]);
    // RubyGems is not loaded, and the index is not used; its directory is seen.
    let program = "require 'only1'; require 'both'; puts $from, $LOADED_FEATURES.sort";
    scene.same(&[RUBY, "--disable-gems", "-e", program]);
}

#[test]
fn threads_and_children_of_ruby() {
    let scene = scene();
    let app = "names = %w[only0 only1 only2 only3 both both/deep set json]\n\
               8.times.map { Thread.new { names.each { |name| require name } } }.each(&:join)\nputs $from, $deep\n\
               $stdout.flush\nprocess = fork { require 'ostruct'; p OpenStruct.name; $stdout.flush }\nProcess.wait(process)\n\
               system(RbConfig.ruby, '-e', 'require \"both\"; puts $from, $LOADED_FEATURES.grep(/both/)')\n\
               puts $LOADED_FEATURES.sort.grep(/only/)\n";
    scene.file("threads.rb", app);
    scene.made_and_same(&[RUBY, "threads.rb"]);
}

#[test]
fn a_load_path_that_changes_while_ruby_runs() {
    let scene = scene();
    scene.file("x/both.rb", &from("x"));
    scene.file("x/late.rb", "$late = __FILE__\n");
    let again = "$LOADED_FEATURES.reject! { |path| path.end_with?('/both.rb') }; require 'both'; puts $from\n";
    let app = format!(
        "require 'only0'\n{again}$LOAD_PATH.unshift \"#{{__dir__}}/x\"\nrequire 'both'; puts $from\n{again}$LOAD_PATH.shift\n{again}\
         $LOAD_PATH.unshift 'x'\n{again}Dir.chdir('a') {{ {again} }}\n$LOAD_PATH.shift\n\
         $LOAD_PATH.push \"#{{__dir__}}/x\"; require 'late'; puts $late\n{again}\
         $LOAD_PATH.reject! {{ |path| path.end_with?('/b') }}\n{again}$LOAD_PATH.replace($LOAD_PATH.reverse)\n{again}\
         require \"#{{__dir__}}/c/both\"; puts $from\nrequire './c/both/deep'; puts $deep\nrequire 'both/deep'; puts $deep\n{REPORT}\n"
    );
    scene.file("path.rb", &app);
    scene.made_and_same(&[RUBY, "path.rb"]);
}

#[test]
fn a_program_in_ruby_that_installs_and_edits_files_while_it_runs() {
    let scene = scene();
    let app = "def attempt; require 'fresh'; puts 'there'; rescue LoadError; puts 'not yet'; end\nattempt\n\
               File.write(\"#{__dir__}/c/fresh.rb\", ''); attempt\nFile.delete(\"#{__dir__}/c/fresh.rb\")\n\
               both = \"#{__dir__}/d/again.rb\"\n2.times { |count| File.write(both, \"puts #{count}\"); load 'again.rb' }\n\
               require 'only0'\nFile.delete(both)\n";
    scene.file("install.rb", app);
    scene.made_and_same(&[RUBY, "install.rb"]);
}

#[test]
fn ruby_files_that_shadow_others() {
    let scene = scene();
    scene.make(&[RUBY, "app.rb"]);
    assert_eq!(scene.check().0, Some(0));
    noticed_after(&scene, "a/both.rb", &from("shadow"), "shadow\nc\n");
    // A whole directory of that name is new.
    noticed_after(&scene, "b/both/deep.rb", "$deep = 'new below'\n", "shadow\nnew below\n");
    // A source in the last directory goes before a library in the first.
    scene.file("d/etc.rb", "puts 'not this'\n");
    scene.file("a/json.rb", "puts 'before'; module JSON; def self.generate(x) = x; end\n");
    noticed(&scene, "before\nshadow\n");
}

#[track_caller]
fn noticed_after(scene: &Scene, file: &str, content: &str, printed: &str) {
    scene.file(file, content);
    noticed(scene, printed);
}

#[test]
fn ruby_files_that_are_removed_edited_or_moved() {
    let mut scene = scene();
    scene.make(&[RUBY, "app.rb"]);
    scene.file("b/both.rb", &from("edited"));
    assert!(scene.same(&[RUBY, "app.rb"]).starts_with("edited\nc\n"));
    scene.file("only.rb", "");
    scene.file("c/only2/beside.rb", &source("Beside", "puts 'edited beside'"));
    noticed(&scene, "edited beside\nedited\nc\n");
    fs::remove_file(scene.path("b/both.rb")).unwrap();
    noticed(&scene, "edited beside\nc\nc\n");
    fs::rename(scene.path("c/both"), scene.path("c/away")).unwrap();
    noticed(&scene, "edited beside\nc\nd\n");
    // Moved, and a link in its place: real paths are others.
    fs::rename(scene.path("d"), scene.path("moved")).unwrap();
    symlink("moved", scene.path("d")).unwrap();
    assert!(scene.same(&[RUBY, "app.rb"]).contains(&scene.text_of("moved/only3.rb")));
    fs::rename(scene.path("c"), scene.path("e")).unwrap();
    scene.search("RUBYLIB", &["e", "d", "a", "b"]);
    scene.same(&[RUBY, "app.rb"]);
}

#[test]
fn odd_entries_of_the_load_path() {
    let mut scene = scene();
    symlink("b", scene.path("link")).unwrap();
    scene.file("file", "");
    let slash = format!("{}/", scene.text_of("c"));
    scene.search("RUBYLIB", &["missing", "./a", "file", "link", "link", &slash, "d"]);
    scene.make(&[RUBY, "app.rb"]);
    scene.same(&[RUBY, "app.rb"]);
    scene.file("missing/both.rb", &from("appeared"));
    noticed(&scene, "appeared\nc\n");
    fs::remove_file(scene.path("link")).unwrap();
    fs::rename(scene.path("b"), scene.path("other")).unwrap();
    scene.file("other/both.rb", &from("other"));
    fs::remove_file(scene.path("missing/both.rb")).unwrap();
    symlink("other", scene.path("link")).unwrap();
    noticed(&scene, "other\nc\n");
}

/// A directory of gems, where `GEM_HOME` and `GEM_PATH` lead.
fn gems(scene: &mut Scene) {
    for (name, uses) in [("one", "two"), ("two", "three"), ("three", "json")] {
        let at = format!("gems/gems/{name}-1.0");
        scene.file(&format!("{at}/lib/{name}.rb"), &format!("require '{uses}'\nrequire '{name}/version'\n"));
        scene.file(&format!("{at}/lib/{name}/version.rb"), &source("Version", ""));
        scene.file(&format!("{at}/exe/{name}"), &format!("require '{name}'\n{REPORT}\n"));
        let depends = if uses == "json" { String::new() } else { format!("s.add_dependency '{uses}', '>= 0'; ") };
        let spec = format!(
            "Gem::Specification.new {{ |s| s.name = '{name}'; s.version = '1.0'; s.summary = s.authors = 'x'; s.files = []; \
             {depends}s.require_paths = ['lib']; s.bindir = 'exe'; s.executables = ['{name}'] }}\n"
        );
        scene.file(&format!("gems/specifications/{name}-1.0.gemspec"), &spec);
    }
    scene.search("GEM_HOME", &["gems"]);
    scene.search("GEM_PATH", &["gems"]);
}

#[test]
fn gems_that_are_activated_while_ruby_runs() {
    let mut scene = scene();
    gems(&mut scene);
    let app = format!(
        "require 'two'\ngem 'one'; require 'one'\np Gem.loaded_specs.keys.sort\nputs Version.place\n\
         begin; gem 'absent'; rescue LoadError => error; puts error.message; end\nrequire 'both'\n{REPORT}\n"
    );
    scene.file("gems.rb", &app);
    scene.made_and_same(&[RUBY, "gems.rb"]);
    // Another version appears.
    let later = fs::read_to_string(scene.path("gems/specifications/two-1.0.gemspec")).unwrap().replace("1.0", "1.1");
    scene.file("gems/specifications/two-1.1.gemspec", &later);
    scene.file("gems/gems/two-1.1/lib/two.rb", "puts 'two, 1.1'\n");
    assert!(scene.same(&[RUBY, "gems.rb"]).starts_with("two, 1.1\n"));
}

#[test]
fn bundler_binstubs_and_bundle_exec() {
    let mut scene = scene();
    gems(&mut scene);
    scene.file("Gemfile", "source 'https://example.invalid'\ngem 'one'\n");
    scene.file(
        "Gemfile.lock",
        "GEM\n  remote: https://example.invalid/\n  specs:\n    one (1.0)\n      two (>= 0)\n    three (1.0)\n    two (1.0)\n      three (>= 0)\n\n\
         PLATFORMS\n  ruby\n\nDEPENDENCIES\n  one\n",
    );
    scene.file(
        "setup.rb",
        &format!("require 'bundler/setup'\nBundler.require\np Gem.loaded_specs.keys.sort\n{REPORT}\n"),
    );
    let stub = format!("#!{RUBY}\nrequire 'rubygems'\nrequire 'bundler/setup'\nload Gem.bin_path('one', 'one')\n");
    coldstart_testing::script(&scene.root(), "stub", &stub, 0o755);
    let bundle = "/usr/bin/bundle";
    scene.made_and_same(&[RUBY, "setup.rb"]);
    scene.made_and_same(&["./stub"]);
    scene.same(&[bundle, "exec", RUBY, "-e", "require 'one'; puts $LOADED_FEATURES.sort.grep(/one/)"]);
    scene.same(&[bundle, "exec", RUBY, "setup.rb"]);
}

#[test]
fn bootsnap_goes_on_with_an_index() {
    let scene = scene();
    let app = format!(
        "require 'msgpack'; require 'bootsnap'\nBootsnap.setup(cache_dir: \"#{{__dir__}}/cache\", load_path_cache: true, compile_cache_iseq: true, compile_cache_yaml: false, compile_cache_json: false)\n\
         require 'only0'; require 'only3'; require 'both'; puts $from, Only.place\n{REPORT}\n"
    );
    scene.file("snap.rb", &app);
    // Its caches are there from the first start on.
    assert_eq!(
        scene.plain(&[RUBY, "snap.rb"]).status.code(),
        Some(0),
        "{}",
        text(&scene.plain(&[RUBY, "snap.rb"]).stderr)
    );
    scene.made_and_same(&[RUBY, "snap.rb"]);
}

#[test]
fn warnings_of_the_compiler_coverage_and_errors_are_as_without() {
    let scene = scene();
    scene.file("a/careless.rb", "def careless\n  unused = 1\nend\nputs 'careless'\n");
    scene.file("a/failing.rb", "def failing\n  nil.absent_method\nend\n");
    let app = "require 'careless'; require 'failing'\nbegin; failing; rescue => error; puts error.message, error.backtrace; end\n\
               p RubyVM::AbstractSyntaxTree.of(method(:careless)).type\n";
    scene.file("errors.rb", app);
    scene.made_and_same(&[RUBY, "errors.rb"]);
    scene.same(&[RUBY, "-w", "errors.rb"]);
    scene.same(&[RUBY, "-rcoverage", "-e", "Coverage.start; require 'careless'; p Coverage.result"]);
}

#[test]
fn an_index_for_ruby_that_is_gone_damaged_or_of_another_version() {
    let scene = scene();
    scene.make(&[RUBY, "app.rb"]);
    let settings = text(&scene.coldstart(&["env", "index"]).stdout);
    let with_settings = |program: &str| {
        let output = scene.command("sh").args(["-c", &format!("{settings}\n{program}")]).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let app = format!("{RUBY} app.rb");
    let plain = scene.plain(&[RUBY, "app.rb"]);
    let plain = (plain.status.code(), text(&plain.stdout), text(&plain.stderr));
    assert_eq!(with_settings(&app), plain);
    let ignored = format!("{RUBY} -e 'require \"both\"; puts $from, ENV[\"RUBYLIB\"], $LOAD_PATH'");
    let as_given = {
        let output = scene.command("sh").args(["-c", &ignored]).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    for name in ["hook.bin", "index.bin", "pack.bin"] {
        let file = scene.path("index/current/ruby").join(name);
        let good = fs::read(&file).unwrap();
        for bad in [&good[..0], &good[..good.len() / 2], b"nonsense\nnonsense"] {
            fs::write(&file, bad).unwrap();
            // Ruby's own name for the file that started it stays in the list.
            let (code, printed, said) = with_settings(&app);
            let printed: Vec<&str> = printed.lines().filter(|line| !line.ends_with("/ruby/rubygems.rb")).collect();
            assert_eq!((code, printed.join("\n") + "\n", said), plain, "{name}, {} bytes", bad.len());
        }
        if name == "hook.bin" {
            // As for another version.
            assert_eq!(with_settings(&ignored), as_given);
        }
        fs::write(&file, good).unwrap();
    }
    fs::remove_dir_all(scene.path("index")).unwrap();
    let (code, printed, said) = with_settings(&app);
    // A directory that is not there.
    let printed: Vec<&str> = printed.lines().filter(|line| !line.ends_with("/current/ruby")).collect();
    assert_eq!((code, printed.join("\n") + "\n", said), plain);
}
