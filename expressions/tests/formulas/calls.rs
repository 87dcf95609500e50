//! Calls of all functions, with arguments that are usually valid.

use crate::generate::{Choices, Want, expression};

/// The text of a call. A letter between percent signs is an argument: `t` text, `n` number, `b` boolean, `l` list of
/// strings, `L` list that cannot fail, `s` set of strings, `m` map of numbers, `M` map that cannot fail, `o` object,
/// `a` anything. The other letters are literals: `i` small integer, `c` address range, `d` time, `j` JSON, `y` YAML,
/// `x` regular expression, `6` base64, `f` format.
type Pattern = &'static str;

/// Calls whose result is a string. The tables after this one contain the calls with other kinds of results.
const TEXTS: &[Pattern] = &[
    "upper(%t%)",
    "lower(%t%)",
    "title(%t%)",
    "chomp(%t%)",
    "trimspace(%t%)",
    "strrev(%t%)",
    "trim(%t%, %t%)",
    "trimprefix(%t%, %t%)",
    "trimsuffix(%t%, %t%)",
    "indent(%i%, %t%)",
    "substr(%t%, %i%, %n%)",
    "replace(%t%, %x%, %t%)",
    "tostring(%n%)",
    "tostring(%b%)",
    "format(%f%, %a%)",
    "format(\"%s-%d\", %t%, %n%)",
    "join(%t%, %l%)",
    "join(\",\", %l%, %l%)",
    "jsonencode(%a%)",
    "yamlencode(%a%)",
    "base64encode(%t%)",
    "base64decode(base64encode(%t%))",
    "base64decode(%6%)",
    "base64gzip(%t%)",
    "base64gunzip(base64gzip(%t%))",
    "base64sha256(%t%)",
    "base64sha512(%t%)",
    "md5(%t%)",
    "sha1(%t%)",
    "sha256(%t%)",
    "sha512(%t%)",
    "uuidv5(\"dns\", %t%)",
    "urlencode(%t%)",
    "urldecode(%t%)",
    "textencodebase64(%t%, \"UTF-16LE\")",
    "textdecodebase64(textencodebase64(%t%, \"UTF-8\"), \"UTF-8\")",
    "rsadecrypt(%6%, file(\"expression_files/toy_rsa_key.pem\"))",
    "cidrhost(%c%, %n%)",
    "cidrnetmask(%c%)",
    "cidrsubnet(%c%, %i%, %n%)",
    "formatdate(%t%, %d%)",
    "timeadd(%d%, \"${%n%}h\")",
    "basename(%t%)",
    "dirname(\"x/${%t%}\")",
    "pathexpand(%t%)",
    "abspath(%t%)",
    "file(\"expression_files/${%t%}\")",
    "file(\"expression_files/hello.txt\")",
    "filebase64(\"expression_files/${%t%}\")",
    "filemd5(\"expression_files/hello${%t%}\")",
    "filesha1(\"expression_files/hello.txt\")",
    "filesha256(%t%)",
    "filesha512(%t%)",
    "filebase64sha256(\"expression_files/hello.txt\")",
    "filebase64sha512(\"expression_files/hello.txt${%t%}\")",
    "templatefile(\"expression_files/greet.tftpl\", { name = %t% })",
    "templatefile(\"expression_files/list.tftpl\", { items = %l% })",
    "templatefile(\"expression_files/${%t%}.tftpl\", { name = %t% })",
    "templatestring(r.template, { name = %t%, on = %b% })",
    "regex(%x%, %t%)",
    "element(%L%, %n%)",
    "lookup({ a = \"p\", b = \"q\" }, %t%, \"r\")",
    "lookup({ a = r.text }, \"a\", %t%)",
    "coalesce(%t%, %t%)",
    "try(%t%, %t%)",
    "one([%t%])",
    "nonsensitive(sensitive(%t%))",
    "ephemeralasnull(%t%)",
];

