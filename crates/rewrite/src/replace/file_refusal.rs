//! Why a file is not rewritten because of its metadata.

use super::facts::Signature;

/// The user's permissions for rewriting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Programs with set-ID bits or capabilities (`--allow-setuid`).
    pub set_id: bool,
    /// Signed files; the signature will be invalid (`--allow-signed`).
    pub signed: bool,
    /// Files that cannot be replaced; the result is written elsewhere.
    pub frozen: bool,
}

/// A reason not to rewrite a file. It is a result, not an error: the file is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileRefusal {
    /// It runs with its owner's or its group's privileges.
    #[error("it runs with its {whose}'s privileges (set-ID bit)")]
    SetId {
        /// `owner` or `group`.
        whose: &'static str,
    },
    /// It runs with capabilities of its own.
    #[error("it runs with capabilities of its own (`getcap` lists them)")]
    Capabilities,
    /// A signature protects its content.
    #[error("it is signed ({}), and the new content would invalidate the signature", name(*.which))]
    Signed {
        /// The kind of signature.
        which: Signature,
    },
    /// `chattr +i`.
    #[error("it is immutable and cannot be replaced")]
    Immutable,
    /// `chattr +a`.
    #[error("it is append-only and cannot be replaced")]
    AppendOnly,
}

impl FileRefusal {
    /// A stable short name for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            Self::SetId { .. } => "set-id",
            Self::Capabilities => "capabilities",
            Self::Signed { .. } => "signed",
            Self::Immutable => "immutable",
            Self::AppendOnly => "append-only",
        }
    }

    /// A hint.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::SetId { .. } | Self::Capabilities => "`--allow-setuid` rewrites it and keeps these privileges",
            Self::Signed { which: Signature::Evm } => "`--allow-signed` omits the signature; sign the result again",
            Self::Signed { .. } => "`--allow-signed` rewrites it without the signature; sign the result again",
            Self::Immutable => "remove the flag with `chattr -i`, or give `-o PATH` elsewhere",
            Self::AppendOnly => "remove the flag with `chattr -a`, or give `-o PATH` elsewhere",
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
