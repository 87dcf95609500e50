//! Problems of files: one row for each rule. Summaries and lines are those that OpenTofu reported, as recorded.

use std::collections::BTreeMap;
use std::sync::Arc;

use weft_evaluator::config::CompiledModule;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::{Attribute, Block};
use weft_graph_format::types::Type;

use crate::harness::Script;

/// Files by name, `main.tf` first.
fn loaded(files: &[(&str, &str)], given: &[(&str, &str)]) -> (Arc<CompiledModule>, Vec<String>) {
    let (root, problems) = problems_of(files, given);
    let mut found: Vec<String> = problems.iter().map(line_and_summary).collect();
    found.sort();
    found.dedup();
    (root, found)
}

fn problems_of(files: &[(&str, &str)], given: &[(&str, &str)]) -> (Arc<CompiledModule>, Vec<Diagnostic>) {
    let script = files.iter().fold(Script::of(""), |script, (path, text)| script.file(path, text));
    given.iter().fold(script, |script, (name, text)| script.given(name, *text)).loaded()
}

/// The line and summary of a problem.
fn line_and_summary(problem: &Diagnostic) -> String {
    let line = problem.subject.as_ref().map_or(0, |range| range.start.line);
    format!("{line} {}", problem.summary)
}

fn said(text: &str) -> Vec<String> {
    loaded(&[("main.tf", text)], &[]).1
}

/// A provider configuration is passed to a module under a name that the module does not declare. This is accepted if
/// the name can only refer to a default provider.
#[test]
fn an_undeclared_name_can_only_be_passed_to_a_default_provider() {
    for (source, is_error) in [("hashicorp/test", false), ("weft.test/some/test", true)] {
        let required = format!("terraform {{\n required_providers {{\n test = {{ source = \"{source}\" }}\n }}\n}}\n");
        let root = format!(
            "{required}provider \"test\" {{}}\nmodule \"m\" {{\n source = \"./m\"\n providers = {{ test.dns = test }}\n}}"
        );
        let (_, problems) = problems_of(&[("main.tf", &root), ("m/main.tf", &required)], &[]);
        let found: Vec<_> = problems.iter().map(|problem| (line_and_summary(problem), problem.is_error())).collect();
        assert_eq!(found, [("9 Reference to undefined provider".to_owned(), is_error)], "{source}");
    }
}

