//! Mutates a real text: cuts, moves, repeats and nests pieces of it, and inserts pieces with a special meaning.

use crate::random::Random;

/// Pieces that have a special meaning to one of the parsers, or that once caused a bug.
const PIECES: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "${",
    "%{",
    "}",
    "~}",
    "${~",
    "%{~ if ",
    "%{ else }",
    "%{ endif }",
    "%{ for a in ",
    "%{ endfor }",
    "<<E\n",
    "<<-E\n",
    "E\n",
    "\nE\n",
    "#",
    "//",
    "/*",
    "*/",
    "\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    ",",
    ".",
    "..",
    "...",
    ":",
    "::",
    "?",
    "=",
    "==",
    "=>",
    "!=",
    ">=",
    "&&",
    "||",
    "!",
    "-",
    "+",
    "*",
    "/",
    "%",
    "&",
    "|",
    "^",
    ";",
    "'",
    "`",
    "\\",
    "\\\"",
    "\\u0000",
    "\\ud800",
    "\\U0010ffff",
    "\\n",
    "$${",
    "%%{",
    "[*]",
    ".*",
    ".0",
    ".0.1",
    "[0]",
    "[-1]",
    "[\"a\"]",
    " for ",
    " in ",
    " if ",
    "for x in ",
    "for k, v in ",
    "null",
    "true",
    "false",
    "0",
    "-0",
    "1e9",
    "1e400000",
    "1e-400000",
    "0x1f",
    "0.1",
    "1.",
    ".5",
    "18446744073709551616",
    "9223372036854775807",
    "-9223372036854775808",
    "1e30",
    "\u{0}",
    "\u{feff}",
    "\u{301}",
    "é",
    "\u{1f468}\u{200d}\u{1f469}",
    "\u{2028}",
    "\u{fffd}",
    "\u{10ffff}",
    "resource \"a\" \"b\" {",
    "module \"m\" {",
    "variable \"v\" {",
    "dynamic \"d\" {",
    "locals {",
    "content {",
    "provider \"p\" {",
    "for_each = ",
    "count = ",
    "source = ",
    "type = ",
    "default = ",
    "each.key",
    "each.value",
    "self",
    "var.v",
    "local.l",
    "path.module",
    "terraform.workspace",
    "data.a.b",
    "module.m",
    "range(9)",
    "jsondecode(",
    "try(",
    "can(",
    "format(\"%",
    "sensitive(",
    "templatestring(",
    "setproduct(",
    "object({",
    "optional(",
    "list(",
    "map(any)",
    "tuple([",
    "//\":",
    "\"//\"",
    "<<: *a",
    "&a ",
    "*a",
    "- ",
    "---\n",
    "!!int ",
    "{\"type\":",
    "\"value\":",
    "%-10.3v",
    "%[1]s",
    "(?P<n>",
    "a{1000}",
    "\\p{L}",
];

/// The maximum number of changes of one text, and of repetitions of one piece.
const MOST_CHANGES: usize = 8;
const MOST_REPEATED: usize = 300;

/// The maximum length of an input. Longer results of repetition are cut.
const LONGEST: usize = 16_000;

fn place(text: &str, random: &mut Random) -> usize {
    let mut at = random.below(text.len() + 1);
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn range(text: &str, most: usize, random: &mut Random) -> std::ops::Range<usize> {
    let start = place(text, random);
    let mut end = text.len().min(start + random.below(most + 1));
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    start..end.max(start)
}

fn change(text: &mut String, others: &[String], random: &mut Random) {
    match random.below(12) {
        0 => text.replace_range(range(text, 4, random), ""),
        1 => text.replace_range(range(text, 60, random), ""),
        2 => {
            let piece = text[range(text, 80, random)].to_owned();
            text.insert_str(place(text, random), &piece);
        }
        3 => {
            let other = random.one(others);
            let piece = &other[range(other, 200, random)];
            text.insert_str(place(text, random), piece);
        }
        4 => {
            let other = random.one(others);
            let piece = other[range(other, 30, random)].to_owned();
            text.replace_range(range(text, 30, random), &piece);
        }
        5 => {
            let piece = random.pick(PIECES).repeat(1 + random.below(MOST_REPEATED));
            text.insert_str(place(text, random), &piece);
        }
        6 => {
            // The text at this position, nested in itself.
            let inner = range(text, 60, random);
            let (open, close) = *random.one(&[
                ("(", ")"),
                ("[", "]"),
                ("{a=", "}"),
                ("\"${", "}\""),
                ("f(", ")"),
                ("-", ""),
                ("b {\n", "}\n"),
            ]);
            let times = 1 + random.below(MOST_REPEATED);
            let nested = format!("{}{}{}", open.repeat(times), &text[inner.clone()], close.repeat(times));
            text.replace_range(inner, &nested);
        }
        7 => text.truncate(place(text, random)),
        8 => {
            let lines: Vec<&str> = text.split('\n').collect();
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            let mut lines: Vec<&str> = lines.clone();
            lines.swap(a, b);
            *text = lines.join("\n");
        }
        9 => {
            let code = u32::try_from(random.below(0x11_0000)).unwrap_or_default();
            text.insert(place(text, random), char::from_u32(code).unwrap_or('\u{fffd}'));
        }
        _ => {
            let piece = random.pick(PIECES);
            let to = if random.once_in(2) {
                range(text, 6, random)
            } else {
                let at = place(text, random);
                at..at
            };
            text.replace_range(to, piece);
        }
    }
    let mut end = LONGEST.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.truncate(end);
}

/// One of the texts, with changes.
pub fn mutated(texts: &[String], random: &mut Random) -> String {
    let mut text = random.one(texts).clone();
    // Few changes are more frequent than many, so that much of the text keeps its meaning.
    let most = 1 + random.below(MOST_CHANGES);
    for _ in 0..=random.below(most) {
        change(&mut text, texts, random);
    }
    text
}

/// The bytes, with some changes.
pub fn damaged(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len() + 1);
        let byte = *random
            .one(&[0x00, 0x01, 0x7f, 0x80, 0xc0, 0xc1, 0xc7, 0xc9, 0xd4, 0xdb, 0xdd, 0xdf, 0xff, b'[', b'{', b'"']);
        match random.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, byte),
            2 if at < bytes.len() => {
                bytes.remove(at);
            }
            3 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            _ if at < bytes.len() => bytes[at] = byte,
            _ => bytes.push(byte),
        }
    }
    bytes
}
