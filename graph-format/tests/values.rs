//! Special cases of values: sets, marks, unknowns, origins, and what is stored.

use std::collections::BTreeMap;

use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::OperationId;
use weft_graph_format::marks::{Deprecation, Marks};
use weft_graph_format::number::Number;
use weft_graph_format::origin::{Origin, OriginNode};
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::types::Type;
use weft_graph_format::value::{
    DEEPEST, Excess, Kind, LONGEST_TEXT, PlainValue, Reach, Refinement, Transform, Value, compare_for_set,
};

fn result(operation: u32, name: &str) -> Formula {
    Formula::result(OperationId(operation), Path::ROOT.attribute(name), Type::String)
}

fn unknown(operation: u32) -> Value {
    Value::unknown(Type::String).with_formula(Some(result(operation, "id")))
}

fn after(operation: u32) -> Origin {
    Origin::after(OperationId(operation))
}

fn operations(origin: Option<&Origin>) -> Vec<u32> {
    let mut found = Vec::new();
    let mut pending: Vec<Origin> = origin.into_iter().cloned().collect();
    while let Some(origin) = pending.pop() {
        match origin.node() {
            OriginNode::After(op) | OriginNode::BeforeDelete(op) => found.push(op.0),
            OriginNode::Union(members) => pending.extend(members.iter().cloned()),
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

fn attribute(name: &str) -> Path {
    Path::ROOT.attribute(name)
}

#[test]
fn unknown_elements_of_a_set_may_be_equal_or_not() {
    let set = Value::set(Type::String, vec![unknown(1), Value::string("a"), unknown(1), Value::string("a")]);
    // Equal known values become one. Unknown values may differ, so all of them stay.
    assert_eq!(set.as_items().map(<[Value]>::len), Some(3));
    assert!(!set.is_wholly_known() && set.is_known());
    let FormulaOp::Set(element, parts) = set.to_formula().op().clone() else { panic!("a set") };
    assert_eq!((element, parts.len()), (Type::String, 3));
}

#[test]
fn paths_do_not_lead_into_sets() {
    let set = Value::set(Type::String, vec![Value::string("a"), unknown(1)]);
    let object = Value::object([("s", set)]);
    for step in [ValueStep::Index(0), ValueStep::Key("a".into()), ValueStep::Attribute("a".into())] {
        assert!(object.at_path(&attribute("s").with(step)).is_err());
    }
    let mut paths = Vec::new();
    object.visit(&mut |path, _| paths.push(path.clone()));
    assert_eq!(paths, [Path::ROOT, attribute("s"), attribute("s"), attribute("s")]);
}

#[test]
fn marks_of_elements_are_marks_of_the_set() {
    let secret = Value::string("a").mark(&Marks::SENSITIVE);
    let object = Value::object([("inner", secret)]);
    let ty = Type::object([("inner", Type::String)]);
    let set = Value::set(ty, vec![object.clone(), Value::object([("inner", Value::string("b"))])]);
    assert!(set.marks().is_sensitive());
    assert!(set.as_items().into_iter().flatten().all(|item| !item.deep().marked));
    // A sensitive element still merges with an equal element.
    let bare = Value::object([("inner", Value::string("a"))]);
    let ty = Type::object([("inner", Type::String)]);
    let set = Value::set(ty, vec![object, bare]);
    assert_eq!((set.as_items().map(<[Value]>::len), set.marks().is_sensitive()), (Some(1), true));
    // A path into a set or into an unknown value marks the set or the unknown value as a whole.
    let below = vec![(attribute("s").with(ValueStep::Index(0)), Marks::SENSITIVE)];
    for value in [Value::set(Type::String, vec![Value::string("a")]), Value::unknown(Type::Dynamic)] {
        let marked = Value::object([("s", value)]).mark_paths(&below);
        assert!(marked.at_path(&attribute("s")).expect("an attribute").marks().is_sensitive());
        assert!(!marked.marks().is_sensitive());
    }
}

#[test]
fn a_path_that_leads_nowhere_marks_the_last_part_on_its_way() {
    let list = Value::list(Type::String, vec![Value::string("a")]);
    let inner = Value::object([("l", list), ("n", Value::null(Type::list(Type::String))), ("s", Value::string("b"))]);
    let value = Value::object([("o", inner), ("p", Value::string("c"))]);
    let index = |path: Path, index| path.with(ValueStep::Index(index));
    let o = attribute("o");
    for (path, reach, marked) in [
        (o.attribute("s"), Reach::There(2), vec![o.attribute("s")]),
        (index(o.attribute("l"), 1), Reach::Lost(2), vec![o.attribute("l")]),
        (index(o.attribute("s"), 0), Reach::Lost(2), vec![o.attribute("s")]),
        (index(o.attribute("gone"), 0), Reach::Lost(1), vec![o.clone()]),
        (attribute("gone"), Reach::Lost(0), vec![Path::ROOT]),
        (index(o.attribute("n"), 0), Reach::Null, vec![]),
        (o.attribute("n"), Reach::There(2), vec![o.attribute("n")]),
    ] {
        assert_eq!(value.reach(&path), reach, "{path}");
        let found = value.mark_paths(&[(path.clone(), Marks::SENSITIVE)]).unmark_with_paths().1;
        assert_eq!(found.into_iter().map(|(path, _)| path).collect::<Vec<_>>(), marked, "{path}");
    }
}

#[test]
fn equal_elements_of_a_set_join_their_origins() {
    let item = |operation| Value::string("a").add_origin(Some(&after(operation)));
    let set = Value::set(Type::String, vec![item(1), item(2)]);
    assert_eq!(set.as_items().map(<[Value]>::len), Some(1));
    assert_eq!(operations(set.deep_origin().as_ref()), [1, 2]);
}

#[test]
fn a_part_keeps_the_marks_of_its_container() {
    let list = Value::list(Type::String, vec![Value::string("a")]).mark(&Marks::SENSITIVE);
    let taken = list.at_path(&Path(vec![ValueStep::Index(0)])).expect("an element");
    assert!(taken.marks().is_sensitive());
    // This also holds for a part of an unknown value, and across several levels.
    let deep = Value::object([("o", Value::unknown(Type::object([("a", Type::String)])).mark(&Marks::SENSITIVE))]);
    let taken = deep.at_path(&attribute("o").attribute("a")).expect("an attribute");
    assert!(taken.marks().is_sensitive() && !taken.is_known() && taken.ty() == Type::String);
    assert!(deep.contains_sensitive() && !deep.marks().is_sensitive());
}

#[test]
fn marks_are_removed_and_restored_by_path() {
    let note = Marks::deprecated(Deprecation { source: "output.o".into(), message: "use p".into() });
    let value = Value::object([
        ("a", Value::string("x").mark(&Marks::SENSITIVE)),
        ("m", Value::map(Type::String, BTreeMap::from([("k".into(), Value::string("y").mark(&note))]))),
        ("t", Value::tuple(vec![Value::null(Type::Dynamic).mark(&Marks::EPHEMERAL)])),
    ])
    .mark(&note);
    let (bare, marks) = value.unmark_with_paths();
    assert!(!bare.deep().marked);
    assert_eq!(marks.len(), 4);
    assert_eq!(bare.mark_paths(&marks), value);
    let (bare, all) = value.unmark_deep();
    assert!(!bare.deep().marked && all.is_sensitive() && all.is_ephemeral() && all.deprecations().count() == 1);
    assert!(value.same_unmarked(&bare) && value != bare);
    // Marks at a map key are found, whether the path contains it as a key or as an attribute.
    let by_attribute = vec![(attribute("m").attribute("k"), Marks::SENSITIVE)];
    let marked = bare.mark_paths(&by_attribute);
    assert!(marked.at_path(&attribute("m").with(ValueStep::Key("k".into()))).expect("an entry").marks().is_sensitive());
}

#[test]
fn a_formula_yields_the_marks_of_its_value() {
    let marked = unknown(1).mark(&Marks::SENSITIVE);
    let formula = marked.formula().expect("a formula").clone();
    assert!(matches!(formula.op(), FormulaOp::Mark(_, marks) if marks.is_sensitive()));
    // Adding a mark again changes nothing.
    let again = marked.mark(&Marks::SENSITIVE);
    assert!(again.formula().is_some_and(|f| f.same(&formula)));
    // A marked container of unmarked unknown parts.
    let object = Value::object([("a", unknown(1))]).mark(&Marks::SENSITIVE);
    assert!(matches!(object.to_formula().op(), FormulaOp::Mark(..)));
    // The formatted value does not show any content.
    assert_eq!(
        format!("{:?}", Value::object([("a", Value::string("x").mark(&Marks::SENSITIVE))])),
        r#"{"a": ({sensitive})}"#
    );
}

#[test]
fn null_is_known_and_unknown_is_not_null() {
    let (null, unknown) = (Value::null(Type::String), Value::unknown(Type::String));
    assert!(null.is_known() && null.is_null() && !unknown.is_null() && null != unknown);
    assert_ne!(null, Value::null(Type::Dynamic));
    assert_ne!(unknown, Value::refined(Type::String, Refinement::not_null()));
    // Null has no parts. Parts of an unknown value are unknown.
    let ty = Type::object([("a", Type::Number)]);
    assert!(Value::null(ty.clone()).at_path(&attribute("a")).is_err());
    assert_eq!(Value::unknown(ty.clone()).at_path(&attribute("a")), Ok(Value::unknown(Type::Number)));
    assert!(Value::unknown(ty).at_path(&attribute("b")).is_err());
    assert_eq!(Value::unknown(Type::Dynamic).at_path(&attribute("b")), Ok(Value::unknown(Type::Dynamic)));
}

#[test]
fn refinements_that_leave_one_value_give_it() {
    let sized = |ty, min, max| {
        let refinement = Refinement { not_null: true, length_min: min, length_max: Some(max), ..Refinement::default() };
        Value::refined(ty, refinement)
    };
    assert_eq!(sized(Type::set(Type::Bool), 0, 0), Value::set(Type::Bool, Vec::new()));
    assert_eq!(sized(Type::map(Type::Bool), 0, 0), Value::map(Type::Bool, BTreeMap::new()));
    let list = sized(Type::list(Type::Bool), 2, 2);
    assert_eq!(list, Value::list(Type::Bool, vec![Value::unknown(Type::Bool); 2]));
    // Elements of a set of known length may still be equal.
    assert!(!sized(Type::set(Type::Bool), 2, 2).is_known());
    let bound = Some((Number::from_i64(3), true));
    let refinement = Refinement { not_null: true, min: bound.clone(), max: bound.clone(), ..Refinement::default() };
    assert_eq!(Value::refined(Type::Number, refinement.clone()), Value::int(3));
    assert!(!Value::refined(Type::Number, Refinement { not_null: false, ..refinement }).is_known());
}

#[test]
fn each_leaf_keeps_its_own_origin() {
    let object = Value::object([
        ("a", Value::string("x").add_origin(Some(&after(1)))),
        ("b", unknown(2).add_origin(Some(&after(2)))),
    ]);
    let part = |name| object.at_path(&attribute(name)).expect("an attribute").deep_origin();
    assert_eq!(operations(part("a").as_ref()), [1]);
    assert_eq!(operations(part("b").as_ref()), [2]);
    assert_eq!(operations(object.deep_origin().as_ref()), [1, 2]);
    // The same node is returned again, so it is created once for many readers of one container.
    let (one, other) = (object.deep_origin().expect("an origin"), object.deep_origin().expect("an origin"));
    assert!(one.same(&other));
    // The origin of the container itself (of its shape) is included.
    let filtered = object.add_origin(Some(&after(3)));
    assert_eq!(operations(filtered.at_path(&attribute("a")).expect("an attribute").origin()), [1, 3]);
    // Removing marks and adding them again loses nothing.
    let (bare, _) = filtered.mark(&Marks::SENSITIVE).unmark_with_paths();
    assert_eq!(operations(bare.deep_origin().as_ref()), [1, 2, 3]);
    let rebuilt = filtered.transform(&mut |path, _| match path == &attribute("a") {
        true => Transform::Replace(Value::int(1)),
        false => Transform::Descend,
    });
    assert_eq!(operations(rebuilt.deep_origin().as_ref()), [2, 3]);
}

#[test]
fn a_known_value_with_a_formula_is_provisional() {
    let provisional = Value::string("x").with_formula(Some(result(1, "id")));
    let object = Value::object([("a", provisional), ("b", Value::string("y"))]);
    let deep = object.deep();
    assert!(deep.provisional && deep.formula && !deep.unknown);
    let FormulaOp::Object(parts) = object.to_formula().op().clone() else { panic!("an object") };
    assert!(matches!(parts[0].1.op(), FormulaOp::Result(..)) && matches!(parts[1].1.op(), FormulaOp::Constant(_)));
    // An unknown value without a formula cannot be computed, and the error says so.
    let lost = Value::tuple(vec![Value::unknown(Type::String), unknown(1)]);
    assert!(lost.deep().unexplained);
    assert!(lost.with_formula(Some(result(2, "all"))).deep().formula);
    let FormulaOp::Tuple(parts) = lost.to_formula().op().clone() else { panic!("a tuple") };
    assert!(matches!(parts[0].op(), FormulaOp::Failure(_)));
    // The formula of a shared container is created once.
    assert!(lost.to_formula().same(&lost.clone().to_formula()));
}

#[test]
fn text_is_normalised() {
    assert_eq!(Value::string("e\u{301}").as_str(), Some("\u{e9}"));
    let set = Value::set(Type::String, vec![Value::string("e\u{301}"), Value::string("\u{e9}")]);
    assert_eq!(set.as_items().map(<[Value]>::len), Some(1));
}

#[test]
fn a_serialized_value_has_no_formula_and_no_origin() {
    let value = Value::object([
        ("known", Value::string("x").mark(&Marks::SENSITIVE).with_formula(Some(result(1, "id")))),
        ("unknown", Value::refined(Type::String, Refinement::with_prefix("i-")).add_origin(Some(&after(1)))),
        ("set", Value::set(Type::Number, vec![Value::int(2), Value::int(1)])),
        ("number", Value::number(Number::parse("0.1").expect("a number"))),
    ]);
    let bytes = postcard::to_stdvec(&value).expect("bytes");
    let read: Value = postcard::from_bytes(&bytes).expect("a value");
    assert_eq!(read, value);
    assert!(!read.deep().formula && !read.deep().origin);
    // Known ephemeral content cannot be stored. Unknown content reveals nothing.
    assert!(postcard::to_stdvec(&Value::tuple(vec![Value::int(1)]).mark(&Marks::EPHEMERAL)).is_err());
    assert!(postcard::to_stdvec(&Value::unknown(Type::String).mark(&Marks::EPHEMERAL)).is_ok());
    assert!(postcard::to_stdvec(&Value::null(Type::String).mark(&Marks::EPHEMERAL)).is_ok());
    // An unknown value that stands for many values is refused.
    let refinement = Refinement { not_null: true, length_min: 9, length_max: Some(9), ..Refinement::default() };
    let plain = PlainValue::Unknown(Type::list(Type::Bool), Box::new(refinement));
    let bytes = postcard::to_stdvec(&plain).expect("bytes");
    assert!(postcard::from_bytes::<Value>(&bytes).is_err());
}

#[test]
fn reading_the_content_also_gives_its_marks() {
    let value = Value::int(1).mark(&Marks::SENSITIVE);
    let (marks, kind) = value.open();
    assert!(marks.is_sensitive() && matches!(kind, Kind::Number(_)));
    let (bare, marks) = value.unmark();
    assert_eq!(bare.mark(&marks), value);
    assert_eq!(value.carry_onto(&Value::int(2)), Value::int(2).mark(&Marks::SENSITIVE));
}

#[test]
fn values_know_their_extent() {
    let pair = |value: Value| Value::tuple(vec![value.clone(), value]);
    let mut value = Value::string("abc");
    for depth in 1..=20u16 {
        value = pair(value);
        let extent = value.extent();
        assert_eq!((extent.parts, extent.text, extent.depth), ((2 << depth) - 1, 3 << depth, depth));
        assert_eq!(value.excess(), None);
    }
    let object = Value::object([("long", value.clone())]);
    assert_eq!((object.extent().text, object.extent().depth), ((3 << 20) + 4, 21));
    for _ in 0..60 {
        value = pair(value);
    }
    assert_eq!(value.extent().parts, u32::MAX);
    assert_eq!(value.excess(), Some(Excess::Parts));
    assert_eq!(Value::string("x".repeat(LONGEST_TEXT + 1)).excess(), Some(Excess::OneText));
    let long = Value::string("x".repeat(LONGEST_TEXT));
    assert_eq!(Value::tuple(vec![long.clone(); 8]).excess(), None);
    assert_eq!(Value::tuple(vec![long; 9]).excess(), Some(Excess::Text));
    // The extent of a type is limited too: an unknown value has nothing else.
    let mut ty = Type::String;
    for _ in 0..60 {
        ty = Type::tuple([ty.clone(), ty]);
    }
    assert_eq!(Value::unknown(ty.clone()).excess(), Some(Excess::Parts));
    assert_eq!(Value::null(ty).excess(), Some(Excess::Parts));
}

#[test]
fn the_deepest_values_need_little_stack() {
    /// Half of the smallest stack of a thread, which is 2 MiB. The other half is for callers.
    const STACK_BYTES: usize = 1 << 20;
    let work = || {
        let wrappers: [fn(Value) -> Value; 4] = [
            |value| Value::tuple(vec![value]),
            |value| Value::list(value.ty(), vec![value]),
            |value| Value::object([("a", value)]),
            |value| Value::map(value.ty(), BTreeMap::from([("a".into(), value)])),
        ];
        for wrap in wrappers {
            let deep = |wrap: fn(Value) -> Value| {
                (0..DEEPEST).fold(Value::string("x").mark(&Marks::SENSITIVE), |value, _| wrap(value))
            };
            let (value, other) = (deep(wrap), deep(wrap));
            assert_eq!((value.extent().depth, value.excess()), (DEEPEST, None));
            assert_eq!(wrap(value.clone()).excess(), Some(Excess::Depth));
            assert!(value == other && value.contains_sensitive());
            assert_eq!(value.ty(), other.ty());
            assert_eq!(compare_for_set(&value, &other), std::cmp::Ordering::Equal);
            let (bare, _) = value.unmark_deep();
            let mut count = 0;
            bare.visit(&mut |_, _| count += 1);
            assert_eq!(count, usize::from(DEEPEST) + 1);
            let _ = (format!("{bare:?}").len(), bare.ty().to_string().len(), bare.to_formula());
            assert!(postcard::to_stdvec(&bare).is_err());
            drop((value, other, bare));
        }
    };
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).expect("a thread");
    assert!(thread.join().is_ok());
}

#[test]
fn rows_of_one_type_share_the_type() {
    let row =
        |n: i64| Value::object([("n", Value::int(n)), ("t", Value::tuple(vec![Value::int(n), Value::bool(true)]))]);
    let rows = Value::tuple((0..3).map(row).chain([Value::int(1), row(4)]).collect());
    let Type::Tuple(types) = rows.ty() else { panic!("a tuple") };
    assert_eq!(types[0], row(0).ty());
    assert_eq!(types[3], Type::Number);
    assert_eq!(types[4], row(4).ty());
    let pointer = |ty: &Type| match ty {
        Type::Object(object) => std::sync::Arc::as_ptr(object),
        other => panic!("{other} is no object"),
    };
    assert!(pointer(&types[0]) == pointer(&types[1]) && pointer(&types[1]) == pointer(&types[2]));
    // All rows share one type in memory.
    assert!(rows.as_items().expect("items").iter().take(3).all(|row| pointer(&row.ty()) == pointer(&types[0])));
}
