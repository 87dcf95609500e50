//! Generates expressions from choices: every construct of the language, and every function with valid arguments.
//!
//! A part of a container (`x[i]`, `x.a`, the elements of a loop) is only used if the container is *shallow*, which
//! means that its parts cannot fail. An error in an unused part is not noticed at apply, as the parent module
//! describes. If all containers were allowed, nearly every case would have such an error.

use crate::calls;

/// The bytes that determine the choices. When the bytes are used up, every choice is the first one.
pub struct Choices<'c> {
    bytes: &'c [u8],
    next: usize,
    /// The names that surrounding loops declare. All are strings.
    names: Vec<String>,
    /// The number of loops so far.
    loops: usize,
}

impl<'c> Choices<'c> {
    pub fn new(bytes: &'c [u8]) -> Choices<'c> {
        Choices { bytes, next: 0, names: Vec::new(), loops: 0 }
    }

    pub fn of(&mut self, count: usize) -> usize {
        let byte = self.bytes.get(self.next).copied().unwrap_or(0);
        self.next += 1;
        usize::from(byte) % count
    }

    pub fn one<'t>(&mut self, options: &[&'t str]) -> &'t str {
        options[self.of(options.len())]
    }

    /// Declares a loop variable for the duration of `body`.
    fn bound<T>(&mut self, body: impl FnOnce(&mut Self, &str) -> T) -> T {
        let name = format!("x{}", self.loops);
        self.loops += 1;
        self.names.push(name.clone());
        let made = body(self, &name);
        self.names.pop();
        made
    }
}

/// The wanted kind of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    Text,
    Number,
    Truth,
    /// Lists of strings.
    List,
    /// Lists of strings that cannot fail.
    ShallowList,
    Set,
    /// Maps of numbers.
    Map,
    ShallowMap,
    Object,
    Anything,
}

/// An expression of this kind, with at most `depth` levels.
pub fn expression(c: &mut Choices<'_>, want: Want, depth: usize) -> String {
    match want {
        Want::Text => text(c, depth),
        Want::Number => number(c, depth),
        Want::Truth => truth(c, depth),
        Want::List => list(c, depth),
        Want::ShallowList => list(c, 0),
        Want::Set => set(c, depth),
        Want::Map => map(c, depth),
        Want::ShallowMap => map(c, 0),
        Want::Object => object(c, depth),
        Want::Anything => anything(c, depth),
    }
}

fn text(c: &mut Choices<'_>, depth: usize) -> String {
    let leaves = 13;
    match c.of(if depth == 0 { leaves } else { leaves + 22 }) {
        0 => "\"a\"".into(),
        1 => "r.text".into(),
        2 => "r.secret".into(),
        3 => "provisional.text".into(),
        4 => "\"12\"".into(),
        5 => "r.object.name".into(),
        6 => "sensitive(\"q\")".into(),
        7 => "r.nullable".into(),
        8 => c.names.last().cloned().unwrap_or_else(|| "\"\"".into()),
        9 => "r.nested.deep.name".into(),
        10 => "r.tuple[0]".into(),
        11 => "\"é\\u0301\\n$${\"".into(),
        12 => "r.map_of_objects[\"k\"].name".into(),
        13 => format!("\"<${{{}}}-${{{}}}>\"", text(c, depth - 1), number(c, depth - 1)),
        14 => format!("({} ? {} : {})", truth(c, depth - 1), text(c, depth - 1), text(c, depth - 1)),
        15 => format!("({} ? null : {})", truth(c, depth - 1), text(c, depth - 1)),
        16 => format!("{}[{}]", list(c, 0), number(c, depth - 1)),
        17 => format!("{}.0", list(c, 0)),
        18 => {
            format!("\"%{{ if {} }}{{y}}%{{ else }}${{{}}}%{{ endif }}\"", truth(c, depth - 1), text(c, depth - 1))
        }
        19 => {
            let source = list(c, 0);
            c.bound(|c, name| {
                let body = text(c, depth - 1);
                format!("\"%{{ for {name} in {source} }}[${{{body}}}]%{{ endfor }}\"")
            })
        }
        20 => {
            let source = map(c, 0);
            c.bound(|c, name| {
                let body = text(c, depth - 1);
                format!("\"%{{ for {name}, v in {source} ~}} ${{{body}}}=${{v}} %{{ endfor ~}} .\"")
            })
        }
        21 => {
            let (condition, inner) = (truth(c, depth - 1), text(c, depth - 1));
            format!("(<<-E\n    a\n      %{{ if {condition} ~}}\n      ${{{inner}}}\n      %{{ endif ~}}\n    E\n)")
        }
        22 => format!("\"${{{}}}\"", anything_plain(c, depth - 1)),
        23 => format!("provider::p::twice({})", text(c, depth - 1)),
        24 => format!("{}.name", object(c, depth - 1)),
        25 => format!("nonsensitive({})", text(c, depth - 1)),
        _ => calls::call(c, Want::Text, depth),
    }
}

