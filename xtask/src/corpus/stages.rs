//! Which stages of the build are done, kept on disk so that an interrupted build goes on.
//!
//! The recipe is stored beside the list in full. A changed recipe makes every stage undone: editing a tree that was
//! built from other orders would give an image nobody can build again.

use std::path::{Path, PathBuf};

use anyhow::Result;
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::recipe::Recipe;

/// The stages, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// A minimal Debian system.
    Base,
    /// The programs and what they need.
    Packages,
    /// Documents and the browser's profile.
    Documents,
    /// The programs have made their own profiles.
    FirstStarts,
    /// The ext4 image.
    Image,
}

#[derive(Serialize, Deserialize)]
struct Progress {
    recipe: Recipe,
    done: Vec<Stage>,
}

/// The progress of one build.
pub(super) struct Stages {
    file: PathBuf,
    progress: Progress,
}

impl Stages {
    /// Takes up the build in `home` if it followed the same recipe, or begins anew.
    pub(super) fn open(home: &Path, recipe: &Recipe) -> Result<Self> {
        let file = home.join("progress.json");
        let earlier = fs::read(&file).ok().and_then(|bytes| serde_json::from_slice::<Progress>(&bytes).ok());
        let progress = match earlier {
            Some(progress) if progress.recipe == *recipe => progress,
            _ => Progress { recipe: recipe.clone(), done: Vec::new() },
        };
        Ok(Self { file, progress })
    }

    /// Does `work` unless `stage` is done, then notes it. The image is always made: it is called only when it is stale.
    pub(super) fn run(&mut self, stage: Stage, work: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.progress.done.contains(&stage) && stage != Stage::Image {
            return Ok(());
        }
        eprintln!("corpus: {stage:?}");
        work()?;
        if !self.progress.done.contains(&stage) {
            self.progress.done.push(stage);
        }
        write_whole(&self.file, &serde_json::to_vec_pretty(&self.progress)?)
    }
}

/// Writes beside the file and renames, so that the file is always whole.
pub(super) fn write_whole(file: &Path, bytes: &[u8]) -> Result<()> {
    let growing = file.with_extension("partial");
    fs::write(&growing, bytes)?;
    fs::rename(&growing, file)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::recipe::Collection;
    use super::*;

    #[test]
    fn a_failed_stage_is_done_again_and_a_finished_one_is_not() {
        let home = tempfile::tempdir().unwrap();
        let recipe = Recipe::of(Collection::Office);
        let mut stages = Stages::open(home.path(), &recipe).unwrap();
        stages.run(Stage::Base, || Ok(())).unwrap();
        stages.run(Stage::Packages, || anyhow::bail!("no network")).unwrap_err();

        let mut again = Stages::open(home.path(), &recipe).unwrap();
        again.run(Stage::Base, || anyhow::bail!("done already")).unwrap();
        let mut ran = false;
        again
            .run(Stage::Packages, || {
                ran = true;
                Ok(())
            })
            .unwrap();
        assert!(ran);
    }

    #[test]
    fn a_changed_recipe_begins_anew() {
        let home = tempfile::tempdir().unwrap();
        let recipe = Recipe::of(Collection::Office);
        Stages::open(home.path(), &recipe).unwrap().run(Stage::Base, || Ok(())).unwrap();
        let changed = Recipe { packages: vec!["hello".into()], ..recipe };
        let mut ran = false;
        Stages::open(home.path(), &changed)
            .unwrap()
            .run(Stage::Base, || {
                ran = true;
                Ok(())
            })
            .unwrap();
        assert!(ran);
    }
}
