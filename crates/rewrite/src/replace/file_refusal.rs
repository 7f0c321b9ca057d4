//! Why a file is not rewritten although its content would allow it.

use super::facts::Signature;

/// What the user said may be rewritten, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Programs that run with other rights than their caller's (`--allow-setuid`).
    pub set_id: bool,
    /// Signed files, whose signature will not fit (`--allow-signed`).
    pub signed: bool,
    /// Files that cannot be replaced, because the result goes elsewhere.
    pub frozen: bool,
}

/// A reason not to rewrite a file. It is a result, not an error: the file is as good as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// It runs with its owner's or its group's rights.
    #[error("it runs with the rights of its {whose} (set-ID bit)")]
    SetId {
        /// `owner` or `group`.
        whose: &'static str,
    },
    /// It runs with capabilities of its own.
    #[error("it runs with capabilities of its own (`getcap` lists them)")]
    Capabilities,
    /// A signature says what its content must be.
    #[error("it is signed ({}), and the signature will not fit the new content", name(*.which))]
    Signed {
        /// How it is signed.
        which: Signature,
    },
    /// `chattr +i`.
    #[error("it is marked as immutable, so that nothing can take its place")]
    Immutable,
    /// `chattr +a`.
    #[error("it is marked as append-only, so that nothing can take its place")]
    AppendOnly,
}

impl FileRefusal {
    /// A short name for scripts, which never changes.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SetId { .. } => "set-id",
            Self::Capabilities => "capabilities",
            Self::Signed { .. } => "signed",
            Self::Immutable => "immutable",
            Self::AppendOnly => "append-only",
        }
    }

    /// What would help.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::SetId { .. } | Self::Capabilities => "`--allow-setuid` rewrites it and keeps these rights",
            Self::Signed { which: Signature::Evm } => {
                "`--allow-signed` leaves the signature out; sign the result again"
            }
            Self::Signed { .. } => "`--allow-signed` rewrites it without the signature; sign the result again",
            Self::Immutable => "`chattr -i` takes the mark away; or give `-o PATH` elsewhere",
            Self::AppendOnly => "`chattr -a` takes the mark away; or give `-o PATH` elsewhere",
        };
        Some(hint.to_owned())
    }
}

fn name(signature: Signature) -> &'static str {
    match signature {
        Signature::Verity => "fs-verity",
        Signature::Ima => "security.ima",
        Signature::Evm => "security.evm",
    }
}
