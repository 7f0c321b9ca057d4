//! The binary `coldstart`; all of it is in the library beside this file, so that tests can walk the argument definitions.

fn main() -> std::process::ExitCode {
    coldstart_cli::main()
}
