//! Tests of drift, and of differences that are not shown as drift.

use super::*;

/// Makes the plan of these changes depend on an attribute of the first object that has drifted.
fn resting(changes: Changes, attribute: &str) -> Changes {
    let resource = changes.drift[0].address.clone();
    Changes { relevant: vec![RelevantAttribute { resource, path: Path::ROOT.attribute(attribute) }], ..changes }
}

#[test]
fn drift_is_shown_where_the_plan_depends_on_it() {
    let drift = update(&[("size", Value::int(1))], &[("size", Value::int(9))]);
    let back = update(&[("size", Value::int(9))], &[("size", Value::int(1))]);
    let alone = Changes { resources: vec![back], drift: vec![drift.clone()], ..Changes::default() };
    assert!(!human(&plan(alone.clone()), &Style::default()).contains("Note:"));
    let text = human(&plan(resting(alone, "size")), &Style::default());
    assert!(text.starts_with("\nNote: Objects have changed outside of OpenTofu\n"), "{text}");
    assert!(text.contains("  # lab_thing.a has changed\n  ~ resource \"lab_thing\" \"a\" {\n"), "{text}");
    assert!(text.contains("~ size      = 1 -> 9"), "{text}");
    assert!(text.ends_with("\nPlan: 0 to add, 1 to change, 0 to destroy.\n"), "{text}");
    let quiet = human(&plan(Changes { drift: vec![drift], ..Changes::default() }), &Style::default());
    assert!(quiet.starts_with("\nNo changes."), "{quiet}");
    assert!(quiet.contains("found no differences"), "{quiet}");
}

/// If the whole object is sensitive, the part that the plan depends on is sensitive, too.
#[test]
fn drift_of_a_part_keeps_the_secret_of_the_whole() {
    let limits = |cpu| object(&[("cpu", Value::int(cpu)), ("memory", Value::int(1))]);
    let secret = |cpu| limits(cpu).mark(&Marks::SENSITIVE);
    for (was, is) in [(secret(7171), secret(8181)), (limits(7171), secret(8181)), (secret(7171), limits(8181))] {
        let drift = update(&[("limits", was)], &[("limits", is)]);
        let change = update(&[("size", Value::int(9))], &[("size", Value::int(1))]);
        let resource = drift.address.clone();
        let path = Path::ROOT.attribute("limits").attribute("cpu");
        let relevant = vec![RelevantAttribute { resource, path }];
        let changes = Changes { resources: vec![change], drift: vec![drift], relevant, ..Changes::default() };
        let text = human(&plan(changes), &Style::default());
        assert!(text.contains("Note:"), "{text}");
        assert!(!text.contains("7171") && !text.contains("8181"), "{text}");
    }
}

/// Providers of the older SDK write null, "", [] or {} for unset arguments.
#[test]
fn unset_arguments_are_not_drift() {
    let drift = update(&[("id", Value::null(Type::String))], &[("id", Value::string(""))]);
    let change = update(&[("size", Value::int(9))], &[("size", Value::int(1))]);
    let changes = Changes { resources: vec![change], drift: vec![drift], ..Changes::default() };
    let text = human(&plan(resting(changes, "id")), &Style::default());
    assert!(!text.contains("Note:"), "{text}");
}

/// For an argument of a block, an empty string counts as unset.
#[test]
fn empty_texts_are_not_shown() {
    let change = update(
        &[("id", Value::string("")), ("size", Value::int(1))],
        &[("id", Value::string("")), ("size", Value::int(2))],
    );
    let text = human(&plan(Changes { resources: vec![change], ..Changes::default() }), &Style::default());
    assert!(!text.contains(" id "), "{text}");
    assert!(!text.contains("unchanged"), "{text}");
}
