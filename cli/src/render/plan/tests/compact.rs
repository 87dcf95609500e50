//! Tests of equal changes that are shown once, and of the table of counts by provider instance.

use weft_graph_format::address::{InstanceKey, ProviderParts};

use super::super::by_provider;
use super::*;

fn create(address: &str, size: i64) -> ResourceChange {
    let after = object(&[("size", Value::int(size))]);
    change(address, ChangeAction::Only(Action::Create), Value::null(after.ty()), after)
}

#[test]
fn equal_changes_are_shown_once() {
    let mut resources: Vec<ResourceChange> = (0..12).map(|key| create(&format!("lab_thing.a[{key}]"), 1)).collect();
    resources[3] = create("lab_thing.a[3]", 2);
    resources.extend([create("module.m[0].lab_thing.b", 1), create("module.m[1].lab_thing.b", 1)]);
    let made = plan(Changes { resources, ..Changes::default() });
    let compact = Style { compact_changes: true, ..Style::default() };
    let text = human(&made, &compact);
    let start = text.find("  # ").unwrap_or_default();
    expect![[r#"
          # lab_thing.a[0] will be created
          # (same change in 11 instances: lab_thing.a[0] to lab_thing.a[2], lab_thing.a[4] to lab_thing.a[11])
          + resource "lab_thing" "a" {
              + secret_wo = (write-only attribute)
              + size      = 1
            }

          # lab_thing.a[3] will be created
          + resource "lab_thing" "a" {
              + secret_wo = (write-only attribute)
              + size      = 2
            }

          # module.m[0].lab_thing.b will be created
          # (same change in 2 instances: module.m[0].lab_thing.b, module.m[1].lab_thing.b)
          + resource "lab_thing" "b" {
              + secret_wo = (write-only attribute)
              + size      = 1
            }

        Plan: 14 to add, 0 to change, 0 to destroy.
    "#]]
    .assert_eq(&text[start..]);
    assert_eq!(human(&made, &Style::default()).matches("will be created").count(), 14);
}

#[test]
fn ranges_follow_the_natural_order_of_keys() {
    // The order in a plan: by text.
    let keys = ["node-1", "node-10", "node-2", "node-3"];
    let resources = keys.iter().map(|key| create(&format!("lab_thing.a[\"{key}\"]"), 1)).collect();
    let made = plan(Changes { resources, ..Changes::default() });
    let text = human(&made, &Style { compact_changes: true, ..Style::default() });
    let range = r#"(same change in 4 instances: lab_thing.a["node-1"] to lab_thing.a["node-10"])"#;
    assert!(text.contains(range), "{text}");
}

#[test]
fn many_changes_of_several_provider_instances_are_counted() {
    let region = |name: &str, mut change: ResourceChange| {
        change.provider = ProviderParts {
            alias: Some("by_region".into()),
            key: InstanceKey::String(name.into()),
            ..(*change.provider).clone()
        }
        .into();
        change
    };
    let few = by_provider::MANY / 2;
    let one: Vec<ResourceChange> =
        (0..few).map(|key| region("r-10", create(&format!("lab_thing.a[{key}]"), 1))).collect();
    let two: Vec<ResourceChange> =
        (0..few).map(|key| region("r-2", create(&format!("lab_thing.b[{key}]"), 1))).collect();
    let both: Vec<&ResourceChange> = one.iter().chain(&two).collect();
    assert_eq!(by_provider::table(&both[1..]), "", "few changes");
    assert_eq!(by_provider::table(&one.iter().chain(&one).collect::<Vec<_>>()), "", "one provider instance");
    expect![[r#"

        Changes by provider instance:
          r-2   50 to add, 0 to change, 0 to destroy
          r-10  50 to add, 0 to change, 0 to destroy
    "#]]
    .assert_eq(&by_provider::table(&both));
}
