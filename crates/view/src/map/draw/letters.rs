//! Text width.

/// Sizes of text in points.
pub(super) const TITLE: f64 = 20.0;
pub(super) const PLAIN: f64 = 12.0;
pub(super) const SMALL: f64 = 11.0;

/// Advance widths of DejaVu Sans 2.37 from space to tilde, in thousandths of the text's size (table `hmtx` of the
/// font).
const WIDTHS: [u16; 95] = [
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636, 636, 636, 636, 636,
    636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632, 575, 775, 752, 295, 295, 656, 557, 863,
    748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685, 611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635,
    615, 352, 635, 634, 278, 278, 579, 278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636,
    337, 636, 838,
];

/// The width of text in points; of letters beyond ASCII, what the widest of most scripts take.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let thousandths = text.chars().map(of).sum::<u32>();
    f64::from(thousandths) * size / 1000.0
}

fn of(character: char) -> u32 {
    let ascii = usize::try_from(u32::from(character)).ok().and_then(|code| WIDTHS.get(code.checked_sub(32)?));
    match (ascii, character) {
        (Some(width), _) => u32::from(*width),
        (None, '·') => 318,
        _ => 1000,
    }
}

/// The text with its middle left out to fit: of a path or a name both ends tell something.
pub(super) fn cut(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let thousandths = room * 1000.0 / size - 1000.0;
    let front = fitting(text.chars(), thousandths * 0.5);
    let back: Vec<char> = fitting(text.chars().rev(), thousandths * 0.5).chars().rev().collect();
    format!("{front}…{}", back.into_iter().collect::<String>())
}

fn fitting(characters: impl Iterator<Item = char>, thousandths: f64) -> String {
    let mut used = 0;
    let fits = |character: &char| {
        used += of(*character);
        f64::from(used) <= thousandths
    };
    characters.take_while(fits).collect()
}

/// The words in lines of at most `room` points. A word that is longer than a line loses its middle.
pub(super) fn wrapped(text: &str, size: f64, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = cut(word, size, room);
        match lines.last_mut() {
            Some(line) if width(line, size) + width(&word, size) + size * 0.32 <= room => {
                line.push(' ');
                line.push_str(&word);
            }
            _ => lines.push(word),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_those_of_the_font() {
        let font = crate::assets::font();
        let face = ttf_parser::Face::parse(&font, 0).unwrap();
        for letter in (' '..='~').chain(['·']) {
            let advance = face.glyph_hor_advance(face.glyph_index(letter).unwrap()).unwrap();
            let thousandths = f64::from(advance) * 1000.0 / f64::from(face.units_per_em());
            assert_eq!(of(letter), thousandths.round() as u32, "{letter}");
        }
    }

    #[test]
    fn text_fits_where_it_must() {
        assert!((width("abc", 10.0) - 17.98).abs() < 0.01);
        assert_eq!(cut("short", 10.0, 100.0), "short");
        let long = cut(&"x".repeat(90), 10.0, 100.0);
        assert!(width(&long, 10.0) <= 100.0 && long.contains('…'), "{long}");
        assert_eq!(cut("abc", 10.0, 1.0), "…");
        assert_eq!(wrapped("one two three", 10.0, 45.0), ["one two", "three"]);
    }
}
