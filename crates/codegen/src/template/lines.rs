//! Which line of a template a line of its output comes from.
//!
//! The template engine does not tell. So a mark that names file and line is put before the first character of each line of
//! the template that is text (or an expression) and not a tag; it travels through loops, macros and includes into the output, where
//! marks are taken out again and become `#line` directives. The compiler's messages, its line tables, and the faults that a
//! software device reports then name the template's lines by themselves.

/// Begins a mark. From a private plane of Unicode: a template that holds it is not marked.
const BEGIN: char = '\u{f1d00}';
/// Ends a mark.
const END: char = '\u{f1d01}';

/// Puts marks into a template. `file` is its number.
pub(super) fn mark(text: &str, file: usize) -> String {
    if text.contains([BEGIN, END]) {
        return text.to_owned();
    }
    let mut marked = String::with_capacity(text.len() + text.len() / 8);
    let mut inside = Inside::Text;
    // Text that a template keeps in a variable is not output yet, and may be compared.
    let mut kept = 0_usize;
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let trimmed = line.trim_start();
        let is_tag = trimmed.starts_with("{%")
            || trimmed.starts_with("{#")
            // These would take the space before them away, and a mark with it.
            || trimmed.starts_with("{{-");
        // Within `{% raw %}` only the tag that ends it is one.
        let is_text = match inside {
            Inside::Text => kept == 0 && !is_tag,
            Inside::Raw => !trimmed.starts_with("{%"),
            _ => false,
        };
        if is_text && !trimmed.is_empty() {
            let (space, rest) = line.split_at(line.len() - trimmed.len());
            marked.push_str(space);
            marked.push_str(&format!("{BEGIN}{file}:{}{END}", index + 1));
            marked.push_str(rest);
        } else {
            marked.push_str(line);
        }
        scan(line, &mut inside, &mut kept);
    }
    marked
}

/// What the lexer of the template engine is in at the end of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inside {
    Text,
    Expression,
    Tag,
    Comment,
    Raw,
}

/// Follows the brackets of a line.
fn scan(line: &str, inside: &mut Inside, kept: &mut usize) {
    let mut rest = line;
    loop {
        let (next, found) = match inside {
            Inside::Text => {
                let Some(at) = rest.find('{') else { return };
                let after = &rest[at + 1..];
                let state = match after.as_bytes().first() {
                    Some(b'{') => Inside::Expression,
                    Some(b'#') => Inside::Comment,
                    Some(b'%') => {
                        let mut words = after[1..]
                            .trim_start_matches(['-', '+'])
                            .split(|c: char| c.is_whitespace() || c == '%')
                            .filter(|word| !word.is_empty());
                        let word = words.next().unwrap_or_default();
                        match word.trim_end_matches('-') {
                            "raw" => {
                                let end = after.find("%}").map_or(after.len(), |end| end + 2);
                                *inside = Inside::Raw;
                                rest = &after[end..];
                                continue;
                            }
                            // `{% set x %}...{% endset %}`, and not `{% set x = 1 %}`.
                            "set" => {
                                let tag = after.split("%}").next().unwrap_or_default();
                                *kept += usize::from(!tag.contains('='));
                            }
                            "endset" => *kept = kept.saturating_sub(1),
                            _ => {}
                        }
                        Inside::Tag
                    }
                    _ => {
                        rest = after;
                        continue;
                    }
                };
                (state, at + 2)
            }
            Inside::Raw => {
                let Some(at) = rest.find("{%") else { return };
                let tag = rest[at + 2..].trim_start_matches(['-', '+']).trim_start();
                if tag.starts_with("endraw") {
                    let end = rest[at..].find("%}").map_or(rest.len(), |end| at + end + 2);
                    (Inside::Text, end)
                } else {
                    (Inside::Raw, at + 2)
                }
            }
            Inside::Expression | Inside::Tag | Inside::Comment => {
                let end = match inside {
                    Inside::Expression => "}}",
                    Inside::Tag => "%}",
                    _ => "#}",
                };
                let Some(at) = rest.find(end) else { return };
                (Inside::Text, at + 2)
            }
        };
        *inside = next;
        rest = &rest[found..];
    }
}

