//! Changes to a file, as ranges of it and what is there instead.

use coldstart_elf::{Encoding, FileOffset, FileSpan};

use crate::refusal::Refusal;
use crate::script::{Piece, Script, WordPatch};

/// Ranges of the original that are replaced; everything between them stays.
#[derive(Debug, Default)]
pub(crate) struct Edits {
    replaced: Vec<(FileSpan, Vec<Piece>)>,
    patches: Vec<WordPatch>,
}

impl Edits {
    /// Puts `pieces`, of any size together, in the place of `range`.
    pub(crate) fn replace(&mut self, range: FileSpan, pieces: Vec<Piece>) {
        self.replaced.push((range, pieces));
    }

    /// Changes words inside of what stays or is copied.
    pub(crate) fn patch(&mut self, patches: impl IntoIterator<Item = WordPatch>) {
        self.patches.extend(patches);
    }

    /// The script that makes these changes in a file of `size` bytes.
    ///
    /// # Errors
    /// If two changes touch the same bytes: tables that overlap in the file.
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
