//! Parts of Rust sources as text: only the code, or only the prose.

/// The characters of a source text, with comments, strings and character literals blanked. Lines and positions do not
/// change.
pub fn code_only(text: &str) -> Vec<char> {
    let mut reader = Reader { chars: text.chars().collect(), at: 0 };
    while reader.at < reader.chars.len() {
        reader.step();
    }
    reader.chars
}

struct Reader {
    chars: Vec<char>,
    at: usize,
}

impl Reader {
    fn peek(&self, ahead: usize) -> char {
        self.chars.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => {
                while self.at < self.chars.len() && self.peek(0) != '\n' {
                    self.blank(1);
                }
            }
            ('/', '*') => self.block_comment(),
            ('"', _) => self.string(),
            ('\'', '\\') => {
                self.blank(2);
                while self.at < self.chars.len() && self.peek(0) != '\'' {
                    self.blank(1);
                }
                self.blank(1);
            }
            ('\'', _) if self.peek(2) == '\'' => self.blank(3),
            ('r', '"' | '#') if !self.in_word() => self.raw_string(),
            ('b', 'r') if !self.in_word() && matches!(self.peek(2), '"' | '#') => {
                self.blank(1);
                self.raw_string();
            }
            _ => self.at += 1,
        }
    }

    /// Whether the previous character belongs to a name.
    fn in_word(&self) -> bool {
        self.at > 0 && is_word(self.chars[self.at - 1])
    }

    fn blank(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(c) = self.chars.get_mut(self.at) {
                *c = if *c == '\n' { '\n' } else { ' ' };
                self.at += 1;
            }
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.chars.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => {
                    depth += 1;
                    self.blank(2);
                }
                ('*', '/') => {
                    depth -= 1;
                    self.blank(2);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.blank(1),
            }
        }
    }

    fn string(&mut self) {
        self.blank(1);
        while self.at < self.chars.len() {
            match self.peek(0) {
                '\\' => self.blank(2),
                '"' => return self.blank(1),
                _ => self.blank(1),
            }
        }
    }

    /// Skips a raw string from its `r`, or a raw identifier.
    fn raw_string(&mut self) {
        let hashes = (1..).take_while(|ahead| self.peek(*ahead) == '#').count();
        if self.peek(hashes + 1) != '"' {
            self.at += 1;
            return;
        }
        self.blank(hashes + 2);
        while self.at < self.chars.len() {
            if self.peek(0) == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == '#') {
                return self.blank(hashes + 1);
            }
            self.blank(1);
        }
    }
}

/// Whether a character can be part of a name.
pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The occurrences of a word in code, as positions of its first character.
pub fn places_of(code: &[char], word: &str) -> Vec<usize> {
    let word: Vec<char> = word.chars().collect();
    let is_here = |at: &usize| {
        code[*at..].starts_with(&word)
            && !at.checked_sub(1).is_some_and(|before| is_word(code[before]))
            && !code.get(at + word.len()).is_some_and(|after| is_word(*after))
    };
    (0..code.len()).filter(|at| code[*at] == word[0]).filter(is_here).collect()
}

/// The names after a keyword, each with the position after the name.
pub fn named(code: &[char], keyword: &str) -> Vec<(String, usize)> {
    let name_behind = |at: usize| {
        let start = at + keyword.len() + 1;
        let name: String = code.get(start..)?.iter().take_while(|c| is_word(**c)).collect();
        let end = start + name.len();
        (!name.is_empty()).then_some((name, end))
    };
    places_of(code, keyword).into_iter().filter_map(name_behind).collect()
}

/// The next pair of braces, as positions of both. `None` if a semicolon outside of brackets comes first.
pub fn next_block(code: &[char], from: usize) -> Option<(usize, usize)> {
    let (mut brackets, mut depth, mut opened) = (0, 0, None);
    for (at, c) in code.iter().enumerate().skip(from) {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if depth == 0 && brackets == 0 => return None,
            '{' => {
                depth += 1;
                opened = opened.or(Some(at));
            }
            '}' => {
                depth -= 1;
                if depth == 0 {
                    return Some((opened?, at));
                }
            }
            _ => {}
        }
    }
    None
}

