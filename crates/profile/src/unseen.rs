//! Invisible characters.

/// Whether a character is invisible, or changes the order of its neighbours: controls, line and paragraph separators, and
/// default ignorables of the Unicode Character Database (`DerivedCoreProperties.txt`; including directional marks, see
/// Unicode Standard Annex 9). Names chosen by others may contain them, and look like other names unless escaped.
pub fn is_unseen(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}')
        || matches!(character, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}')
        || matches!(character, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(character, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
        || matches!(character, '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(character, '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_unicode() {
        let unseen =
            regex::Regex::new(r"^[\p{Cc}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\x{fff9}-\x{fffb}]$").unwrap();
        for character in '\0'..=char::MAX {
            let text = character.to_string();
            assert_eq!(is_unseen(character), unseen.is_match(&text), "{}", character.escape_unicode());
        }
    }
}
