//! Size limits of shipped code: the length of functions and the width of structs.
//!
//! A function over the limit does several things, and a struct over the limit represents several things. The exceptions
//! are listed here, each with its reason. The test fails if a function or a struct is over its limit without an
//! entry, or if an entry is no longer needed.

use std::collections::BTreeMap;

use weft_suite::text::{named, next_block, shipped_only};
use weft_suite::{ARROWS, root, rust_files};

const LONGEST_FUNCTION: usize = 80;
const WIDEST_STRUCT: usize = 15;

/// Functions that may exceed the limit.
const LONG: &[(&str, &str)] = &[];

/// Structs that may exceed the limit.
const WIDE: &[(&str, &str)] = &[(
    "graph-format/src/plan_file/manifest.rs Manifest",
    "a table of a format: plan files encode its fields by position, so their order and nesting are on disk",
)];

/// The functions and structs over their limits, by file and name.
#[derive(Debug, Default)]
struct Sizes {
    functions: BTreeMap<String, usize>,
    structs: BTreeMap<String, usize>,
}

impl Sizes {
    fn add(&mut self, file: &str, text: &str) {
        let code = shipped_only(text);
        for (name, behind) in named(&code, "fn") {
            let Some((_, end)) = next_block(&code, behind) else { continue };
            let lines = code[behind..end].iter().filter(|c| **c == '\n').count() + 1;
            if lines > LONGEST_FUNCTION {
                self.functions.insert(format!("{file} {name}"), lines);
            }
        }
        for (name, behind) in named(&code, "struct") {
            let fields = next_block(&code, behind).map_or(0, |(start, end)| fields(&code[start + 1..end]));
            if fields > WIDEST_STRUCT {
                self.structs.insert(format!("{file} {name}"), fields);
            }
        }
    }
}

/// The number of fields in the body of a struct.
fn fields(body: &[char]) -> usize {
    let (mut depth, mut count, mut named, mut before) = (0, 0, false, ' ');
    for c in body {
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            '>' if before == '-' => {}
            ')' | ']' | '}' | '>' => depth -= 1,
            ':' if depth == 0 => named = true,
            ',' if depth == 0 => count += usize::from(std::mem::take(&mut named)),
            _ => {}
        }
        before = *c;
    }
    count + usize::from(named)
}

/// Items that exceed the limit without an exception, and exceptions that are not needed.
fn problems(found: &BTreeMap<String, usize>, allowed: &[(&str, &str)]) -> Vec<String> {
    let allowed: BTreeMap<&str, &str> = allowed.iter().copied().collect();
    let over = found.iter().filter(|(name, _)| !allowed.contains_key(name.as_str()));
    let idle = allowed.keys().filter(|name| !found.contains_key(**name));
    over.map(|(name, size)| format!("{name} has {size}"))
        .chain(idle.map(|name| format!("{name} is no longer an exception: remove its entry")))
        .collect()
}

#[test]
fn functions_are_short_and_structs_narrow() {
    let root = root();
    let mut sizes = Sizes::default();
    for (room, _) in ARROWS {
        for path in rust_files(&root.join(room).join("src")) {
            let file = path.strip_prefix(&root).expect("a file of the repository").to_string_lossy().into_owned();
            if file.ends_with("/tests.rs") || file.contains("/tests/") || file.contains("/generated/") {
                continue;
            }
            sizes.add(&file, &std::fs::read_to_string(&path).expect("a readable file"));
        }
    }
    assert_eq!(problems(&sizes.functions, LONG), Vec::<String>::new(), "functions over {LONGEST_FUNCTION} lines");
    assert_eq!(problems(&sizes.structs, WIDE), Vec::<String>::new(), "structs over {WIDEST_STRUCT} fields");
}

#[test]
fn sizes_are_measured_in_code() {
    let lines = "\n    step();".repeat(LONGEST_FUNCTION);
    let wide: String = (0..=WIDEST_STRUCT).map(|n| format!("    f{n}: BTreeMap<u8, (u8, u8)>,\n")).collect();
    let narrow: String = (0..WIDEST_STRUCT).map(|n| format!("    f{n}: fn(u8) -> Vec<u8>,\n")).collect();
    let text = format!(
        "fn long(x: [u8; 4]) -> char {{{lines}\n    '{{'\n}}\n\
         fn short() {{\n    // }} {{\n    let text = \"}}\\\"\"; let raw = r#\"{{\"#;\n}}\n\
         struct Wide<'a> {{\n{wide}}}\n\
         struct Narrow {{\n{narrow}}}\n\
         struct Tuple(u8);\n\
         #[cfg(test)]\nmod tests {{\n    fn tested() {{{lines}\n    }}\n}}\n"
    );
    let mut sizes = Sizes::default();
    sizes.add("x.rs", &text);
    assert_eq!(sizes.functions, BTreeMap::from([("x.rs long".to_owned(), LONGEST_FUNCTION + 3)]));
    assert_eq!(sizes.structs, BTreeMap::from([("x.rs Wide".to_owned(), WIDEST_STRUCT + 1)]));
    assert_eq!(problems(&sizes.structs, &[("x.rs Wide", "why")]), Vec::<String>::new());
    assert_eq!(problems(&sizes.structs, &[]), ["x.rs Wide has 16"]);
    assert_eq!(problems(&BTreeMap::new(), &[("x", "why")]), ["x is no longer an exception: remove its entry"]);
}