/// Takes the marks out of a text.
pub(super) fn unmark(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        plain.push_str(&rest[..at]);
        rest = match rest[at..].find(END) {
            Some(end) => &rest[at + end + END.len_utf8()..],
            None => &rest[at + BEGIN.len_utf8()..],
        };
    }
    plain.push_str(rest);
    plain
}

/// The offset in the unmarked text of an offset in the marked one.
pub(super) fn unmarked_offset(marked: &str, offset: usize) -> usize {
    let mut offset = offset.min(marked.len());
    while !marked.is_char_boundary(offset) {
        offset -= 1;
    }
    unmark(&marked[..offset]).len()
}

/// The first mark of a line: file and line.
fn first_mark(line: &str) -> Option<(usize, usize)> {
    let at = line.find(BEGIN)? + BEGIN.len_utf8();
    let end = at + line[at..].find(END)?;
    let (file, line) = line[at..end].split_once(':')?;
    Some((file.parse().ok()?, line.parse().ok()?))
}

/// Takes the marks out of the output and says by `#line` where each part comes from. `files` are the names of the templates; the output
/// is taken to begin in the first.
pub(super) fn directives(output: &str, files: &[&str]) -> String {
    let mut text = String::with_capacity(output.len());
    // Where the compiler believes to be.
    let (mut file, mut number) = (0, 1);
    let mut continued = false;
    for line in output.split_inclusive('\n') {
        // In a line that goes on from the one before, a directive would be part of that line.
        if let Some((marked_file, marked)) = first_mark(line)
            && (marked_file, marked) != (file, number)
            && !continued
        {
            if marked_file == file {
                text.push_str(&format!("#line {marked}\n"));
            } else {
                let name = files
                    .get(marked_file)
                    .copied()
                    .unwrap_or_default()
                    .replace('\\', "\\\\")
                    .replace('"', "\\\"");
                text.push_str(&format!("#line {marked} \"{name}\"\n"));
            }
            (file, number) = (marked_file, marked);
        }
        let plain = unmark(line);
        continued = plain.trim_end_matches(['\n', '\r']).ends_with('\\');
        text.push_str(&plain);
        number += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_go_before_text_and_never_into_tags() {
        let text = "a\n  {% for i in x %}\n  b {{ i }}\n{{ f(\n  i) }}\n{# c\n d #}\n{% raw %}\n {{ e }}\n{% endraw %}\n\n{% set s %}\nkept\n{% endset %}\nend";
        let marked = mark(text, 2);
        assert_eq!(unmark(&marked), text);
        let marks: Vec<usize> = marked
            .lines()
            .enumerate()
            .filter_map(|(index, line)| {
                let (file, number) = first_mark(line)?;
                assert_eq!((file, number), (2, index + 1));
                Some(number)
            })
            .collect();
        assert_eq!(marks, [1, 3, 4, 9, 15]);
        assert!(marked.contains(&format!("  {BEGIN}2:3{END}b ")));
    }

    #[test]
    fn what_looks_like_a_mark_already_is_left_alone() {
        let text = format!("a{BEGIN}b\n");
        assert_eq!(mark(&text, 0), text);
    }

    #[test]
    fn output_says_where_it_comes_from() {
        let line =
            |file: usize, number: usize, text: &str| format!("{BEGIN}{file}:{number}{END}{text}\n");
        let output = [
            line(0, 1, "first"),
            line(0, 2, "second"),
            line(0, 4, "#define X \\"),
            line(0, 7, "  continued"),
            line(0, 8, "after"),
            line(1, 3, "other"),
            line(1, 4, "more"),
            "without a mark\n".to_owned(),
            line(0, 9, "back"),
        ]
        .concat();
        assert_eq!(
            directives(&output, &["a.cu", "b \"q\".cu"]),
            "first\nsecond\n#line 4\n#define X \\\n  continued\n#line 8\nafter\n#line 3 \"b \\\"q\\\".cu\"\nother\nmore\nwithout a mark\n#line 9 \"a.cu\"\nback\n"
        );
    }

    #[test]
    fn offsets_are_those_of_the_plain_text() {
        let marked = mark("ab\ncd\n", 0);
        let at = marked.find('d').expect("it is there");
        assert_eq!(unmarked_offset(&marked, at), 4);
        assert_eq!(unmarked_offset(&marked, usize::MAX), 6);
    }
}
