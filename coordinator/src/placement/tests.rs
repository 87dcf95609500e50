//! Rules, and their requirements for the workers of a plan.

use weft_graph_format::address::{InstanceKey, ModuleInstance, ProviderInstance, ProviderParts, ProviderSource};
use weft_graph_format::formula::FormulaOp;
use weft_graph_format::graph::OperationId;
use weft_graph_format::graph::{
    ExecutionGraph, FormulaIndex, FormulaRow, FormulaTable, Fragment, Operation, Row, Waits,
};
use weft_graph_format::marks::Marks;
use weft_graph_format::plan_file::Manifest;
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

use super::*;

fn instance(key: &str) -> ProviderInstance {
    ProviderParts {
        module: ModuleInstance::default(),
        source: ProviderSource {
            host: "registry.opentofu.org".into(),
            namespace: "hashicorp".into(),
            type_name: "aws".into(),
        },
        alias: Some("by_region".into()),
        key: if key.is_empty() { InstanceKey::None } else { InstanceKey::String(key.into()) },
    }
    .into()
}

/// A shard with a provider that has this configuration.
fn fragment(shard: Shard, config: Value) -> Fragment {
    let rows = match &shard {
        Shard::Provider(instance) => vec![Row {
            id: OperationId(0),
            operation: Operation::OpenProvider { instance: instance.clone(), config: FormulaIndex(0) },
            waits: Waits::default(),
        }],
        Shard::Home | Shard::Unplaced => Vec::new(),
    };
    let formula = FormulaRow { op: FormulaOp::Constant(config), ty: Type::Dynamic, range: None };
    Fragment { shard, rows, formulas: FormulaTable { rows: vec![formula] }, foreign: Vec::new() }
}

fn plan(fragments: Vec<Fragment>) -> PlanFile {
    let graph = ExecutionGraph {
        operations: 1,
        fragments,
        waiters: Vec::new(),
        outline: Vec::new(),
        final_states: BTreeMap::new(),
    };
    PlanFile {
        manifest: Manifest::default(),
        changes: Default::default(),
        schemas: BTreeMap::new(),
        sources: Default::default(),
        graph,
    }
}

/// A plan in two regions, with a home operation.
fn regions() -> PlanFile {
    let config = |region: &str| {
        let role = Value::object([("role_arn", Value::string("arn:aws:iam::12:role/x"))]);
        Value::object([
            ("region", Value::string(region)),
            ("assume_role", Value::tuple(vec![role])),
            ("token", Value::string("hush").mark(&Marks::SENSITIVE)),
        ])
    };
    plan(vec![
        fragment(Shard::Home, Value::object([("a", Value::int(1))])),
        fragment(Shard::Provider(instance("eu-west-1")), config("eu-west-1")),
        fragment(Shard::Provider(instance("us-east-1")), config("us-east-1")),
    ])
}

/// The requirements of the rules for each shard, as text.
fn demands(rules: &str) -> Vec<String> {
    let Resolved { placement, warnings, .. } =
        PlacementRules::parse(rules).unwrap().resolve(&regions(), "placement.toml").unwrap();
    assert!(warnings.is_empty(), "{warnings:?}");
    let text = |shard: &ShardPlacement| match shard.concurrency {
        Some(most) => format!("{} at most {most}", labels_text(&shard.labels)),
        None => labels_text(&shard.labels),
    };
    placement.shards.iter().map(text).collect()
}

#[test]
fn rules_match_by_each_of_their_patterns() {
    for (selector, eu, us) in [
        ("provider = 'hashicorp/aws'", true, true),
        ("provider = 'registry.opentofu.org/hashicorp/*'", true, true),
        ("provider = 'hashicorp/a'", false, false),
        ("alias = 'by_*'", true, true),
        ("key = 'eu-*'", true, false),
        ("module = ''", true, true),
        ("module = 'module.*'", false, false),
        ("arguments = { region = 'us-*' }", false, true),
        ("arguments = { 'assume_role.role_arn' = '*::12:*' }", true, true),
        ("arguments = { token = '*' }", false, false),
        ("arguments = { profile = '*' }", false, false),
    ] {
        let rules = PlacementRules::parse(&format!("[[rule]]\n{selector}\nconcurrency = 2")).unwrap();
        let (placement, warnings) = rules.place(&regions(), "placement.toml").unwrap();
        let limits: Vec<bool> = placement.shards.iter().map(|shard| shard.concurrency.is_some()).collect();
        assert_eq!(limits, [false, eu, us], "{selector}");
        assert_eq!(warnings.is_empty(), eu || us, "{selector}: a rule that matches nothing is named");
    }
}

