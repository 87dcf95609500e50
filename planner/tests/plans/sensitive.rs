//! Sensitive paths in the state that lead to no part of the value.

use weft_graph_format::path::Path;
use weft_graph_format::stored::{PathStep, RawJson};
use weft_graph_format::value::Value;
use weft_planner::{PlanKind, Planned};

use crate::harness::{Case, Object, changes, object};

const CONFIG: &str = "resource \"test_thing\" \"a\" {\n name = \"x\"\n tags = { k = \"v\" }\n}\n";

fn stored() -> Object {
    object("test_thing.a", r#"{"id": "1", "name": "x", "size": 3, "tags": {"k": "v"}}"#)
}

fn attribute(name: &str) -> PathStep {
    PathStep::Attribute(name.to_owned())
}

fn key(json: &str) -> PathStep {
    PathStep::index(RawJson::new(json))
}

/// The sensitive parts of a value. The schema marks `.secret` in every object.
fn hidden(value: &Value) -> Vec<String> {
    let places = value.unmark_with_paths().1.into_iter().map(|(path, _)| path);
    places.map(|path| if path == Path::ROOT { "everything".to_owned() } else { path.to_string() }).collect()
}

async fn planned(stored: Object, kind: PlanKind) -> Planned {
    Case::of(CONFIG).stored(stored).kind(kind).planned().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_sensitive_path_hides_the_part_in_which_it_is_lost() {
    for (path, want) in [
        (vec![attribute("gone")], vec!["everything", ".secret"]),
        (vec![attribute("tags"), key("\"gone\"")], vec![".secret", ".tags"]),
        (vec![attribute("name"), key("0")], vec![".name", ".secret"]),
        (vec![attribute("name"), key("true")], vec!["everything", ".secret"]),
        // Null has no parts.
        (vec![attribute("kind"), key("0")], vec![".secret"]),
        (vec![attribute("tags"), key("\"k\"")], vec![".secret", ".tags[\"k\"]"]),
    ] {
        let plan = planned(stored().sensitive(&path), PlanKind::Destroy).await;
        assert_eq!(hidden(&plan.changes.resources[0].before), want, "{path:?}");
    }
}

/// OpenTofu ignores such a path, so the path does not count as a difference.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_sensitive_path_is_no_change() {
    let lost = [vec![attribute("gone")], vec![attribute("tags"), key("\"gone\"")], vec![attribute("kind"), key("0")]];
    for path in lost {
        let plan = planned(stored().sensitive(&[attribute("secret")]).sensitive(&path), PlanKind::Normal).await;
        assert_eq!(changes(&plan), "no-op test_thing.a\n", "{path:?}");
        let change = &plan.changes.resources[0];
        assert_eq!(hidden(&change.after), hidden(&change.before), "{path:?}");
    }
    // A path that leads to an existing part is a difference, because the configuration does not mark that part.
    let plan = planned(stored().sensitive(&[attribute("name")]), PlanKind::Normal).await;
    assert_eq!(changes(&plan), "update test_thing.a\n  name: sensitive \"x\" -> \"x\"\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_hides_the_old_object_and_shows_the_new_one() {
    let old = object("test_thing.a", r#"{"id": "1", "name": "old", "size": 3, "tags": {"k": "v"}}"#);
    let plan = planned(old.sensitive(&[attribute("gone")]), PlanKind::Normal).await;
    let change = &plan.changes.resources[0];
    assert_eq!(hidden(&change.before), ["everything", ".secret"]);
    assert_eq!(hidden(&change.after), [".secret"]);
}
