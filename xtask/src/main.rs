//! The project's own chores, run as `cargo xtask CHORE`.

use clap::{Parser, Subcommand};

mod corpus;

#[derive(Parser)]
#[command(about = "The project's own chores")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Build the Debian image with LibreOffice and Firefox that the slow beds serve (cached; needs root)
    Corpus,
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().chore {
        Chore::Corpus => {
            let built = corpus::corpus()?;
            println!("{}", built.image.display());
        }
    }
    Ok(())
}
