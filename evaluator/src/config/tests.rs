//! Compares the two syntaxes. Each row is one configuration in both syntaxes, and both forms must have the same
//! declarations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::config::{CompiledModule, ImportKey, ProviderKey, Repetition, load_tree};

fn loaded(name: &str, text: &str) -> (Arc<CompiledModule>, Vec<String>) {
    let dir = tempfile::tempdir().expect("a directory");
    std::fs::write(dir.path().join(name), text).expect("written");
    let (root, _, problems) = load_tree(dir.path(), &BTreeMap::new());
    let place = |problem: &weft_graph_format::diagnostic::Diagnostic| {
        let line = problem.subject.as_ref().map_or(0, |range| range.start.line);
        format!("{line} {}", problem.summary)
    };
    (root, problems.iter().map(place).collect())
}

/// The declarations of a module, without source ranges.
fn facts(module: &CompiledModule) -> Vec<String> {
    let mut found = Vec::new();
    let provider = |reference: &crate::config::ProviderReference| {
        let key = reference.key.as_ref().map(|key| match key {
            ProviderKey::Literal(key, _) => format!("{key:?}"),
            ProviderKey::Computed(expression) => expression.text().to_owned(),
        });
        format!("{} {:?} {key:?}", reference.local_name, reference.alias)
    };
    let subjects = |all: &[crate::reference::Reference]| -> Vec<String> {
        all.iter().map(|one| format!("{:?}", one.subject)).collect()
    };
    for (name, variable) in &module.variables {
        found.push(format!("{name}: {:?} {:?} {:?}", variable.ty, variable.defaults, variable.description));
    }
    for (name, required) in &module.settings.required_providers {
        let aliases = &required.configuration_aliases;
        found.push(format!("{name}: {} {:?} {aliases:?}", required.source, required.version));
    }
    for block in module.resources.values() {
        let repeated = match &block.repetition {
            Repetition::Single => "single",
            Repetition::Count(_) => "count",
            Repetition::ForEach(_) => "for_each",
            Repetition::Enabled(_) => "enabled",
        };
        found.push(format!("{} {repeated}", block.resource));
        found.extend(block.provider.as_ref().map(provider));
        found.push(format!("depends {:?}", subjects(&block.depends_on)));
        found.push(format!("refers {:?}", subjects(&block.references)));
        found.push(format!("triggers {:?}", subjects(&block.trigger_references)));
        let lifecycle = &block.lifecycle;
        let ignored: Vec<String> = lifecycle.ignore_changes.iter().map(|(path, _)| format!("{path:?}")).collect();
        found.push(format!("{:?} {} {ignored:?}", lifecycle.create_before_destroy, lifecycle.ignore_all));
        for provisioner in &block.provisioners {
            let (kind, destroys, continues) = (&provisioner.kind, provisioner.on_destroy, provisioner.continues);
            found.push(format!("{kind} {destroys} {continues} {}", provisioner.connection.is_some()));
        }
    }
    for (name, call) in &module.calls {
        found.push(format!("{name} {:?} {:?}", call.literal_source(), call.arguments.keys()));
        for passed in &call.providers {
            found.push(format!("{} {:?} = {}", passed.child_name, passed.child_alias, provider(&passed.parent)));
        }
    }
    for moved in &module.statements.moved {
        found.push(format!("{:?} -> {:?}", moved.from.resource, moved.to.resource));
    }
    for removed in &module.statements.removed {
        found.push(format!("{:?} {:?} {:?}", removed.module, removed.resource, removed.destroy));
    }
    for import in &module.statements.imports {
        let key = match &import.to.key {
            ImportKey::Constant(key) => format!("{key:?}"),
            ImportKey::Computed(key) => key.text().to_owned(),
        };
        found.push(format!("{} {key} {:?}", import.to.resource, import.provider.as_ref().map(provider)));
    }
    found
}