/// Code without its test modules.
pub fn shipped_only(text: &str) -> Vec<char> {
    let mut code = code_only(text);
    for range in tested(&code) {
        code[range].iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
    }
    code
}

/// The comments and strings of a source text, without tests. Everything else is blanked. Lines and positions do not
/// change.
pub fn prose_only(text: &str) -> Vec<char> {
    let code = code_only(text);
    let mut prose: Vec<char> = text.chars().collect();
    for (c, code) in prose.iter_mut().zip(&code) {
        // A character that is blank only in the code is part of a comment, a string or a character literal.
        if *c == *code && *c != '\n' {
            *c = ' ';
        }
    }
    for range in tested(&code) {
        prose[range].iter_mut().filter(|c| **c != '\n').for_each(|c| *c = ' ');
    }
    prose
}

/// The positions of items that exist only in tests.
fn tested(code: &[char]) -> Vec<std::ops::RangeInclusive<usize>> {
    let attribute: Vec<char> = "#[cfg(test)]".chars().collect();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < code.len() {
        if code[at..].starts_with(&attribute) {
            let end = next_block(code, at + attribute.len()).map_or(at, |(_, end)| end);
            found.push(at..=end);
            at = end;
        }
        at += 1;
    }
    found
}

/// The paths of all `use` items, without their aliases (`as`).
pub fn uses(code: &str) -> Vec<Vec<String>> {
    let chars: Vec<char> = code.chars().collect();
    let mut found = Vec::new();
    for at in places_of(&chars, "use") {
        let tree: String = chars[at + "use".len()..].iter().take_while(|c| **c != ';').collect();
        expand(&tree, &[], &mut found);
    }
    found
}

/// The paths of a `use` tree.
fn expand(tree: &str, before: &[String], found: &mut Vec<Vec<String>>) {
    let (path, group) = match tree.split_once('{') {
        Some((path, rest)) => (path, rest.rsplit_once('}').map(|(inside, _)| inside)),
        None => (tree.split(" as ").next().unwrap_or_default(), None),
    };
    let names = path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    let path: Vec<String> = before.iter().cloned().chain(names).collect();
    let Some(group) = group else { return found.push(path) };
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&group[start..at], &path, found);
                start = at + 1;
            }
            _ => {}
        }
    }
    if !group[start..].trim().is_empty() {
        expand(&group[start..], &path, found);
    }
}

/// The public signatures in code, as text: functions, structs and their fields, whole enums and traits, constants, type
/// aliases and exports. Items with `pub(crate)` or a similar visibility are omitted.
pub fn public_signatures(code: &[char]) -> Vec<String> {
    let mut found = Vec::new();
    for at in places_of(code, "pub") {
        let text: String = code[at + "pub".len()..].iter().collect();
        if text.starts_with('(') {
            continue;
        }
        let text = text.trim_start();
        let first = text.split(|c: char| !is_word(c)).next().unwrap_or_default();
        let length = match first {
            "enum" | "trait" => whole_block(text),
            "mod" => continue,
            _ => signature(text),
        };
        found.push(text[..length].split_whitespace().collect::<Vec<_>>().join(" "));
    }
    found
}

/// The length of an item with its block.
fn whole_block(text: &str) -> usize {
    let chars: Vec<char> = text.chars().collect();
    let end = next_block(&chars, 0).map_or(chars.len(), |(_, end)| end + 1);
    chars[..end].iter().map(|c| c.len_utf8()).sum()
}

/// The length of a signature or of a field: up to its body, to its end, or to the next field.
fn signature(text: &str) -> usize {
    let is_export = text.starts_with("use ");
    let (mut depth, mut before) = (0_i32, ' ');
    for (at, c) in text.char_indices() {
        match c {
            '{' if is_export => depth += 1,
            '(' | '[' | '<' => depth += 1,
            '>' if matches!(before, '-' | '=') => {}
            ')' | ']' | '}' | '>' if depth == 0 => return at,
            ')' | ']' | '>' => depth -= 1,
            '}' if is_export => depth -= 1,
            '{' | ';' | ',' if depth == 0 => return at,
            ';' if is_export => return at,
            _ => {}
        }
        before = c;
    }
    text.len()
}