#[test]
fn earlier_rules_win_and_later_ones_add() {
    let rules = "
        [[rule]]
        key = 'eu-*'
        labels = { network = 'eu' }
        concurrency = 1
        [[rule]]
        provider = 'hashicorp/aws'
        labels = { network = 'any', where = '{alias}/{key}/{region}' }
        concurrency = 9
        [[rule]]
        home = true
        labels = { home = 'ops-1' }
    ";
    assert_eq!(
        demands(rules),
        [
            "home=ops-1",
            "network=eu, where=by_region/eu-west-1/eu-west-1 at most 1",
            "network=any, where=by_region/us-east-1/us-east-1 at most 9",
        ]
    );
}

#[test]
fn the_instances_of_a_rule_share_its_bound() {
    let rules = "
        [[rule]]
        key = 'eu-*'
        instances = 1
        [[rule]]
        provider = 'hashicorp/aws'
        instances = 4
    ";
    let rules = PlacementRules::parse(rules).unwrap();
    let (placement, warnings) = rules.place(&regions(), "placement.toml").unwrap();
    let bound = |rule, most| Some(InstanceBound { rule, most });
    assert_eq!((placement.bounds.as_slice(), warnings), (&[None, bound(1, 1), bound(2, 4)][..], Vec::new()));
}

#[test]
fn labels_that_the_plan_does_not_know_are_refused() {
    for name in ["token", "profile", "assume_role"] {
        let rules = format!("[[rule]]\nkey = 'eu-*'\nlabels = {{ a = '{{{name}}}' }}");
        let refused = PlacementRules::parse(&rules).unwrap().place(&regions(), "placement.toml").unwrap_err();
        assert_eq!(refused.len(), 1);
        assert!(refused[0].detail.contains(&format!("and a label of this rule refers to {{{name}}}.")));
        assert!(!refused[0].detail.contains("hush"));
    }
}

#[test]
fn wrong_files_are_refused_with_what_is_wrong() {
    for (text, wrong) in [
        ("[[rule]]\nlabels = { a = 'b' }", "rule 1 matches nothing"),
        ("[[rule]]\nhome = true\nkey = 'a'\nlabels = { a = 'b' }", "rule 1 has `home` together with"),
        ("[[rule]]\nkey = 'a'", "rule 1 needs `labels`, `concurrency` or `instances`"),
        ("[[rule]]\nkey = 'a'\nconcurrency = 0", "rule 1 has the concurrency 0"),
        ("[[rule]]\nkey = 'a'\ninstances = 0", "rule 1 has `instances` 0"),
        ("[[rule]]\nhome = true\ninstances = 1", "rule 1 has `home` together with `instances`"),
        ("[[rule]]\nkey = 'a'\nlabels = { '' = 'b' }", "rule 1 has a label without a name"),
        ("[[rule]]\nkey = 'a'\nlabels = { a = 'x{key' }", "with an unclosed brace"),
        ("[[rule]]\nregion = 'a'", "unknown field `region`"),
        ("[[rule]]\nkey = 1", "line 2"),
        ("rule = 1", "line 1"),
    ] {
        let refused = PlacementRules::parse(text).unwrap_err().to_string();
        assert!(refused.contains(wrong), "{text}: {refused}");
    }
    assert_eq!(PlacementRules::parse("").unwrap(), PlacementRules::default());
}

/// The budgets of the shards in two regions, by name.
fn budgets(rules: &str) -> (CallLimits, Vec<Vec<String>>) {
    let resolved = PlacementRules::parse(rules).unwrap().resolve(&regions(), "placement.toml").unwrap();
    assert!(resolved.warnings.is_empty(), "{:?}", resolved.warnings);
    let limits = resolved.limits;
    let names = (0..3).map(|shard| {
        limits.budgets_of(shard).map(|budget| limits.budgets[budget as usize].name.clone()).collect::<Vec<_>>()
    });
    let names = names.collect();
    (limits, names)
}

