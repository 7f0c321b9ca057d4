//! Changes to a file, as ranges and their replacements.

use coldstart_elf::{Encoding, FileOffset, FileSpan};

use crate::refusal::Refusal;
use crate::script::{Piece, Script, WordPatch};

/// Replaced ranges of the original; everything between them is unchanged.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    replaced: Vec<(FileSpan, Vec<Piece>)>,
    patches: Vec<WordPatch>,
}

impl Edits {
    /// Replaces `range` with `pieces` of any total size.
    pub(crate) fn replace(&mut self, range: FileSpan, pieces: Vec<Piece>) {
        self.replaced.push((range, pieces));
    }

    /// Changes words inside of unchanged or copied ranges.
    pub(crate) fn patch(&mut self, patches: impl IntoIterator<Item = WordPatch>) {
        self.patches.extend(patches);
    }

    /// The script with these changes for a file of `size` bytes.
    ///
    /// # Errors
    /// If two changes overlap: tables that overlap in the file.
    pub(crate) fn into_script(mut self, encoding: Encoding, size: u64) -> Result<Script, Refusal> {
        self.replaced.sort_by_key(|(range, _)| range.key());
        self.patches.sort_by_key(|patch| patch.at);
        let mut pieces = Vec::new();
        let mut at = FileOffset(0);
        for (range, new) in self.replaced {
            if range.start() < at || range.end().0 > size {
                return Err(Refusal::Layout(format!("its tables overlap at file offset {}", range.start())));
            }
            pieces.push(Piece::Copy(FileSpan::between(at, range.start())?));
            pieces.extend(new);
            at = range.end();
        }
        pieces.push(Piece::Copy(FileSpan::between(at, FileOffset(size))?));
        Ok(Script::new(encoding, pieces, self.patches)?)
    }
}
