//! Texts that others wrote, made fit to stand inside a sentence of ours. Pure.
//!
//! A responder's error text reaches an agent, a terminal and a log. None of them may be steered by it: no line of its own,
//! no colour, no text that reads backwards or cannot be seen, and no more of it than anybody reads.

use std::iter::Peekable;
use std::str::Chars;

/// Longest piece of a responder's or the broker's text that an answer repeats, in characters. A record of the answer keeps
/// no more than one character beyond it, so that a replay reads as the first answer did.
pub const FOREIGN_TEXT_CHARACTERS_MAX: usize = 2_000;

/// What begins a command to a terminal.
const ESCAPE: char = '\u{1b}';

/// The text on one line, without what cannot be seen, and bounded; `…` says that there was more.
///
/// Commands to a terminal go as a whole, other control characters and line ends become blanks. Doing it again changes
/// nothing.
pub fn plain(text: &str) -> String {
    let mut rest = text.chars().peekable();
    let mut shown = String::new();
    let mut count = 0;
    while let Some(character) = rest.next() {
        let character = match character {
            ESCAPE => {
                skip_command(&mut rest);
                continue;
            }
            unseen if is_unseen(unseen) => continue,
            blank if blank.is_control() || matches!(blank, '\u{2028}' | '\u{2029}') => ' ',
            character => character,
        };
        if count == FOREIGN_TEXT_CHARACTERS_MAX {
            shown.push('…');
            break;
        }
        shown.push(character);
        count += 1;
    }
    shown
}

/// Skips what follows an escape: a sequence up to its final letter, a title up to its end, or one character.
fn skip_command(rest: &mut Peekable<Chars<'_>>) {
    match rest.peek() {
        Some('[') => {
            rest.next();
            while rest.next_if(|character| matches!(character, '\u{20}'..='\u{3f}')).is_some() {}
            rest.next_if(|character| matches!(character, '\u{40}'..='\u{7e}'));
        }
        Some(']') => {
            while let Some(character) = rest.next_if(|character| *character != ESCAPE) {
                if character == '\u{7}' {
                    return;
                }
            }
        }
        Some('\u{20}'..='\u{7e}') => _ = rest.next(),
        Some(_) | None => {}
    }
}

/// Whether a character shows nothing, or changes how others are shown: marks of direction, joiners, tags.
fn is_unseen(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_steers_a_terminal_or_a_reader_is_gone() {
        for (text, shown) in [
            ("out of stock", "out of stock"),
            ("größe 5 € 漢", "größe 5 € 漢"),
            ("\u{1b}[31;1mred\u{1b}[0m", "red"),
            ("\u{1b}]0;title\u{7}text", "text"),
            ("\u{1b}]0;title\u{1b}\\text", "text"),
            ("\u{1b}cx\u{1b}", "x"),
            ("a\r\nb\tc\u{85}d\u{9b}e\u{2028}f", "a  b c d e f"),
            ("\u{202e}txt.exe\u{200b}\u{feff}", "txt.exe"),
            ("\u{e0041}\u{e0042}", ""),
        ] {
            assert_eq!(plain(text), shown, "{text:?}");
        }
    }

    #[test]
    fn more_than_the_limit_is_cut_and_says_so() {
        let exact = "é".repeat(FOREIGN_TEXT_CHARACTERS_MAX);
        assert_eq!(plain(&exact), exact);
        assert_eq!(plain(&format!("{exact}x")), format!("{exact}…"));
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_short_line_and_stays_it(text in any::<String>(), much in 0usize..3) {
            let text = text.repeat(1 + much * 400);
            let shown = plain(&text);
            prop_assert!(shown.chars().count() <= FOREIGN_TEXT_CHARACTERS_MAX + 1);
            prop_assert!(!shown.chars().any(|character| character.is_control() || is_unseen(character)));
            prop_assert_eq!(plain(&shown), shown);
        }

        #[test]
        fn a_text_that_anybody_can_read_is_left_alone(text in "[a-zA-Z0-9äöü .,:;'!?-]{0,300}") {
            prop_assert_eq!(plain(&text), text);
        }
    }
}
