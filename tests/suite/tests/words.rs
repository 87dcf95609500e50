//! Checks that comments, strings and documents do not use the words that `CONTRIBUTING.md` forbids.
//!
//! The files that may use these words are listed below. An entry that is no longer needed fails the test.

use std::collections::BTreeMap;

use weft_suite::text::{is_word, prose_only};
use weft_suite::{ARROWS, root, source_files};

/// Words and phrases, in lower case.
const BANNED: &[&str] =
    &["nobody", "whoever", "anew", "what becomes of", "what came of", "any more", "for people", "told"];

/// A sentence must not begin with this word.
const BEGINNING: &str = "Of ";

/// Files that may use banned words, each with its reason.
const EXCEPTIONS: &[(&str, &str)] = &[("CONTRIBUTING.md", "quotes them as examples")];

/// The banned words and beginnings in a line of prose.
fn banned(line: &str) -> Vec<&'static str> {
    let lower = line.to_lowercase();
    let is_whole = |at: usize, length: usize| {
        let before = lower[..at].chars().next_back();
        let after = lower[at + length..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    };
    let found = BANNED.iter().filter(|word| lower.match_indices(**word).any(|(at, _)| is_whole(at, word.len())));
    let mut found: Vec<_> = found.copied().collect();
    // A sentence begins after punctuation, such as the end of the previous sentence, a quote or the mark of a comment.
    let begins = |at: usize| !line[..at].trim_end().ends_with(|c: char| is_word(c) || c == ',' || c == '`');
    if line.match_indices(BEGINNING).any(|(at, _)| begins(at)) {
        found.push(BEGINNING);
    }
    found
}

/// The hits in a text, as lines for display.
fn hits(text: &str) -> Vec<String> {
    let lines = text.lines().zip(1..);
    lines.flat_map(|(line, number)| banned(line).into_iter().map(move |word| format!("{number}: {word:?}"))).collect()
}

/// All prose by file: the sources of the rooms without tests, and documents.
fn prose() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let name = |path: &std::path::Path| path.strip_prefix(root()).expect("in the repository").display().to_string();
    for (room, _) in ARROWS {
        for path in source_files(&root().join(room).join("src")) {
            let file = name(&path);
            if file.ends_with("/tests.rs") || file.contains("/tests/") || file.contains("/generated/") {
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("a readable file");
            found.insert(file, prose_only(&text).into_iter().collect());
        }
    }
    for folder in ["", "docs", "docs/decisions"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("a readable folder").flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "md") {
                found.insert(name(&path), std::fs::read_to_string(&path).expect("a readable file"));
            }
        }
    }
    found
}

#[test]
fn comments_strings_and_documents_use_plain_words() {
    let allowed: BTreeMap<&str, &str> = EXCEPTIONS.iter().copied().collect();
    let mut wrong = Vec::new();
    for (file, text) in prose() {
        let hits = hits(&text);
        match allowed.contains_key(file.as_str()) {
            true if hits.is_empty() => wrong.push(format!("{file} is no longer an exception: remove its entry")),
            true => {}
            false => wrong.extend(hits.iter().map(|hit| format!("{file}:{hit}"))),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A test is a function whose name is a sentence: it has at least this number of words.
const SENTENCE: usize = 4;

#[test]
fn names_of_tests_use_plain_words() {
    let mut wrong = Vec::new();
    let rooms = ARROWS.iter().map(|(room, _)| root().join(room));
    for path in rooms.chain([root().join("tests")]).flat_map(|folder| source_files(&folder)) {
        let text = std::fs::read_to_string(&path).expect("a readable file");
        let after_fn = text.match_indices("fn ").map(|(at, found)| &text[at + found.len()..]);
        for rest in after_fn {
            let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
            let sentence = name.replace('_', " ");
            if sentence.split(' ').count() >= SENTENCE && !banned(&sentence).is_empty() {
                wrong.push(format!("{}: {name}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn banned_words_are_found_in_prose_only() {
    let text = "/// Nobody reads it.\nlet told = \"it was told\"; // Of both\n/// The end. Of all\nstruct Of;\n\
                // Retold, manewa\n#[cfg(test)]\nmod tests {\n    // nobody\n}\n";
    let prose: String = prose_only(text).into_iter().collect();
    assert_eq!(hits(&prose), ["1: \"nobody\"", "2: \"told\"", "2: \"Of \"", "3: \"Of \""]);
    assert_eq!(banned("the Book Of Kells"), Vec::<&str>::new());
}
