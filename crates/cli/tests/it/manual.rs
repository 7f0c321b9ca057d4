//! The man pages and completions that `examples/manual.rs` writes.

use std::process::Command;

use coldstart_testing::{example, scratch, skip};

#[test]
fn each_verb_has_a_page_and_each_shell_its_completions() {
    let directory = scratch();
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    assert!(Command::new(example(env!("CARGO"), manifest, "manual")).arg(directory.path()).status().unwrap().success());
    let man = directory.path().join("man1");
    for command in coldstart_cli::definition().get_subcommands().filter(|verb| verb.get_name() != "help") {
        let page = std::fs::read_to_string(man.join(format!("coldstart-{}.1", command.get_name()))).unwrap();
        for argument in command.get_arguments().filter_map(|argument| argument.get_long()) {
            let roff = format!("\\-\\-{}", argument.replace('-', "\\-"));
            assert!(page.contains(&roff), "{} --{argument}", command.get_name());
        }
    }
    assert!(man.join("coldstart-prefetch-run.1").exists());
    for (shell, file, program) in
        [("bash", "coldstart.bash", "bash"), ("zsh", "_coldstart", "zsh"), ("fish", "coldstart.fish", "fish")]
    {
        let file = directory.path().join("completions").join(file);
        assert!(std::fs::read_to_string(&file).unwrap().contains("prefetch"), "{shell}");
        // Debian has bash; the others are looked at where they are.
        match Command::new(program).arg("-n").arg(&file).output() {
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            Err(_) if program != "bash" => {}
            Err(error) => skip(&format!("{program}: {error}")),
        }
    }
}
