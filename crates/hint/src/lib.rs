//! Advice that an error carries: what the user can do about it.
//!
//! An error passes through `?` and `context` as a `dyn Error`, which Rust can downcast to a type but not to a trait. So each type
//! with advice registers a look-up with [`hinted!`], and [`hint_of`] tries them all. The linker collects the look-ups
//! (`linkme`); nothing runs before `main`.

use std::error::Error;
use std::io;

#[doc(hidden)]
pub use linkme;

/// An error with advice.
pub trait Hinted: Error + 'static {
    /// What the user can do about it: the start of a sentence, without its full stop. `None` without advice.
    fn hint(&self) -> Option<String>;
}

/// Returns an error's advice if the error has the look-up's type.
pub type LookUp = fn(&(dyn Error + 'static)) -> Option<String>;

/// The look-ups of all error types in the program.
#[doc(hidden)]
#[allow(unsafe_code, reason = "placed in a section of its own, which only linkme's typed items enter")]
#[linkme::distributed_slice]
pub static LOOK_UPS: [LookUp];

/// Implements [`Hinted`] for an error type by its own method `hint`, and registers it with [`hint_of`].
///
/// The method must not return the advice of its causes. A transparent variant is not its own cause, so it passes advice on.
#[macro_export]
macro_rules! hinted {
    ($type:ty) => {
        impl $crate::Hinted for $type {
            fn hint(&self) -> Option<String> {
                // The type's own method takes precedence over the trait's.
                <$type>::hint(self).map(Into::into)
            }
        }

        const _: () = {
            #[allow(unsafe_code, reason = "as the slice itself")]
            #[$crate::linkme::distributed_slice($crate::LOOK_UPS)]
            #[linkme(crate = $crate::linkme)]
            static LOOK_UP: $crate::LookUp = $crate::look_up::<$type>;
        };
    };
}

#[doc(hidden)]
pub fn look_up<E: Hinted>(error: &(dyn Error + 'static)) -> Option<String> {
    Hinted::hint(error.downcast_ref::<E>()?)
}

/// The advice of this error, without that of its causes. For an [`io::Error`], the advice of the error inside it.
pub fn hint_of(error: &(dyn Error + 'static)) -> Option<String> {
    let inside = || error.downcast_ref::<io::Error>()?.get_ref().and_then(|inside| hint_of(inside));
    LOOK_UPS.iter().find_map(|look_up| look_up(error)).or_else(inside)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("the door is locked")]
    struct Locked {
        has_key: bool,
    }

    impl Locked {
        fn hint(&self) -> Option<&'static str> {
            self.has_key.then_some("turn the key")
        }
    }

    hinted!(Locked);

    #[derive(Debug, thiserror::Error)]
    #[error("cannot leave")]
    struct Stuck(#[source] Locked);

    #[test]
    fn advice_is_found_behind_dyn_error() {
        let (advised, not_advised) = (Stuck(Locked { has_key: true }), Stuck(Locked { has_key: false }));
        assert_eq!(hint_of(&advised), None, "the cause has it");
        assert_eq!(hint_of(advised.source().unwrap()).as_deref(), Some("turn the key"));
        assert_eq!(hint_of(not_advised.source().unwrap()), None);
    }

    #[test]
    fn an_io_error_has_the_advice_of_what_is_inside() {
        let error = io::Error::other(Locked { has_key: true });
        assert_eq!(hint_of(&error).as_deref(), Some("turn the key"));
        assert_eq!(hint_of(&io::Error::other("plain")), None);
        assert_eq!(hint_of(&io::Error::from_raw_os_error(2)), None);
    }
}
