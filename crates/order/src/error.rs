//! Why an order cannot be read or made.

/// Why an order cannot be read or made.
#[derive(Debug, thiserror::Error)]
pub enum OrderError {
    /// A list holds no name.
    #[error("it lists no function")]
    EmptyList,
    /// The linker's map has no lines for sections.
    #[error("it is not a map of GNU ld: it has no lines with a section, its address, its size and its file")]
    NoMap,
    /// An object file or archive cannot be read.
    #[error("it is neither an object file nor an archive of some: {problem}")]
    NoObject {
        /// What is wrong.
        problem: String,
    },
    /// A linker script has no place for code.
    #[error("it has no output section `.text`")]
    NoText,
}

impl OrderError {
    /// A hint.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::EmptyList => {
                Some("name a list written by `coldstart order functions`, or one with a symbol on each line")
            }
            Self::NoMap => Some("link with GNU ld and `-Wl,-Map=FILE`, or name the object files with --objects"),
            Self::NoObject { .. } => Some("name what the linker gets: .o files and .a archives that are not thin"),
            Self::NoText => Some("print the linker's own script with `gcc -Wl,--verbose` or `ld --verbose`"),
        }
    }
}

coldstart_hint::hinted!(OrderError);
