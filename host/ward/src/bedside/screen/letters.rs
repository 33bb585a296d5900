//! Large letters: five rows high, five columns wide, so that an arm can be read from across a bed.
//!
//! Each glyph is five rows of five bits, the highest bit leftmost. What has no glyph is shown small
//! instead: [`large`] then gives `None`.

/// Rows of a large letter.
pub const ROWS: u16 = 5;
const COLUMNS: u8 = 5;

const GLYPHS: [(char, [u8; 5]); 51] = [
    ('A', [0b01110, 0b10001, 0b11111, 0b10001, 0b10001]),
    ('B', [0b11110, 0b10001, 0b11110, 0b10001, 0b11110]),
    ('C', [0b01111, 0b10000, 0b10000, 0b10000, 0b01111]),
    ('D', [0b11110, 0b10001, 0b10001, 0b10001, 0b11110]),
    ('E', [0b11111, 0b10000, 0b11110, 0b10000, 0b11111]),
    ('F', [0b11111, 0b10000, 0b11110, 0b10000, 0b10000]),
    ('G', [0b01111, 0b10000, 0b10011, 0b10001, 0b01111]),
    ('H', [0b10001, 0b10001, 0b11111, 0b10001, 0b10001]),
    ('I', [0b11111, 0b00100, 0b00100, 0b00100, 0b11111]),
    ('J', [0b00111, 0b00010, 0b00010, 0b10010, 0b01100]),
    ('K', [0b10010, 0b10100, 0b11000, 0b10100, 0b10010]),
    ('L', [0b10000, 0b10000, 0b10000, 0b10000, 0b11111]),
    ('M', [0b10001, 0b11011, 0b10101, 0b10001, 0b10001]),
    ('N', [0b10001, 0b11001, 0b10101, 0b10011, 0b10001]),
    ('O', [0b01110, 0b10001, 0b10001, 0b10001, 0b01110]),
    ('P', [0b11110, 0b10001, 0b11110, 0b10000, 0b10000]),
    ('Q', [0b01110, 0b10001, 0b10101, 0b10010, 0b01101]),
    ('R', [0b11110, 0b10001, 0b11110, 0b10010, 0b10001]),
    ('S', [0b01111, 0b10000, 0b01110, 0b00001, 0b11110]),
    ('T', [0b11111, 0b00100, 0b00100, 0b00100, 0b00100]),
    ('U', [0b10001, 0b10001, 0b10001, 0b10001, 0b01110]),
    ('V', [0b10001, 0b10001, 0b10001, 0b01010, 0b00100]),
    ('W', [0b10001, 0b10001, 0b10101, 0b11011, 0b10001]),
    ('X', [0b10001, 0b01010, 0b00100, 0b01010, 0b10001]),
    ('Y', [0b10001, 0b01010, 0b00100, 0b00100, 0b00100]),
    ('Z', [0b11111, 0b00010, 0b00100, 0b01000, 0b11111]),
    ('Ä', [0b01010, 0b00000, 0b01110, 0b11111, 0b10001]),
    ('Ö', [0b01010, 0b00000, 0b01110, 0b10001, 0b01110]),
    ('Ü', [0b01010, 0b00000, 0b10001, 0b10001, 0b01110]),
    ('Å', [0b00100, 0b00000, 0b01110, 0b11111, 0b10001]),
    ('Æ', [0b01111, 0b10100, 0b11111, 0b10100, 0b10111]),
    ('Ø', [0b01111, 0b10011, 0b10101, 0b11001, 0b11110]),
    ('É', [0b00110, 0b11111, 0b11110, 0b10000, 0b11111]),
    ('È', [0b01100, 0b11111, 0b11110, 0b10000, 0b11111]),
    ('Ñ', [0b01110, 0b00000, 0b11001, 0b10101, 0b10011]),
    ('Ç', [0b01111, 0b10000, 0b01111, 0b00100, 0b01100]),
    ('0', [0b01110, 0b10011, 0b10101, 0b11001, 0b01110]),
    ('1', [0b01100, 0b00100, 0b00100, 0b00100, 0b11111]),
    ('2', [0b11110, 0b00001, 0b01110, 0b10000, 0b11111]),
    ('3', [0b11110, 0b00001, 0b01110, 0b00001, 0b11110]),
    ('4', [0b10010, 0b10010, 0b11111, 0b00010, 0b00010]),
    ('5', [0b11111, 0b10000, 0b11110, 0b00001, 0b11110]),
    ('6', [0b01110, 0b10000, 0b11110, 0b10001, 0b01110]),
    ('7', [0b11111, 0b00010, 0b00100, 0b01000, 0b01000]),
    ('8', [0b01110, 0b10001, 0b01110, 0b10001, 0b01110]),
    ('9', [0b01110, 0b10001, 0b01111, 0b00001, 0b01110]),
    ('-', [0b00000, 0b00000, 0b11111, 0b00000, 0b00000]),
    ('+', [0b00100, 0b00100, 0b11111, 0b00100, 0b00100]),
    ('.', [0b00000, 0b00000, 0b00000, 0b00000, 0b00100]),
    ('/', [0b00001, 0b00010, 0b00100, 0b01000, 0b10000]),
    (' ', [0b00000, 0b00000, 0b00000, 0b00000, 0b00000]),
];

