//! Why an order cannot be read or made.

/// Why an order cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// A list holds no name.
    #[error("it lists no function")]
    EmptyList,
    /// A list is a linker script that names no section by itself.
    #[error("it is a linker script, but names no section of one function in `.text`, such as `*(.text.main)`")]
    NoSectionListed,
    /// Not a text.
    #[error("it is {what}, not a list of functions")]
    NotList {
        /// What it is, with an article.
        what: &'static str,
    },
    /// A script was given for a map.
    #[error("it is a linker script, not the map that the linker prints")]
    ScriptForMap,
    /// The linker's map has no lines for sections.
    #[error("it is not a map of GNU ld: it has no lines with a section, its address, its size and its file")]
    NoMap,
    /// An object file or archive cannot be read.
    #[error("it is neither an object file nor an archive of some: {problem}")]
    NoObject {
        /// What is wrong.
        problem: String,
    },
    /// A fragment was given for a script.
    #[error("it is no whole linker script: it has no `SECTIONS {{ ... }}`")]
    NoScript,
    /// A linker script has no place for code.
    #[error("it has no output section `.text`")]
    NoText,
}

impl OrderError {
    /// A hint.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::EmptyList | Self::NotList { .. } => Some(
                "name a list written by `coldstart order functions`, or one with a symbol or a section (`.text.main`) on each line",
            ),
            Self::NoSectionListed => Some(
                "name the script that `coldstart order functions --for ld` wrote; the linker's own script has patterns, which are no order",
            ),
            Self::NoMap | Self::ScriptForMap => {
                Some("link with GNU ld and `-Wl,-Map=FILE`, or name the object files with --objects")
            }
            Self::NoObject { .. } => Some("name what the linker gets: .o files and .a archives that are not thin"),
            Self::NoScript | Self::NoText => {
                Some("print the linker's own script with `gcc -Wl,--verbose` or `ld --verbose`")
            }
        }
    }
}

coldstart_hint::hinted!(OrderError);
