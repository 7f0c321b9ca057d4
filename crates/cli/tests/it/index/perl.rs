//! Programs in Perl: with the index they find the same files, print the same and end the same, also after changes.

use std::fs;
use std::os::unix::fs::symlink;

use super::scene::Scene;
use crate::text;

const PERL: &str = "/usr/bin/perl";
/// Prints every loaded file and where it is from.
const REPORT: &str = "for my $file (sort keys %INC) { print \"$file $INC{$file}\\n\" }\n";

/// A module whose function tells its file and line.
fn module(name: &str, more: &str) -> String {
    format!(
        "package {name};\nuse strict;\n{more}\nsub place {{ __FILE__ . ':' . __LINE__ . ' ' . join ' ', (caller 0)[1, 2] }}\n1;\n"
    )
}

fn scene() -> Scene {
    let mut scene = Scene::new();
    for (number, directory) in ["a", "b", "c", "d"].iter().enumerate() {
        let name = format!("Only{number}");
        scene.file(&format!("{directory}/{name}.pm"), &module(&name, &format!("use {name}::Part;")));
        scene.file(&format!("{directory}/{name}/Part.pm"), &module(&format!("{name}::Part"), ""));
    }
    scene.file("b/Both.pm", &module("Both", "our $from = 'b';"));
    scene.file("c/Both.pm", &module("Both", "our $from = 'c';"));
    scene.file("c/Both/Deep.pm", &module("Both::Deep", "our $from = 'c';"));
    scene.file("d/Both/Deep.pm", &module("Both::Deep", "our $from = 'd';"));
    scene.file("c/plain.pl", "$main::plain = __FILE__; 1;\n");
    scene.search("PERL5LIB", &["a", "b", "c", "d"]);
    let app = format!(
        "use strict; use warnings;\nour $plain;\nuse Only0; use Only1; use Only2; use Only3; use Both; use Both::Deep;\n\
         use Data::Dumper; use POSIX ();\nrequire 'plain.pl'; print \"$plain $Both::from $Both::Deep::from\\n\";\n\
         for my $name (qw(Only0 Only3::Part Both)) {{ no strict 'refs'; print &{{$name . '::place'}}(), \"\\n\" }}\n\
         print eval {{ require Not::There; 1 }} ? 'there' : 'not there', \"\\n\";\n\
         print defined(do 'no_such.pl') ? 'there' : \"not there: $!\", \"\\n\";\n\
         print $ENV{{PERL5LIB}}, \"\\n\";\n{REPORT}exit 3;\n"
    );
    scene.file("app.pl", &app);
    scene
}

#[track_caller]
fn noticed(scene: &Scene, printed: &str) {
    let said = scene.same(&[PERL, "app.pl"]);
    assert!(said.contains(printed), "{printed}: {said}");
    assert_eq!(scene.check().0, Some(1));
}

#[test]
fn perl_finds_files_in_the_same_places_with_fewer_calls() {
    let mut scene = scene();
    let more: Vec<String> = (0..60).map(|number| format!("more{number}")).collect();
    for directory in &more {
        fs::create_dir(scene.path(directory)).unwrap();
    }
    let entries: Vec<&str> = more.iter().map(String::as_str).chain(["a", "b", "c", "d"]).collect();
    scene.search("PERL5LIB", &entries);
    let made = scene.make(&[PERL, "app.pl"]);
    assert_eq!(made["languages"][0]["language"], "perl");
    let calls = |number: usize| made["calls"][number].as_u64().unwrap();
    assert!(calls(1) * 2 < calls(0), "{made}");
    let printed = scene.same(&[PERL, "app.pl"]);
    assert!(printed.contains(&format!("Both.pm {}", scene.text_of("b/Both.pm"))), "{printed}");
}

#[test]
fn every_way_of_starting_perl() {
    let scene = scene();
    scene.make(&[PERL, "app.pl"]);
    for options in [&["-w"][..], &["-T"], &["-t"], &["-c"], &["-Mstrict", "-MOnly1"], &["-X"], &["-Ia"], &["-Idd"]] {
        scene.same(&[&[PERL], options, &["app.pl"]].concat());
    }
    scene.same(&[PERL, "-MOnly2", "-e", REPORT]);
    scene.same(&[PERL, "-ne", "print if $. < 3", "app.pl"]);
    scene.same(&[PERL, "-v"]);
    scene.same(&[PERL, "absent.pl"]);
    let child = "system($^X, '-e', 'use Both; print $INC{\"Both.pm\"}'); print \"\\n\"; if (my $pid = fork) { waitpid $pid, 0 } \
                 require Only3; print $INC{'Only3.pm'}, \"\\n\";\n";
    scene.file("child.pl", &format!("$| = 1; {child}"));
    scene.same(&[PERL, "child.pl"]);
}