/// The words of `text` in large letters, wrapped to `width` columns and at most `lines` lines of
/// letters, a blank row between them; `None` if they do not fit or a letter has no glyph.
#[must_use]
pub fn large(text: &str, width: u16, lines: usize) -> Option<Vec<String>> {
    let per_line = usize::from((width + 1) / (u16::from(COLUMNS) + 1));
    let mut wrapped: Vec<String> = Vec::new();
    for word in text.to_uppercase().split_whitespace() {
        match wrapped.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= per_line => {
                line.push(' ');
                line.push_str(word);
            }
            _ => wrapped.push(word.to_owned()),
        }
    }
    if wrapped.is_empty()
        || wrapped.len() > lines
        || wrapped.iter().any(|l| l.chars().count() > per_line)
    {
        return None;
    }
    let mut rows = Vec::new();
    for line in &wrapped {
        if !rows.is_empty() {
            rows.push(String::new());
        }
        let glyphs = line.chars().map(glyph).collect::<Option<Vec<_>>>()?;
        for row in 0..usize::from(ROWS) {
            let bits = glyphs.iter().filter_map(|glyph| glyph.get(row).copied());
            rows.push(bits.map(blocks).collect::<Vec<_>>().join(" "));
        }
    }
    Some(rows)
}

fn glyph(letter: char) -> Option<[u8; 5]> {
    GLYPHS.iter().find(|(known, _)| *known == letter).map(|(_, rows)| *rows)
}

fn blocks(bits: u8) -> String {
    (0..COLUMNS).rev().map(|column| if bits >> column & 1 == 1 { '█' } else { ' ' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wrap_and_fit_the_width_they_were_given() {
        assert_eq!(
            large("Early walking", 77, 2).unwrap().len(),
            5,
            "thirteen letters of six columns, less one"
        );
        assert_eq!(large("Early walking", 76, 1), None);
        let rows = large("Early walking", 76, 2).unwrap();
        assert_eq!(rows.len(), 11);
        assert!(rows.iter().all(|row| row.chars().count() <= 76));
        assert_eq!(large("TI", 76, 1).unwrap()[0], "█████ █████");
        assert_eq!(large("TI", 76, 1).unwrap()[1], "  █     █  ");
    }

    /// Umlauts are letters of their own, and ß is SS.
    #[test]
    fn umlauts_are_large() {
        let early = large("Frühes Gehen", 76, 1).unwrap();
        assert_eq!(early[0].chars().skip(12).take(5).collect::<String>(), " █ █ ");
        let letters = GLYPHS.map(|(letter, _)| letter);
        for name in
            ["Ärztlich", "Öl", "Übung", "weiß", "Åse", "Ægir", "Øre", "Café", "Niño", "Façade"]
        {
            let known = name.to_uppercase().chars().all(|letter| letters.contains(&letter));
            assert!(known && large(name, 76, 1).is_some(), "{name}");
        }
        let shapes: std::collections::BTreeSet<_> = GLYPHS.iter().map(|(_, rows)| rows).collect();
        assert_eq!(shapes.len(), GLYPHS.len(), "no two letters look alike");
    }

    #[test]
    fn a_letter_without_a_glyph_is_not_guessed() {
        assert_eq!(large("Žár", 76, 2), None);
        assert_eq!(large("", 76, 2), None);
    }
}