#[test]
fn mistakes_in_single_files_are_reported() {
    for (text, expected) in [
        ("output \"o\" {\n value = region\n}", &[][..]),
        ("output \"o\" {\n value = 1\n}\noutput \"o\" {\n value = 2\n}", &["4 Duplicate output definition"]),
        ("variable \"v\" {\n default = 1\n nullable = \"maybe\"\n}", &["3 Unsuitable value type"]),
        ("variable \"v\" {\n default = null\n nullable = false\n}", &["2 Invalid default value for variable"]),
        ("variable \"source\" {}", &["1 Invalid variable name"]),
        ("moved {\n from = a.b\n to = module.m\n}", &["1 Invalid \"moved\" addresses"]),
        ("moved {\n from = \"a.b\"\n to = a.c\n}", &["1 Invalid \"moved\" address", "2 Invalid expression"]),
        ("moved {\n from = ephemeral.a.b\n to = a.c\n}", &["1 Invalid \"moved\" address"]),
        ("moved {\n from = module.a[0].a.b[\"x\"]\n to = a.c\n}", &[]),
        ("removed {\n from = a.b[0]\n}", &["2 Resource instance address with keys is not allowed"]),
        ("removed {\n from = module.a[0]\n}", &["2 Module instance address with keys is not allowed"]),
        ("removed {\n from = data.a.b\n}", &["2 Data source address is not allowed"]),
        ("removed {\n from = a.b\n lifecycle {\n  destroy = var.x\n }\n}", &["4 Variables not allowed"]),
        (
            "removed {\n from = a.b\n provisioner \"local-exec\" {\n  command = \"x\"\n }\n}",
            &["3 Invalid \"removed.provisioner\" block"],
        ),
        ("import {\n to = a.b\n}", &["1 Missing required import argument"]),
        ("import {\n to = a.b[each.key]\n for_each = {}\n id = each.value\n}", &[]),
        ("import {\n to = module.m[each.key].a.b\n for_each = {}\n id = each.value\n}", &[]),
        ("import {\n to = module.m\n id = \"x\"\n}", &["2 Invalid address"]),
        ("check \"c\" {}", &["1 Zero assert blocks"]),
        (
            "check \"c\" {\n assert {\n  condition = true\n  error_message = \"x\"\n }\n}",
            &["1 Zero assert blocks", "3 Invalid assert expression"],
        ),
        (
            "check \"c\" {\n data \"a\" \"b\" {\n  count = 1\n  lifecycle {}\n }\n assert {\n  condition = local.x\n  \
             error_message = \"x\"\n }\n}",
            &["3 Invalid \"count\" attribute", "4 Invalid lifecycle block"],
        ),
        ("resource \"a\" \"b\" {\n provisioner \"chef\" {}\n}", &["2 The \"chef\" provisioner has been removed"]),
        (
            "resource \"a\" \"b\" {\n provisioner \"local-exec\" {\n  when = later\n }\n}",
            &["3 Invalid \"when\" keyword"],
        ),
        (
            "resource \"a\" \"b\" {\n provisioner \"local-exec\" {\n  when = destroy\n  command = var.x\n }\n}",
            &["4 Invalid reference from destroy provisioner"],
        ),
        ("resource \"a\" \"b\" {\n connection {}\n connection {}\n}", &["3 Duplicate connection block"]),
        ("data \"a\" \"b\" {\n lifecycle {\n  destroy = true\n }\n}", &["3 Invalid data resource lifecycle argument"]),
        ("terraform {\n backend \"attic\" {}\n}", &[]),
        ("terraform {\n required_providers {\n  A = {}\n }\n}", &["3 Invalid provider local name"]),
        ("terraform {\n required_providers {\n  a = 5\n }\n}", &[]),
        (
            "terraform {\n required_providers {\n  a = { source = \"terraform-provider-a\" }\n }\n}",
            &["3 Invalid provider type"],
        ),
        (
            "terraform {\n required_providers {\n  a = { source = \"a/b/c/d\" }\n }\n}",
            &["3 Invalid provider source string"],
        ),
        (
            "terraform {\n required_providers {\n  a = { configuration_aliases = [b.x] }\n }\n}",
            &["3 Invalid configuration_aliases value"],
        ),
        ("provider \"a\" {\n alias = \"x\"\n for_each = [1]\n}", &["3 Invalid for_each argument"]),
        ("provider \"a\" {\n alias = \"x\"\n for_each = toset([\"a\"])\n}", &[]),
        ("provider \"a\" {\n alias = \"x\"\n for_each = b.c.d\n}", &["3 Dynamic value in static context"]),
        (
            "locals {\n x = b.c.d\n}\nprovider \"a\" {\n alias = \"x\"\n for_each = local.x\n}",
            &["2 Dynamic value in static context", "6 Unable to compute static value"],
        ),
        ("terraform {\n required_version = \"nonsense\"\n}", &[]),
    ] {
        assert_eq!(said(text), expected, "{text}");
    }
}

#[test]
fn settings_of_provider_meta_follow_the_schema() {
    let attribute = |required: bool| Attribute { required, optional: !required, ..Attribute::new(Type::String) };
    let attributes = BTreeMap::from([("name".into(), attribute(true)), ("note".into(), attribute(false))]);
    let schema = Block { attributes, ..Block::default() };
    for (body, expected) in [
        ("  name = \"x\"", vec![]),
        ("  name = null", vec![]),
        ("  note = \"x\"", vec!["2 Missing required argument"]),
        ("  color = \"x\"", vec!["2 Missing required argument", "3 Unsupported argument"]),
    ] {
        let text = format!("terraform {{\n provider_meta \"a\" {{\n{body}\n }}\n}}");
        let (root, problems) = loaded(&[("main.tf", &text)], &[]);
        assert_eq!(problems, Vec::<String>::new(), "{body}");
        let said = root.settings.provider_metas["a"].settings(&schema).err().unwrap_or_default();
        let mut found: Vec<String> = said.iter().map(line_and_summary).collect();
        found.sort();
        assert_eq!(found, expected, "{body}");
    }
}