fn number(c: &mut Choices<'_>, depth: usize) -> String {
    let leaves = 9;
    match c.of(if depth == 0 { leaves } else { leaves + 13 }) {
        0 => "1".into(),
        1 => "r.number".into(),
        2 => "provisional.number".into(),
        3 => "0".into(),
        4 => "0.5".into(),
        5 => "r.object.size".into(),
        6 => "r.tuple[1]".into(),
        7 => "r.nested.sizes[0]".into(),
        8 => "r.null_number".into(),
        9 => {
            let operator = c.one(&["+", "-", "*", "/", "%"]);
            format!("({} {operator} {})", number(c, depth - 1), number(c, depth - 1))
        }
        10 => format!("-{}", number(c, 0)),
        11 => format!("({} ? {} : {})", truth(c, depth - 1), number(c, depth - 1), number(c, depth - 1)),
        12 => format!("{}[{}]", map(c, 0), text(c, depth - 1)),
        13 => format!("{}.a", map(c, 0)),
        14 => format!("{}.size", object(c, depth - 1)),
        15 => format!("({} + {})", text(c, depth - 1), number(c, depth - 1)),
        _ => calls::call(c, Want::Number, depth),
    }
}

fn truth(c: &mut Choices<'_>, depth: usize) -> String {
    let leaves = 4;
    match c.of(if depth == 0 { leaves } else { leaves + 15 }) {
        0 => "true".into(),
        1 => "r.truth".into(),
        2 => "provisional.truth".into(),
        3 => "false".into(),
        4 => {
            let operator = c.one(&["<", "<=", ">", ">=", "=="]);
            format!("({} {operator} {})", number(c, depth - 1), number(c, depth - 1))
        }
        5 => format!("({} == {})", text(c, depth - 1), text(c, depth - 1)),
        6 => format!("!{}", truth(c, depth - 1)),
        7 => format!("({} && {})", truth(c, depth - 1), truth(c, depth - 1)),
        8 => format!("({} || {})", truth(c, depth - 1), truth(c, depth - 1)),
        9 => format!("can({})", text(c, depth - 1)),
        10 => format!("({} != {})", list(c, depth - 1), list(c, depth - 1)),
        11 => format!("({} == null)", anything(c, depth - 1)),
        12 => format!("({} == {})", anything(c, depth - 1), anything(c, depth - 1)),
        13 => format!("({} == {})", object(c, depth - 1), object(c, depth - 1)),
        _ => calls::call(c, Want::Truth, depth),
    }
}

fn list(c: &mut Choices<'_>, depth: usize) -> String {
    let leaves = 8;
    match c.of(if depth == 0 { leaves } else { leaves + 22 }) {
        0 => "[\"a\", \"b\"]".into(),
        1 => "r.list".into(),
        2 => "provisional.list".into(),
        3 => "(r.objects[*].name)".into(),
        4 => "[r.text, provisional.text]".into(),
        5 => "r.nested.names".into(),
        6 => "r.secret_list".into(),
        7 => "(r.objects.*.name)".into(),
        8 => format!("[{}, {}]", text(c, depth - 1), text(c, depth - 1)),
        9 => format!("tolist([{}, {}])", text(c, depth - 1), text(c, depth - 1)),
        10 | 11 => {
            let source = if c.of(3) == 0 { set(c, 0) } else { list(c, 0) };
            c.bound(|c, name| {
                let body = text(c, depth - 1);
                let condition = if c.of(2) == 1 { format!(" if {}", truth(c, depth - 1)) } else { String::new() };
                format!("[for {name} in {source} : {body}{condition}]")
            })
        }
        12 => {
            let source = list(c, 0);
            c.bound(|c, name| format!("[for i, {name} in {source} : \"${{i}}:${{{}}}\"]", text(c, depth - 1)))
        }
        13 => format!("[for e in toset({}) : e]", list(c, depth - 1)),
        14 => {
            format!("tolist({} ? tolist({}) : tolist({}))", truth(c, depth - 1), list(c, depth - 1), list(c, depth - 1))
        }
        15 => format!("[for k, v in {} : k]", map(c, 0)),
        16 => format!("({} ? {} : {})", truth(c, depth - 1), list(c, depth - 1), list(c, depth - 1)),
        17 => format!("[for o in r.objects : o.name if o.size > {}]", number(c, depth - 1)),
        18 => format!("{}[*]", list(c, 0)),
        _ => calls::call(c, Want::List, depth),
    }
}