#[test]
fn an_inc_that_changes_while_perl_runs() {
    let scene = scene();
    scene.file("x/Both.pm", &module("Both", "our $from = 'x';"));
    scene.file("x/Late.pm", &module("Late", ""));
    let again = "delete $INC{'Both.pm'}; { no warnings; require Both; } print \"$Both::from $INC{'Both.pm'}\\n\";\n";
    let app = format!(
        "use FindBin; our @given; BEGIN {{ @given = grep {{ !ref }} @INC }}\nuse Only0;\n{again}\
         use lib \"$FindBin::Bin/x\";\n{again}no lib \"$FindBin::Bin/x\";\n{again}\
         {{ local @INC = (\"$FindBin::Bin/d\", \"$FindBin::Bin/c\"); {again} }}\n{again}\
         {{ local @INC = @INC; unshift @INC, \"$FindBin::Bin/x\"; {again} }}\n{again}\
         push @INC, \"$FindBin::Bin/x\"; require Late; print $INC{{'Late.pm'}}, \"\\n\";\n{again}\
         @INC = grep {{ ref || !m{{/b\\z}} }} @INC;\n{again}\
         @INC = reverse @INC;\n{again}\
         @INC = (sub {{ my $text = \"package Made; sub up {{ 'made up' }} 1;\"; $_[1] eq 'Made.pm' ? do {{ open my $file, '<', \\$text; $file }} : () }}, @INC);\n\
         require Made; print Made::up(), \"\\n\";\n{again}\
         @INC = map {{ \"$_\" }} grep {{ !ref }} @INC;\n{again}require Only2; print $INC{{'Only2.pm'}}, \"\\n\";\n"
    );
    scene.file("inc.pl", &app);
    scene.make(&[PERL, "inc.pl"]);
    scene.same(&[PERL, "inc.pl"]);
}

#[test]
fn a_program_in_perl_that_installs_modules_while_it_runs() {
    let scene = scene();
    let app = "use FindBin; use Only0; print eval { require Fresh; 1 } ? 'early' : 'not yet', \"\\n\";\n\
               sub save { open my $file, '>', \"$FindBin::Bin/$_[0]\" or die; print $file $_[1]; close $file }\n\
               save('c/Fresh.pm', 'package Fresh; 1;'); delete $INC{'Fresh.pm'};\n\
               require Fresh; print $INC{'Fresh.pm'}, \"\\n\"; unlink \"$FindBin::Bin/c/Fresh.pm\";\n";
    scene.file("install.pl", app);
    scene.make(&[PERL, "install.pl"]);
    assert!(scene.same(&[PERL, "install.pl"]).contains("c/Fresh.pm"));
}

#[test]
fn perl_modules_that_shadow_others() {
    let scene = scene();
    scene.make(&[PERL, "app.pl"]);
    assert_eq!(scene.check().0, Some(0));
    scene.file("a/Both.pm", &module("Both", "our $from = 'shadow';"));
    noticed(&scene, "shadow c");
    // A whole directory of that name is new.
    scene.file("b/Both/Deep.pm", &module("Both::Deep", "our $from = 'new below';"));
    noticed(&scene, "shadow new below");
    scene.file("a/Only3.pmc", &module("Only3", "print \"compiled before\\n\"; use Only3::Part;"));
    noticed(&scene, "compiled before");
}

#[test]
fn perl_modules_that_are_removed_edited_or_moved() {
    let mut scene = scene();
    symlink("../c/Both.pm", scene.path("a/Linked.pm")).unwrap();
    scene.make(&[PERL, "app.pl"]);
    scene.file("b/Both.pm", &module("Both", "our $from = 'edited';"));
    assert!(scene.same(&[PERL, "app.pl"]).contains("edited c"));
    fs::remove_file(scene.path("b/Both.pm")).unwrap();
    noticed(&scene, "c c");
    fs::rename(scene.path("c/Both"), scene.path("c/Away")).unwrap();
    noticed(&scene, "c d");
    fs::rename(scene.path("c"), scene.path("e")).unwrap();
    scene.search("PERL5LIB", &["e", "d", "a", "b"]);
    scene.same(&[PERL, "app.pl"]);
}

#[test]
fn odd_entries_of_inc() {
    let mut scene = scene();
    symlink("b", scene.path("link")).unwrap();
    scene.file("file", "");
    let slash = format!("{}/", scene.text_of("c"));
    scene.search("PERL5LIB", &["missing", "./a", "file", "link", "link", &slash, "d"]);
    scene.make(&[PERL, "app.pl"]);
    scene.same(&[PERL, "app.pl"]);
    scene.file("missing/Both.pm", &module("Both", "our $from = 'appeared';"));
    noticed(&scene, "appeared c");
    fs::remove_file(scene.path("link")).unwrap();
    fs::rename(scene.path("b"), scene.path("other")).unwrap();
    scene.file("other/Both.pm", &module("Both", "our $from = 'other';"));
    fs::remove_file(scene.path("missing/Both.pm")).unwrap();
    symlink("other", scene.path("link")).unwrap();
    noticed(&scene, "other c");
}

#[test]
fn an_index_for_perl_that_is_gone_or_damaged() {
    let scene = scene();
    scene.make(&[PERL, "app.pl"]);
    let settings = text(&scene.coldstart(&["env", "index"]).stdout);
    let with_settings = || {
        let output = scene.command("sh").args(["-c", &format!("{settings}\n{PERL} app.pl")]).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let plain = scene.plain(&[PERL, "app.pl"]);
    let plain = (plain.status.code(), text(&plain.stdout), text(&plain.stderr));
    assert_eq!(with_settings(), plain);
    let index = scene.path("index/current/perl/index.txt");
    let good = fs::read(&index).unwrap();
    for bad in [&good[..0], &good[..good.len() / 2], b"other perl\nend\n"] {
        fs::write(&index, bad).unwrap();
        assert_eq!(with_settings(), plain);
    }
    fs::remove_dir_all(scene.path("index")).unwrap();
    assert_eq!(with_settings(), plain);
}

#[test]
fn modules_that_perl_loads_before_the_hook_gain_nothing_and_that_is_told() {
    let scene = Scene::new();
    let output = scene.coldstart(&["make", "-o", "index", "--", PERL, "-MPOSIX", "-e", "1"]);
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}{}", text(&output.stderr));
    assert!(told.contains("0 modules") && told.contains("no gain") && !told.contains("next"), "{told}");
}