#[test]
fn both_syntaxes_declare_the_same() {
    for (native, json) in [
        (
            "variable \"a\" {\n type = object({a = optional(list(string), [\"x\"])})\n description = \"d\"\n}",
            r#"{"variable": {"a": {"type": "object({a = optional(list(string), [\"x\"])})", "description": "d"}}}"#,
        ),
        (
            concat!(
                "terraform {\n required_providers {\n x = {\n source = \"a/b\"\n version = \"1\"\n",
                " configuration_aliases = [x.y]\n}\n}\n}",
            ),
            concat!(
                r#"{"terraform": {"required_providers": {"x": {"source": "a/b", "version": "1", "#,
                r#""configuration_aliases": ["x.y"]}}}}"#
            ),
        ),
        (
            "resource \"a_b\" \"c\" {\n count = 2\n provider = a.west\n depends_on = [a_b.d, module.m]\n}",
            concat!(
                r#"{"resource": {"a_b": {"c": {"count": 2, "provider": "a.west", "#,
                r#""depends_on": ["a_b.d", "module.m"]}}}}"#
            ),
        ),
        (
            "resource \"a_b\" \"c\" {\n for_each = local.m\n provider = a.by[each.key]\n}",
            r#"{"resource": [{"a_b": {"c": [{"for_each": "${local.m}", "provider": "a.by[each.key]"}]}}]}"#,
        ),
        (
            concat!(
                "resource \"a_b\" \"c\" {\n lifecycle {\n create_before_destroy = true\n",
                " ignore_changes = [a, b[\"k\"].c, d[0]]\n replace_triggered_by = [a_b.d[count.index].e]\n",
                "}\n}",
            ),
            concat!(
                r#"{"resource": {"a_b": {"c": {"lifecycle": {"create_before_destroy": true, "#,
                r#""ignore_changes": ["a", "b[\"k\"].c", "d[0]"], "#,
                r#""replace_triggered_by": ["a_b.d[count.index].e"]}}}}}"#
            ),
        ),
        (
            "resource \"a_b\" \"c\" {\n lifecycle {\n ignore_changes = all\n}\n}",
            r#"{"resource": {"a_b": {"c": {"lifecycle": {"ignore_changes": "all"}}}}}"#,
        ),
        (
            concat!(
                "resource \"a_b\" \"c\" {\n provisioner \"local-exec\" {\n when = destroy\n",
                " on_failure = continue\n connection {\n host = self.x\n}\n}\n provisioner \"file\" {}\n}",
            ),
            concat!(
                r#"{"resource": {"a_b": {"c": {"provisioner": [{"local-exec": {"when": "destroy", "#,
                r#""on_failure": "continue", "connection": {"host": "${self.x}"}}}, {"file": {}}]}}}}"#
            ),
        ),
        (
            concat!(
                "resource \"a_b\" \"c\" {\n dynamic \"x\" {\n for_each = local.xs\n iterator = it\n",
                " content {\n v = it.value.v\n dynamic \"y\" {\n for_each = it.value.ys\n content {\n",
                " w = y.key + local.z\n}\n}\n}\n}\n n {\n dynamic \"q\" {\n for_each = []\n content {\n",
                " r = q.value\n}\n}\n}\n}",
            ),
            concat!(
                r#"{"resource": {"a_b": {"c": {"dynamic": {"x": {"for_each": "${local.xs}", "iterator": "it", "#,
                r#""content": {"v": "${it.value.v}", "dynamic": {"y": [{"for_each": "${it.value.ys}", "#,
                r#""content": {"w": "${y.key + local.z}"}}]}}}}, "#,
                r#""n": [{"dynamic": {"q": {"for_each": [], "content": {"r": "${q.value}"}}}}]}}}}"#
            ),
        ),
        (
            concat!(
                "moved {\n from = a_b.c[0]\n to = a_b.d[\"k\"]\n}\nremoved {\n from = module.m.a_b.e\n",
                " lifecycle {\n destroy = false\n}\n}",
            ),
            concat!(
                r#"{"moved": [{"from": "a_b.c[0]", "to": "a_b.d[\"k\"]"}], "#,
                r#""removed": {"from": "module.m.a_b.e", "lifecycle": {"destroy": false}}}"#
            ),
        ),
        (
            "import {\n for_each = local.m\n to = a_b.c[each.key]\n id = each.value\n provider = a.west\n}",
            concat!(
                r#"{"import": {"for_each": "${local.m}", "to": "a_b.c[each.key]", "#,
                r#""id": "${each.value}", "provider": "a.west"}}"#
            ),
        ),
    ] {
        let (from_native, native_problems) = loaded("main.tf", native);
        let (from_json, json_problems) = loaded("main.tf.json", json);
        // Invalid references are reported in both syntaxes.
        let summaries = |problems: &[String]| -> Vec<String> {
            problems.iter().filter_map(|problem| problem.split_once(' ')).map(|(_, rest)| rest.to_owned()).collect()
        };
        assert_eq!(summaries(&json_problems), summaries(&native_problems), "{json}");
        let (mut from_native, mut from_json) = (facts(&from_native), facts(&from_json));
        // Where one syntax reads blocks as arguments, the order of references differs.
        for facts in [&mut from_native, &mut from_json] {
            for fact in facts.iter_mut().filter(|fact| fact.starts_with("refers")) {
                let mut parts: Vec<&str> = fact.split("\", \"").collect();
                parts.sort_by_key(|part| part.trim_start_matches("refers [\"").trim_end_matches("\"]").to_owned());
                let sorted = parts.iter().map(|part| part.trim_start_matches("refers [\"").trim_end_matches("\"]"));
                *fact = format!("refers {}", sorted.collect::<Vec<_>>().join(", "));
            }
        }
        assert_eq!(from_json, from_native, "{json}");
    }
}

#[test]
fn mistakes_in_json_are_reported_with_their_lines() {
    for (text, expected) in [
        (r#"{"variable": {"a": {"type": "strin"}}}"#, &["1 Invalid type specification"][..]),
        (r#"{"variable": {"a": {"type": ["string"]}}}"#, &["1 Invalid type specification"]),
        (r#"{"variable": {"a": {"sensitive": "${true}"}}}"#, &["1 Unsuitable value type"]),
        ("{\"output\": {\"a\": {\n}}}", &["2 Missing required argument"]),
        (
            "{\"output\": {\"a\": [{\"value\": 1},\n 1]}}",
            &["2 Incorrect JSON value type", "2 Missing required argument", "1 Duplicate output definition"],
        ),
        (r#"{"locals": {"a b": 1}}"#, &["1 Invalid local value name"]),
        (r#"{"locals": [{"a": 1}, {"a": 2}]}"#, &["1 Duplicate local value definition"]),
        (r#"{"resource": {"a_b": {"c": {"provider": 1}}}}"#, &["1 Invalid provider configuration reference"]),
        (r#"{"resource": {"a_b": {"c": {"depends_on": ["${a_b.d}"]}}}}"#, &["1 Invalid expression"]),
        (
            r#"{"resource": {"a_b": {"c": {"count": 1, "for_each": []}}}}"#,
            &["1 Invalid combination of \"count\" and \"for_each\""],
        ),
        (r#"{"moved": {"from": "a_b.c.d", "to": "a_b.e"}}"#, &["1 Invalid address", "1 Invalid \"moved\" address"]),
        (r#"{"moved": {"from": "1 + 2", "to": "a_b.e"}}"#, &["1 Invalid expression", "1 Invalid \"moved\" address"]),
    ] {
        let (_, problems) = loaded("main.tf.json", text);
        assert_eq!(problems, expected, "{text}");
    }
}