#[test]
fn errors_of_the_root_module_hide_those_of_its_calls() {
    let child = ("m/main.tf", "output \"o\" {\n}");
    let call = "module \"m\" {\n source = \"./m\"\n}";
    assert_eq!(loaded(&[("main.tf", call), child], &[]).1, ["1 Missing required argument"]);
    let broken = format!("{call}\nvariable \"source\" {{}}");
    assert_eq!(loaded(&[("main.tf", &broken), child], &[]).1, ["4 Invalid variable name"]);
}

#[test]
fn only_tofu_files_check_the_required_version() {
    let text = "terraform {\n required_version = \"~> 0.15.0\"\n}";
    assert_eq!(loaded(&[("main.tf", text)], &[]).1, Vec::<String>::new());
    assert_eq!(loaded(&[("main.tofu", text)], &[]).1, ["2 Incompatible module"]);
}

#[test]
fn sources_are_computed_before_anything_else() {
    let main = "variable \"size\" {\n type = string\n}\nlocals {\n folder = \"./sizes\"\n}\nmodule \"m\" {\n \
                source = \"${local.folder}/${var.size}\"\n}";
    let child = ("sizes/small/main.tf", "output \"o\" {\n value = 1\n}");
    let (root, problems) = loaded(&[("main.tf", main), child], &[("size", "small")]);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(root.sources.get("m").map(|source| source.address.as_str()), Some("./sizes/small"));
    let (_, problems) = loaded(&[("main.tf", main), child], &[]);
    assert_eq!(
        problems,
        ["1 Failed to request input from user for variable var.size", "8 Unable to compute static value"]
    );
    let secret = main.replace("type = string", "sensitive = true");
    let (_, problems) = loaded(&[("main.tf", &secret), child], &[("size", "small")]);
    assert_eq!(problems, ["8 Sensitive value not allowed"]);
}

#[test]
fn override_files_replace_the_blocks_that_they_name() {
    let main = "locals {\n a = 1\n b = 2\n}\nvariable \"v\" {\n type = string\n default = \"x\"\n}\n\
                resource \"a\" \"b\" {\n x = 1\n lifecycle {\n  prevent_destroy = true\n }\n}\noutput \"o\" {\n \
                value = 1\n}";
    let over = "locals {\n a = 3\n}\nvariable \"v\" {\n default = \"y\"\n}\nresource \"a\" \"b\" {\n y = 2\n \
                lifecycle {\n  create_before_destroy = true\n }\n}";
    let (root, problems) = loaded(&[("main.tf", main), ("x_override.tf", over)], &[]);
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(root.variables["v"].default_value().as_ref().and_then(|value| value.as_str()), Some("y"));
    assert!(root.variables["v"].typed);
    let block = root.resources.values().next().expect("the resource");
    assert_eq!(block.lifecycle.create_before_destroy, Some(true));
    for (text, expected) in [
        ("locals {\n c = 1\n}", "2 Missing base local value definition to override"),
        ("output \"p\" {\n value = 1\n}", "1 Missing base output definition to override"),
        ("resource \"a\" \"c\" {}", "1 Missing resource to override"),
        ("moved {\n from = a.b\n to = a.c\n}", "1 Cannot override 'moved' blocks"),
        ("resource \"a\" \"b\" {\n depends_on = [a.c]\n}", "2 Unsupported override"),
    ] {
        assert_eq!(loaded(&[("main.tf", main), ("override.tf", text)], &[]).1, [expected], "{text}");
    }
}