const NUMBERS: &[Pattern] = &[
    "length(%l%)",
    "length(%s%)",
    "length(%t%)",
    "length(%m%)",
    "length(%a%)",
    "abs(%n%)",
    "ceil(%n%)",
    "floor(%n%)",
    "signum(%n%)",
    "log(%n%, 2)",
    "pow(%i%, %i%)",
    "max(%n%, %n%)",
    "min(%n%, %n%, 2)",
    "max([%n%, %n%]...)",
    "sum([%n%, %n%])",
    "parseint(%t%, 10)",
    "tonumber(%t%)",
    "try(tonumber(%t%), %n%)",
    "index(%l%, %t%)",
    "index([%t%, %t%], %t%)",
    "length(setproduct(%b% ? %l% : %L%, %L%))",
    "length(toset([%t%, %t%, \"a\"]))",
    "timecmp(%d%, %d%)",
    "lookup(%M%, %t%, %n%)",
    "coalesce(%n%, %n%)",
    "sensitive(%n%)",
    "one(%L%) == null ? 1 : 2",
];

const TRUTHS: &[Pattern] = &[
    "alltrue([%b%, %b%])",
    "anytrue([%b%, %b%])",
    "contains(%l%, %t%)",
    "contains(%s%, %t%)",
    "contains([\"x-${%t%}\", %t%], %t%)",
    "contains([%a%, %l%], %a%)",
    "[%a%, %t%] == [%a%, null]",
    "tolist([%t%]) == %l%",
    "startswith(%t%, %t%)",
    "endswith(%t%, %t%)",
    "strcontains(%t%, %t%)",
    "cidrcontains(%c%, %c%)",
    "tobool(%b%)",
    "tobool(%t%)",
    "issensitive(%a%)",
    "can(%a%)",
    "can(regex(%x%, %t%))",
    "fileexists(\"expression_files/${%t%}\")",
];

const LISTS: &[Pattern] = &[
    "concat(%l%, %l%)",
    "split(%t%, %t%)",
    "split(\"-\", %t%)",
    "reverse(%l%)",
    "keys(%M%)",
    "sort(%l%)",
    "distinct(%l%)",
    "compact(%l%)",
    "slice(%L%, 0, %i%)",
    "formatlist(\"%s-%s\", %l%, %t%)",
    "formatlist(%f%, %l%)",
    "flatten([%l%, [%l%]])",
    "matchkeys(%l%, %l%, %l%)",
    "matchkeys(%L%, %L%, [%t%, \"x-${%t%}\"])",
    "concat(tolist([]), %l%)",
    "reverse(toset([%t%]))",
    "coalescelist(%L%, %L%)",
    "regexall(%x%, %t%)",
    "cidrsubnets(%c%, %i%, 4)",
    "tolist(%s%)",
    "tolist(%l%)",
    "values({ x = %t%, y = %t% })",
    "sensitive(%l%)",
    "try(%l%, %l%)",
    "[for p in setproduct(%L%, %L%) : \"${p[0]}/${p[1]}\"]",
    "[for c in chunklist(%l%, %i%) : join(\"+\", c)]",
    "[for row in csvdecode(\"name,n\\n${%t%},1\") : row.name]",
    "[for i in range(%i%) : \"r${i}\"]",
    "[for s in fileset(\"expression_files\", \"h*.txt\") : s]",
];

const SETS: &[Pattern] = &[
    "setunion(%s%, %s%)",
    "setintersection(%s%, %s%)",
    "setsubtract(%s%, %s%)",
    "toset(%l%)",
    "fileset(\"expression_files\", \"${%t%}*\")",
    "sensitive(%s%)",
];

const MAPS: &[Pattern] = &[
    "merge(%M%, %M%)",
    "merge(%M%, null)",
    "tomap(%m%)",
    "zipmap(%L%, range(length(%L%)))",
    "zipmap([\"a\", \"b\"], [%n%, %n%])",
    "try(%m%, %M%)",
    "sensitive(%m%)",
    "nonsensitive(sensitive(%m%))",
    "jsondecode(jsonencode(%m%))",
];

