//! The binary `coldstart`. Its code is in the library, so that tests can access the argument definitions.

fn main() -> std::process::ExitCode {
    coldstart_cli::main()
}
