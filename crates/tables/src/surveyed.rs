//! What a survey says besides the objects.

use crate::column::row;

row! {
    /// One file that could not be read, or was only read in part.
    ProblemRow in "problems" {
        /// What was surveyed, as it was named.
        source: String,
        /// The package or image inside the source, as a path from its top; archives inside archives follow after ` > `.
        archive: Option<String>,
        /// The file inside the archive or source; empty for the archive itself.
        path: String,
        /// What is wrong.
        problem: String,
    }
}

row! {
    /// One module that an interpreter can load: what an index of modules would answer for.
    ModuleRow in "modules" {
        /// What was surveyed, as it was named.
        source: String,
        /// The package or image inside the source; see `objects`.
        archive: Option<String>,
        /// The file inside the archive or source.
        path: String,
        /// The package that owns the file.
        package: Option<String>,
        /// The interpreter: `python`, `perl`, `ruby`, `node` or `guile`.
        language: &'static str,
    }
}
