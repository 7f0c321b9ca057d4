//! From the tree to an ext4 image, and the stamp that vouches for it.
//!
//! The files are copied through a mount instead of `mkfs.ext4 -d`: the kernel's allocator then decides where they lie,
//! as on an installed system, and where files lie is what a disk with a moving head is about.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use fs_err as fs;
use serde::{Deserialize, Serialize};

use super::recipe::Recipe;
use super::stages::write_whole;

/// What is known of a finished image.
#[derive(Serialize, Deserialize)]
struct Stamp {
    schema: String,
    recipe: Recipe,
    /// Size of the image file when it was finished, in bytes.
    bytes: u64,
    /// `package version` of everything installed.
    packages: Vec<String>,
}

const SCHEMA: &str = "coldstart.corpus/1";

/// Whether the image stands there, whole, and was built from `recipe`.
pub(super) fn is_current(image: &Path, stamp: &Path, recipe: &Recipe) -> bool {
    let known = fs::read(stamp).ok().and_then(|bytes| serde_json::from_slice::<Stamp>(&bytes).ok());
    let size = fs::metadata(image).map(|metadata| metadata.len());
    matches!((known, size), (Some(known), Ok(size)) if known.recipe == *recipe && known.bytes == size)
}

/// Notes that the image is finished.
pub(super) fn write_stamp(stamp: &Path, image: &Path, recipe: &Recipe, packages: &[String]) -> Result<()> {
    let bytes = fs::metadata(image)?.len();
    let known = Stamp { schema: SCHEMA.into(), recipe: recipe.clone(), bytes, packages: packages.to_vec() };
    write_whole(stamp, &serde_json::to_vec_pretty(&known)?)
}

/// Runs in a mount namespace of its own. `$1` is the tree, `$2` the image; both are known to exist.
/// `-o loop` gives a loop device that detaches itself with its last mount (losetup(8), autoclear).
const FILL: &str = r#"
inside=$(mktemp -d)
trap 'umount "$inside" 2>/dev/null; rmdir "$inside"' EXIT
mount -o loop,noatime "$2" "$inside"
cp -a "$1/." "$inside/"
sync -f "$inside"
"#;

/// Makes the image beside its place, checks it and renames it.
pub(super) fn make(tree: &Path, image: &Path, recipe: &Recipe) -> Result<()> {
    let growing = image.with_extension("partial");
    super::remove_if_there(&growing)?;
    fs::File::create(&growing)?.set_len(recipe.image_bytes)?;
    let mut format = Command::new("mkfs.ext4");
    // A fixed UUID and hash seed keep directory order the same from build to build. Everything is initialised now: a
    // kernel thread that does it later (lazy_itable_init) would write in the middle of somebody's measurement.
    format.args(["-q", "-F", "-L", "coldstart", "-U", "6c1de5a3-2b8e-4f0e-9d2c-0c01d57a2700"]);
    format.args([
        "-E",
        "hash_seed=6c1de5a3-2b8e-4f0e-9d2c-0c01d57a2701,lazy_itable_init=0,lazy_journal_init=0,nodiscard",
    ]);
    super::run(format.arg(&growing))?;
    let mut fill = Command::new("unshare");
    fill.args(["--mount", "--propagation", "private", "--", "sh", "-euc", FILL, "sh"]).arg(tree).arg(&growing);
    super::run(&mut fill).context("cannot copy the tree into the image")?;
    super::run(Command::new("e2fsck").args(["-f", "-n"]).arg(&growing)).context("the image is damaged")?;
    // Zeroed inode tables and journal would otherwise take real space.
    super::run(Command::new("fallocate").arg("--dig-holes").arg(&growing))?;
    fs::File::open(&growing)?.sync_all()?;
    fs::rename(&growing, image)?;
    Ok(())
}