fn set(c: &mut Choices<'_>, depth: usize) -> String {
    let leaves = 3;
    match c.of(if depth == 0 { leaves } else { leaves + 7 }) {
        0 => "toset([\"a\", \"b\"])".into(),
        1 => "r.set".into(),
        2 => "toset([r.text, \"a\"])".into(),
        3 => format!("toset({})", list(c, depth - 1)),
        4 => format!("toset([{}, {}])", text(c, depth - 1), text(c, depth - 1)),
        _ => calls::call(c, Want::Set, depth),
    }
}

fn map(c: &mut Choices<'_>, depth: usize) -> String {
    let leaves = 4;
    match c.of(if depth == 0 { leaves } else { leaves + 12 }) {
        0 => "{ a = 1, b = 2 }".into(),
        1 => "r.map".into(),
        2 => "provisional.map".into(),
        3 => "{ a = r.number, (\"b\") = 3 }".into(),
        4 => format!("{{ a = {}, b = {} }}", number(c, depth - 1), number(c, depth - 1)),
        5 => {
            let source = list(c, 0);
            c.bound(|c, name| {
                let (key, body) = (text(c, depth - 1), number(c, depth - 1));
                format!("{{ for {name} in {source} : {key} => {body} }}")
            })
        }
        6 => {
            let source = list(c, 0);
            c.bound(|c, name| {
                let (key, body) = (text(c, depth - 1), anything(c, depth - 1));
                format!("{{ for {name} in {source} : {key} => {body}... }}")
            })
        }
        7 => format!("{{ for k, v in {} : k => v if {} }}", map(c, 0), truth(c, depth - 1)),
        8 => format!("{{ ({}) = {} }}", text(c, depth - 1), number(c, depth - 1)),
        9 => format!("({} ? {} : {})", truth(c, depth - 1), map(c, depth - 1), map(c, depth - 1)),
        _ => calls::call(c, Want::Map, depth),
    }
}

/// Objects with a name and a size.
fn object(c: &mut Choices<'_>, depth: usize) -> String {
    match c.of(if depth == 0 { 4 } else { 8 }) {
        0 => "r.object".into(),
        1 => "r.nested.deep".into(),
        2 => "{ name = \"n\", size = 1 }".into(),
        3 => "r.map_of_objects[\"k\"]".into(),
        4 => "{ name = r.text, size = r.number }".into(),
        5 => format!("r.objects[{}]", number(c, depth - 1)),
        6 => format!("({} ? {} : {})", truth(c, depth - 1), object(c, depth - 1), object(c, depth - 1)),
        _ => format!("sensitive({})", object(c, depth - 1)),
    }
}

/// An expression that can usually be converted to text.
fn anything_plain(c: &mut Choices<'_>, depth: usize) -> String {
    match c.of(4) {
        0 => text(c, depth),
        1 => number(c, depth),
        2 => truth(c, depth),
        _ => "r.any".into(),
    }
}

pub fn anything(c: &mut Choices<'_>, depth: usize) -> String {
    match c.of(if depth == 0 { 11 } else { 20 }) {
        0 => text(c, depth),
        1 => number(c, depth),
        2 => truth(c, depth),
        3 => list(c, depth),
        4 => map(c, depth),
        5 => set(c, depth),
        6 => object(c, depth),
        7 => "r.any".into(),
        8 => "r.nested".into(),
        9 => "r.objects".into(),
        10 => "null".into(),
        11 => format!("[{}, {}]", anything(c, depth - 1), anything(c, depth - 1)),
        12 => format!("{{ p = {}, q = {} }}", anything(c, depth - 1), anything(c, depth - 1)),
        13 => format!("[{}][*]", anything(c, 0)),
        14 => format!("{}[*]", anything(c, 0)),
        15 => format!("({} ? {} : {})", truth(c, depth - 1), anything(c, depth - 1), anything(c, depth - 1)),
        16 => {
            let source = list(c, 0);
            c.bound(|c, name| format!("[for {name} in {source} : {}]", anything(c, depth - 1)))
        }
        17 => format!("r.any.{}", c.one(&["name", "a", "0"])),
        _ => calls::call(c, Want::Anything, depth),
    }
}