#[test]
fn a_limit_makes_a_budget_for_each_combination_of_labels() {
    let (limits, names) = budgets(
        "
        [[limit]]
        provider = 'hashicorp/aws'
        labels = { account = 'prod', region = '{region}' }
        rate = 20
        [[limit]]
        provider = 'hashicorp/*'
        labels = { account = 'prod' }
        rate = 0.5
        burst = 4
        tokens_per_call = 2
        ",
    );
    assert_eq!(names[0], Vec::<String>::new(), "what runs at home has no limit");
    assert_eq!(names[1], ["hashicorp/aws account=prod, region=eu-west-1", "hashicorp/aws account=prod"]);
    assert_eq!(names[2], ["hashicorp/aws account=prod, region=us-east-1", "hashicorp/aws account=prod"]);
    let numbers: Vec<_> = limits.budgets.iter().map(|it| (it.interval_us, it.burst, it.tokens_per_call)).collect();
    assert_eq!(numbers, [(50_000, 10, 1), (2_000_000, 4, 2), (50_000, 10, 1)]);
}

#[test]
fn the_first_limit_decides_the_numbers_of_a_budget_and_the_first_retry_rule_counts() {
    let (limits, names) = budgets(
        "
        [[limit]]
        provider = 'hashicorp/aws'
        key = 'eu-*'
        rate = 10
        [[limit]]
        provider = 'hashicorp/aws'
        rate = 99
        [[retry]]
        provider = 'hashicorp/google'
        attempts = 0
        [[retry]]
        provider = 'hashicorp/aws'
        seconds = 60
        patterns = ['CapacityNotAvailable']
        ",
    );
    assert_eq!(names[1..], [["hashicorp/aws"], ["hashicorp/aws"]]);
    assert_eq!((limits.budgets.len(), limits.budgets[0].interval_us), (1, 100_000));
    let retry = limits.retry_of(1).expect("a rule");
    assert_eq!((retry.attempts, retry.seconds), (crate::retry::RETRY_ATTEMPTS, 60));
    assert_eq!(limits.retry_of(0), None);
}

#[test]
fn wrong_limits_are_refused_with_what_is_wrong() {
    let limit = |rest: &str| format!("[[limit]]\nprovider = 'a/b'\n{rest}");
    let retry = |rest: &str| format!("[[retry]]\nprovider = 'a/b'\n{rest}");
    for (text, wrong) in [
        (limit(""), "missing field `rate`"),
        ("[[limit]]\nrate = 1".to_owned(), "missing field `provider`"),
        (limit("rate = 0"), "limit 1 has the rate 0"),
        (limit("rate = nan"), "limit 1 has the rate NaN"),
        (limit("rate = 1\nburst = 0"), "limit 1 needs a burst"),
        (limit("rate = 1\nburst = 3\ntokens_per_call = 2"), "less than the tokens of two calls"),
        (limit("rate = 1\ntokens_per_call = 1000"), "limit 1 needs tokens_per_call"),
        (limit("rate = 1\nlabels = { a = '{' }"), "unclosed brace"),
        (retry("attempts = 1000"), "retry 1 has more than"),
        (retry("patterns = ['no']"), "retry 1 has the pattern \"no\""),
    ] {
        let refused = PlacementRules::parse(&text).unwrap_err().to_string();
        assert!(refused.contains(wrong), "{text}: {refused}");
    }
}

#[test]
fn limits_that_match_nothing_or_refer_to_nothing_are_named() {
    let rules = PlacementRules::parse("[[limit]]\nprovider = 'a/b'\nrate = 1").unwrap();
    let warnings = rules.resolve(&regions(), "placement.toml").unwrap().warnings;
    assert!(warnings[0].detail.contains("Limit 1 of placement.toml"), "{warnings:?}");
    let rules = PlacementRules::parse("[[limit]]\nprovider = 'hashicorp/aws'\nrate = 1\nlabels = { a = '{token}' }");
    let refused = rules.unwrap().resolve(&regions(), "placement.toml").unwrap_err();
    assert!(refused[0].detail.contains("Limit 1") && !refused[0].detail.contains("hush"), "{refused:?}");
}