const ANY: &[Pattern] = &[
    "try(%a%, %a%)",
    "sensitive(%a%)",
    "jsondecode(jsonencode(%a%))",
    "jsondecode(%j%)",
    "yamldecode(%y%)",
    "yamldecode(yamlencode(%a%))",
    "csvdecode(%t%)",
    "transpose({ a = %l%, b = %l% })",
    "setproduct(%L%, %s%)",
    "chunklist(%l%, %i%)",
    "regex(\"(?P<first>.)(?P<rest>.*)\", %t%)",
    "regexall(\"(.)(.)\", %t%)",
    "tolist([%a%, %a%])",
    "toset([%a%, %a%])",
    "tomap({ x = %a%, y = %a% })",
    "merge(%o%, { more = %a% })",
    "values(%m%)",
    "keys(%o%)",
    "flatten([%a%, [%l%]])",
    "flatten({ a = %t%, b = [%l%] })",
    "concat([%a%], %l%)",
    "reverse([%a%, %t%])",
    "lookup({ a = 1 }, %t%, %n%)",
    "coalesce(%a%, %a%)",
    "one(%L%)",
    "contains([%a%], %a%)",
    "distinct([%a%, %a%])",
    "range(%n%)",
    "range(%i%, %n%, 2)",
    "zipmap(%L%, %l%)",
    "nonsensitive(sensitive(%a%))",
    "ephemeralasnull(%a%)",
    "sum(%l%)",
    "plantimestamp() == %d%",
];

/// Functions without a pattern, and why.
pub const LEFT_OUT: &[(&str, &str)] = &[
    ("bcrypt", "each call gives another result: rules.rs"),
    ("timestamp", "each call gives another result: rules.rs"),
    ("uuid", "each call gives another result: rules.rs"),
    ("list", "always an error"),
    ("map", "always an error"),
];

/// All patterns.
pub fn patterns() -> impl Iterator<Item = Pattern> {
    [TEXTS, NUMBERS, TRUTHS, LISTS, SETS, MAPS, ANY].into_iter().flatten().copied()
}

/// A call with the wanted kind of result.
pub fn call(c: &mut Choices<'_>, want: Want, depth: usize) -> String {
    let patterns = match want {
        Want::Text => TEXTS,
        Want::Number => NUMBERS,
        Want::Truth => TRUTHS,
        Want::List | Want::ShallowList => LISTS,
        Want::Set => SETS,
        Want::Map | Want::ShallowMap => MAPS,
        Want::Object | Want::Anything => ANY,
    };
    let pattern = c.one(patterns);
    let below = depth.saturating_sub(1);
    let mut made = String::new();
    let mut parts = pattern.split('%').peekable();
    while let Some(part) = parts.next() {
        made.push_str(part);
        let Some(letter) = parts.next() else { break };
        match argument(c, letter, below) {
            Some(argument) => made.push_str(&argument),
            // A literal percent sign.
            None => {
                made.push('%');
                made.push_str(letter);
                if parts.peek().is_some() {
                    made.push('%');
                }
            }
        }
    }
    if pattern.contains(" ? ") || pattern.contains(" == ") { format!("({made})") } else { made }
}

fn argument(c: &mut Choices<'_>, letter: &str, depth: usize) -> Option<String> {
    let literal = |c: &mut Choices<'_>, options: &[&str]| Some(c.one(options).to_owned());
    let want = match letter {
        "t" => Want::Text,
        "n" => Want::Number,
        "b" => Want::Truth,
        "l" => Want::List,
        "L" => Want::ShallowList,
        "s" => Want::Set,
        "m" => Want::Map,
        "M" => Want::ShallowMap,
        "o" => Want::Object,
        "a" => Want::Anything,
        "i" => return literal(c, &["1", "2", "r.number", "8", "0", "provisional.number", "-1"]),
        "c" => return literal(c, &["r.range", "\"10.0.0.0/16\"", "\"fd00::/48\"", "r.text", "\"${r.range}\""]),
        "d" => return literal(c, &["r.time", "\"2024-02-29T12:00:00Z\"", "r.text", "\"2024-02-29T12:00:00+02:00\""]),
        "j" => return literal(c, &["r.json", "\"[1, null, {\\\"a\\\": true}]\"", "r.text", "\"{\""]),
        "y" => return literal(c, &["r.json", "\"a: [1, ~, x]\"", "r.text", "\"a: b: c\""]),
        "x" => return literal(c, &["\"a\"", "\"/[a-b]+/\"", "\"[a-b]+\"", "r.text", "\"(\"", "\"(a)(-)?\""]),
        "6" => return literal(c, &["\"YWI=\"", "r.text", "base64encode(r.text)", "\"?\""]),
        "f" => return literal(c, &["\"<%v>\"", "\"%s\"", "\"%q\"", "\"%d\"", "\"%#v\"", "r.text", "\"%05.1f\""]),
        _ => return None,
    };
    Some(expression(c, want, depth))
}
