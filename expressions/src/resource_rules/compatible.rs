//! What may come of a plan: of the reviewed plan at the final plan, of the final plan at the apply.

use weft_graph_format::path::{Path, Step};
use weft_graph_format::value::{Kind, Refinement, Value};

use super::Violation;

/// What differs between what was planned and what came of it where it must not: known parts are the same, unknown
/// ones are anything of their type and refinement, containers keep their keys and lengths. Values without marks.
pub fn check_applied(planned: &Value, actual: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    compare(planned, actual, &Path::ROOT, &mut found);
    found
}

/// The same between a reviewed plan and the final one, in which unknown parts may still be unknown.
pub fn check_final_plan(reviewed: &Value, last: &Value) -> Vec<Violation> {
    check_applied(reviewed, last)
}

fn compare(planned: &Value, actual: &Value, path: &Path, found: &mut Vec<Violation>) {
    let mut wrong = |message: String| found.push(Violation::new(path, message));
    match (planned.open().1, actual.open().1) {
        (Kind::Unknown(p), Kind::Unknown(_)) if p.refinement.is_empty() => {}
        (Kind::Unknown(_), Kind::Unknown(_)) => {}
        (Kind::Unknown(p), _) => {
            if let Some(message) = broken_promise(&p.refinement, actual) {
                wrong(message);
            }
        }
        (_, Kind::Unknown(_)) => wrong(String::from("was known, but now unknown")),
        (Kind::Null(_), Kind::Null(_)) => {}
        (Kind::Null(_), _) => wrong(format!("was null, but now {}", shown(actual))),
        (_, Kind::Null(_)) => wrong(format!("was {}, but now null", shown(planned))),
        (Kind::List(p), Kind::List(a)) | (Kind::Tuple(p), Kind::Tuple(a)) | (Kind::List(p), Kind::Tuple(a))
        | (Kind::Tuple(p), Kind::List(a)) => {
            if p.len() != a.len() {
                wrong(format!("had {} elements, but now {}", p.len(), a.len()));
                return;
            }
            for (i, (p, a)) in p.items().iter().zip(a.items()).enumerate() {
                compare(p, a, &path.with(Step::Index(i as u64)), found);
            }
        }
        (Kind::Set(p), Kind::Set(a)) => sets(p.items(), a.items(), path, found),
        (Kind::Map(p) | Kind::Object(p), Kind::Map(a) | Kind::Object(a)) => {
            let is_object = matches!(planned.open().1, Kind::Object(_));
            for (key, p) in p.iter() {
                let step = if is_object { Step::Attribute(key.clone()) } else { Step::Key(key.clone()) };
                match a.get(key) {
                    Some(a) => compare(p, a, &path.with(step), found),
                    None => found.push(Violation::new(path, format!("element {key:?} has vanished"))),
                }
            }
            for key in a.entries().keys().filter(|k| p.get(k).is_none()) {
                found.push(Violation::new(path, format!("new element {key:?} has appeared")));
            }
        }
        _ if planned.same_unmarked(actual) => {}
        _ => wrong(format!("was {}, but now {}", shown(planned), shown(actual))),
    }
}

/// Sets: each known planned element must be there, and as many unknown ones as are needed may become others.
fn sets(planned: &[Value], actual: &[Value], path: &Path, found: &mut Vec<Violation>) {
    if planned.iter().all(Value::is_wholly_known) && planned.len() != actual.len() {
        found.push(Violation::new(path, format!("set length changed from {} to {}", planned.len(), actual.len())));
        return;
    }
    if actual.len() > planned.len() {
        found.push(Violation::new(path, format!("set length changed from {} to {}", planned.len(), actual.len())));
    }
    let fits = |p: &Value, a: &Value| {
        let mut problems = Vec::new();
        compare(p, a, &Path::ROOT, &mut problems);
        problems.is_empty()
    };
    for p in planned {
        if !actual.iter().any(|a| fits(p, a)) {
            found.push(Violation::new(path, String::from("a planned set element is not there")));
        }
    }
    for a in actual {
        if !planned.iter().any(|p| fits(p, a)) {
            found.push(Violation::new(path, String::from("a set element is there that was not planned")));
        }
    }
}

/// How a value breaks what was known of it before.
fn broken_promise(refinement: &Refinement, actual: &Value) -> Option<String> {
    if actual.is_null() {
        return refinement.not_null.then(|| String::from("was promised not to be null, but is"));
    }
    if let Some(text) = actual.as_str()
        && !text.starts_with(refinement.prefix.as_str())
    {
        return Some(format!("was promised to begin with {:?}, but does not", refinement.prefix.as_str()));
    }
    if let Some(number) = actual.as_number() {
        let below = refinement.min.as_ref().is_some_and(|(min, inclusive)| number < min || (!inclusive && number == min));
        let above = refinement.max.as_ref().is_some_and(|(max, inclusive)| number > max || (!inclusive && number == max));
        if below || above {
            return Some(format!("was promised to be within bounds, but is {number}"));
        }
    }
    let length = actual.as_items().map(<[Value]>::len).or_else(|| actual.as_fields().map(|f| f.len()));
    let length = length.map(|l| l as u64)?;
    let out = length < refinement.length_min || refinement.length_max.is_some_and(|max| length > max);
    out.then(|| format!("was promised another number of elements than {length}"))
}

/// A value in a message: primitive ones as they are, others by their type.
fn shown(value: &Value) -> String {
    match value.open().1 {
        Kind::String(s) => format!("{:?}", s.as_str()),
        Kind::Number(n) => format!("{n}"),
        Kind::Bool(b) => format!("{b}"),
        _ => value.ty().friendly_name(),
    }
}
