//! Plan files: everything that is written can be read, and damaged files are refused.

mod container;
mod drafts;
#[path = "plan_file/sample.rs"]
mod sample;

use std::collections::BTreeMap;
use std::sync::Arc;

use container::{
    ENTRY, HEADER, Part, REQUIRED, ZSTD, put_together, put_together_as_sealed, raw_parts, seal, take_apart,
};
use drafts::random::{graph_of, steps};
use drafts::*;
use proptest::prelude::*;
use sample::*;
use weft_graph_format::address::{ProviderSource, ResourceInstance};
use weft_graph_format::changes::{ChangeAction, Changes, OutputChange, Reason, RelevantAttribute, ResourceChange};
use weft_graph_format::checked::CheckedAddress;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::formula::{Formula, FormulaOp, Occurrence, TypeDefaults};
use weft_graph_format::graph::{Action, Builder, CheckKind, Claim, ClaimedSubject, ExecutionGraph, Shard, disassemble};
use weft_graph_format::limits::{CallBudget, CallLimits, CallRetry, ShardLimits};
use weft_graph_format::marks::Marks;
use weft_graph_format::number::Number;
use weft_graph_format::origin::Origin;
use weft_graph_format::path::{Path, ValueStep};
use weft_graph_format::placement::{InstanceBound, Placement, ShardPlacement};
use weft_graph_format::plan_file::{
    CheckResult, CheckStatus, CheckedKind, EphemeralVariable, FORMAT_VERSION, FragmentPackage, Manifest, PlanFile,
    PlanFileError, PlanReader, ProviderPackage, SectionKind, SourceSnippets, UiMode, WriteError, write,
};
use weft_graph_format::schema::{Attribute, Block, NestedBlock, Nesting, ProviderSchema, Schema};
use weft_graph_format::source::{Position, SourceRange};
use weft_graph_format::types::Type;
use weft_graph_format::value::{PlainValue, Refinement, Value};

fn bytes_of(plan: &PlanFile) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(plan, &mut bytes).expect("bytes");
    bytes
}

fn read(bytes: &[u8]) -> Result<PlanFile, PlanFileError> {
    PlanReader::from_bytes(bytes)?.whole()
}

/// Reads a file with every method of the reader. A plan that can be read must also survive writing and reading again.
fn read_in_every_way(bytes: &[u8]) -> Result<PlanFile, PlanFileError> {
    let reader = PlanReader::from_bytes(bytes)?;
    let _ = (reader.manifest(), reader.changes(), reader.schemas(), reader.sources(), reader.digest());
    let _ = reader.outline();
    for i in 0..=reader.shards().len() {
        let _ = (reader.fragment(i), reader.fragment_bytes(i).map(|bytes| FragmentPackage::decode(&bytes)));
    }
    let plan = reader.whole()?;
    assert!(!disassemble(&plan.graph).is_empty());
    let again = bytes_of(&plan);
    assert!(read(&again).expect("what was read can be written") == plan);
    Ok(plan)
}

#[test]
fn a_plan_round_trips() {
    let plan = sample();
    let mut bytes = Vec::new();
    let digest = write(&plan, &mut bytes).expect("bytes");
    assert_eq!(bytes, bytes_of(&sample()), "equal plans give equal bytes");
    assert_eq!(read_in_every_way(&bytes).expect("a plan"), plan);
    let path = std::env::temp_dir().join(format!("weft-plan-{}.weft", std::process::id()));
    std::fs::write(&path, &bytes).expect("a file");
    let reader = PlanReader::open(&path).expect("a reader");
    assert_eq!(reader.whole().expect("a plan"), plan);
    assert_eq!(reader.digest().expect("a digest"), digest);
    assert_eq!(digest.to_string(), blake3::hash(&bytes).to_hex().to_string());
    assert_eq!(reader.manifest().expect("a manifest"), plan.manifest);
    let outline = reader.outline().expect("an outline");
    assert_eq!((outline.rows, outline.waiters), (plan.graph.outline.clone(), plan.graph.waiters.clone()));
    assert_eq!(outline.shards.len(), 3);
    assert_eq!(reader.fragment(1).expect("a fragment"), plan.graph.fragments[1]);
    assert!(matches!(reader.fragment(3), Err(PlanFileError::NoSuchFragment { index: 3, count: 3 })));
    std::fs::remove_file(&path).expect("gone");
    assert!(matches!(PlanReader::open(&path), Err(PlanFileError::Io(_))));
}

#[test]
fn a_worker_gets_its_fragment_and_only_the_records_that_it_needs() {
    let plan = sample();
    let reader = PlanReader::from_bytes(bytes_of(&plan)).expect("a reader");
    for i in 0..3 {
        let package = FragmentPackage::decode(&reader.fragment_bytes(i).expect("bytes")).expect("a package");
        assert_eq!(Some(&package), plan.package(i).as_ref());
        assert_eq!(package.fragment, plan.graph.fragments[i]);
        assert!(package.manifest.variables.is_empty() && package.manifest.prior_state.is_none());
        assert!(package.manifest.ephemeral_variables.contains_key("token"));
        assert!(package.schemas.contains_key(&source()), "records are written by the schema of their provider too");
    }
    let lines = |i: usize| plan.package(i).expect("a package").sources.files;
    assert_eq!(plan.graph.fragments[0].shard, Shard::Unplaced);
    assert_eq!(lines(0)["main.tf"].keys().copied().collect::<Vec<_>>(), [1, 2, 4, 5]);
    assert!(lines(1).is_empty());
    assert_eq!(lines(2)["main.tf"][&3], "three");
    // A package is not a plan, and a plan is not a package.
    let package = reader.fragment_bytes(0).expect("bytes");
    assert!(matches!(PlanReader::from_bytes(package.clone()), Err(PlanFileError::NotAPlan)));
    assert!(matches!(FragmentPackage::decode(&bytes_of(&plan)), Err(PlanFileError::NotAPlan)));
    for at in 0..package.len() {
        let mut flipped = package.clone();
        flipped[at] ^= 0x40;
        assert!(FragmentPackage::decode(&flipped).is_err(), "byte {at}");
        assert!(FragmentPackage::decode(&package[..at]).is_err(), "{at} bytes");
    }
}

#[test]
fn a_changed_byte_is_refused() {
    let bytes = bytes_of(&sample());
    for at in 0..bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut flipped = bytes.clone();
            flipped[at] ^= flip;
            assert!(read(&flipped).is_err(), "byte {at}");
        }
    }
}

#[test]
fn a_file_of_another_length_is_refused() {
    let bytes = bytes_of(&sample());
    for length in 0..bytes.len() {
        assert!(read(&bytes[..length]).is_err(), "{length} bytes");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(matches!(read(&longer), Err(PlanFileError::Length { .. })));
}

#[test]
fn a_changed_byte_with_corrected_checksums_is_refused_or_harmless() {
    let plan = sample();
    let parts = take_apart(&bytes_of(&plan));
    assert!(read(&put_together(&parts)).expect("a plan") == plan);
    let (mut refused, mut harmless) = (0, 0);
    for i in 0..parts.len() {
        for at in 0..parts[i].stored.len() {
            for flip in [0x01, 0x02, 0x04, 0x10, 0x80, 0xff] {
                let mut changed = parts.clone();
                changed[i].stored[at] ^= flip;
                match read_in_every_way(&put_together(&changed)) {
                    Ok(_) => harmless += 1,
                    Err(_) => refused += 1,
                }
            }
        }
    }
    assert!(refused > harmless / 4, "{refused} refused, {harmless} not");
}

#[test]
fn a_changed_header_with_corrected_checksums_is_refused_or_harmless() {
    let plan = sample();
    let bytes = bytes_of(&plan);
    let sections = raw_parts(&bytes);
    assert!(sections.iter().any(|part| part.flags & ZSTD != 0));
    for at in 0..HEADER + sections.len() * ENTRY {
        for flip in [0x01, 0x02, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            seal(&mut changed);
            if let Ok(read) = read_in_every_way(&changed) {
                // Only an optional section may be lost in this way.
                assert!(read.graph == plan.graph && read.changes == plan.changes && read.schemas == plan.schemas);
            }
        }
    }
    for i in (0..sections.len()).filter(|i| sections[*i].flags & ZSTD != 0) {
        for at in 0..sections[i].stored.len() {
            let mut changed = sections.clone();
            changed[i].stored[at] ^= 0x11;
            let _ = read_in_every_way(&put_together(&changed));
        }
    }
}

#[test]
fn an_unsupported_version_is_named() {
    let mut bytes = bytes_of(&sample());
    bytes[8] = 3;
    let error = read(&bytes).expect_err("refused");
    assert!(matches!(error, PlanFileError::Version { found: 3, supported: FORMAT_VERSION }));
    let text = error.to_string();
    assert!(text.contains("version 3") && text.contains("version 2") && text.contains("weft plan"), "{text}");
    // The version is reported even if nothing else in the file has the format of this version.
    assert!(matches!(read(&bytes[..12]), Err(PlanFileError::Version { found: 3, .. })));
}

#[test]
fn files_of_other_formats_are_recognized() {
    assert!(matches!(read(b""), Err(PlanFileError::NotAPlan)));
    assert!(matches!(read(b"{\"version\":4}"), Err(PlanFileError::NotAPlan)));
    assert!(matches!(read(b"PK\x03\x04 and so on"), Err(PlanFileError::PlanOfAnotherProgram)));
}

#[test]
fn unknown_sections_are_skipped_unless_required() {
    let plan = sample();
    let mut parts = take_apart(&bytes_of(&plan));
    let unknown = |flags| Part { kind: 500, flags, index: 0, claims: None, stored: b"what is this".to_vec() };
    parts.push(unknown(0x100));
    assert_eq!(read(&put_together(&parts)).expect("a plan"), plan);
    *parts.last_mut().expect("a part") = unknown(REQUIRED);
    let error = read(&put_together(&parts)).expect_err("refused");
    assert!(matches!(error, PlanFileError::UnknownSection { kind: 500, .. }));
    assert!(error.to_string().contains("500"));
    // A known section with an unknown flag, such as for encryption.
    let mut parts = take_apart(&bytes_of(&plan));
    parts[1].flags |= 4;
    assert!(matches!(read(&put_together(&parts)), Err(PlanFileError::UnknownSection { kind: 2, .. })));
}

#[test]
fn generated_blocks_are_stored_with_the_plan() {
    let mut plan = sample();
    plan.manifest.generated = BTreeMap::from([("lab_thing.a".into(), "resource \"lab_thing\" \"a\" {\n}".into())]);
    assert!(read(&bytes_of(&plan)).expect("a plan") == plan);
}

#[test]
fn sections_cannot_be_left_out_doubled_or_claim_too_much() {
    let plan = sample();
    let parts = take_apart(&bytes_of(&plan));
    let optional = [SectionKind::PriorState, SectionKind::Configuration, SectionKind::Sources].map(|k| k as u16);
    for i in 0..parts.len() {
        let mut fewer = parts.clone();
        let gone = fewer.remove(i);
        assert_eq!(read(&put_together(&fewer)).is_ok(), optional.contains(&gone.kind), "kind {}", gone.kind);
        let mut doubled = parts.clone();
        doubled.insert(i, parts[i].clone());
        assert!(read(&put_together(&doubled)).is_err());
    }
    let mut claims = parts.clone();
    claims[0].claims = Some(1 << 20);
    assert!(read(&put_together(&claims)).is_err());
    for claim in [0, 1, 100, 1 << 20, 5 << 30, u64::MAX] {
        let mut packed = parts.clone();
        let content = vec![0; 1 << 16];
        packed[0].stored = zstd::bulk::compress(&content, 3).expect("a frame");
        packed[0].flags |= ZSTD;
        packed[0].claims = Some(claim);
        assert!(read(&put_together(&packed)).is_err());
    }
}

#[test]
fn sections_of_two_plans_are_refused_together() {
    let plan = sample();
    let mut other = plan.clone();
    other.changes = Changes::default();
    other.manifest.created.push('x');
    let (mine, theirs) = (take_apart(&bytes_of(&plan)), take_apart(&bytes_of(&other)));
    assert_ne!(
        mine.iter().map(|part| &part.stored).collect::<Vec<_>>(),
        theirs.iter().map(|part| &part.stored).collect::<Vec<_>>()
    );
    for kind in [SectionKind::Manifest, SectionKind::Changes, SectionKind::Seal] {
        let of_kind = |parts: &[Part]| parts.iter().find(|part| part.kind == kind as u16).expect("a part").clone();
        let spliced: Vec<Part> =
            mine.iter().map(|part| if part.kind == kind as u16 { of_kind(&theirs) } else { part.clone() }).collect();
        let error = read(&put_together_as_sealed(&spliced)).expect_err("refused");
        assert!(matches!(error, PlanFileError::Damaged(_)), "{error}");
        assert!(error.to_string().contains("do not belong to the same plan"), "{error}");
    }
}

#[test]
fn a_plan_of_the_first_format_is_refused_by_its_version() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/plan-v1.weft");
    assert!(matches!(PlanReader::open(path), Err(PlanFileError::Version { found: 1, .. })));
}

#[test]
fn a_highly_compressible_section_is_stored_uncompressed() {
    let mut plan = sample();
    plan.manifest.configuration = Some("a".repeat(4 << 20));
    assert_eq!(read(&bytes_of(&plan)).expect("a plan"), plan);
}

#[test]
fn ephemeral_and_too_deep_values_are_not_written() {
    let refused = |after: Value| {
        let mut plan = sample();
        plan.changes.resources[0].after = after;
        let mut bytes = Vec::new();
        let error = write(&plan, &mut bytes).expect_err("refused");
        assert!(matches!(error, WriteError::Unwritable(SectionKind::Changes)), "{error}");
        assert!(bytes.is_empty());
    };
    refused(object(Value::string("t0ken").mark(&Marks::EPHEMERAL), "n"));
    refused((0..300).fold(Value::bool(true), |value, _| Value::tuple(vec![value])));
    // The depth of types is only limited when they are read back.
    let mut plan = sample();
    let ty = (0..1000).fold(Type::String, |ty, _| Type::list(ty));
    plan.schemas.get_mut(&source()).expect("a schema").provider.block.attributes.insert("a".into(), Attribute::new(ty));
    let error = write(&plan, Vec::new()).expect_err("refused");
    assert!(matches!(error, WriteError::Unreadable { kind: SectionKind::Schema, .. }), "{error}");
}

#[test]
fn an_unsound_graph_is_refused_with_its_flaws() {
    let mut plan = sample();
    plan.graph.outline[0].needs.operations.clear();
    let row = plan.graph.outline.iter_mut().find(|r| !r.needs.operations.is_empty()).expect("a row with needs");
    row.needs.operations.clear();
    let error = read(&bytes_of(&plan)).expect_err("refused");
    assert!(matches!(error, PlanFileError::Unsound(_)));
    assert!(error.to_string().contains("outline of operation"), "{error}");
}

#[test]
fn a_plan_keeps_its_placement() {
    let mut plan = sample();
    let shard = ShardPlacement { labels: [("region".into(), "eu".into())].into(), concurrency: Some(3) };
    let bound = InstanceBound { rule: 2, most: 4 };
    let shards = vec![ShardPlacement::default(), shard.clone()];
    plan.manifest.placement = Placement { shards, bounds: vec![None, Some(bound)] };
    let found = read(&bytes_of(&plan)).expect("a plan");
    assert_eq!(found, plan);
    assert_eq!(found.manifest.placement.shard(1), Some(&shard));
    assert!(found.manifest.placement.shard(0).is_none() && found.manifest.placement.shard(9).is_none());
    let bounds: Vec<_> = [0, 1, 9].into_iter().map(|index| found.manifest.placement.bound(index)).collect();
    assert_eq!(bounds, [None, Some(bound), None]);
}

#[test]
fn a_plan_keeps_its_limits_on_calls() {
    let mut plan = sample();
    let budget = CallBudget { name: "a/b region=eu".into(), interval_us: 50_000, burst: 10, tokens_per_call: 1 };
    let retry = CallRetry { attempts: 3, seconds: 60, patterns: vec!["SlowDown".into()] };
    plan.manifest.limits = CallLimits {
        budgets: vec![budget],
        retries: vec![retry.clone()],
        shards: vec![ShardLimits::default(), ShardLimits { budgets: vec![0, 7], retry: Some(0) }],
    };
    let found = read(&bytes_of(&plan)).expect("a plan");
    assert_eq!(found, plan);
    let limits = &found.manifest.limits;
    assert_eq!(limits.budgets_of(1).collect::<Vec<_>>(), [0], "an index without a budget is left out");
    assert_eq!((limits.retry_of(1), limits.retry_of(0), limits.retry_of(9)), (Some(&retry), None, None));
    assert_eq!(limits.budgets_of(9).count(), 0);
}

/// Set `WEFT_UPDATE_GOLDEN=1` to rewrite the file. Only allowed while no plan of this format has been released.
#[test]
fn the_first_plan_ever_written_can_be_read() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/plan-v2.weft");
    if std::env::var_os("WEFT_UPDATE_GOLDEN").is_some() {
        std::fs::write(path, bytes_of(&sample())).expect("a file");
    }
    let plan = PlanReader::open(path).and_then(|reader| reader.whole()).expect("a plan");
    assert_eq!(disassemble(&plan.graph), disassemble(&sample().graph));
    assert_eq!(plan, sample());
}

fn types() -> impl Strategy<Value = Type> {
    let leaf = prop_oneof![Just(Type::Dynamic), Just(Type::Bool), Just(Type::Number), Just(Type::String)];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(Type::list),
            inner.clone().prop_map(Type::set),
            inner.clone().prop_map(Type::map),
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Type::tuple),
            proptest::collection::btree_map("[a-c]", inner, 0..3).prop_map(Type::object),
        ]
    })
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::bool),
        any::<i64>().prop_map(Value::int),
        any::<String>().prop_map(Value::string),
        types().prop_map(Value::null),
        types().prop_map(Value::unknown),
        (types(), 0u64..4, proptest::option::of(0u64..4)).prop_map(|(ty, length_min, length_max)| {
            Value::refined(ty, Refinement { not_null: true, length_min, length_max, ..Refinement::default() })
        }),
        "-?[0-9]{1,40}(\\.[0-9]{1,20})?".prop_map(|n| Value::number(Number::parse(&n).expect("a number"))),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let parts = proptest::collection::vec(inner.clone(), 0..4);
        let fields = proptest::collection::btree_map("[a-d]", inner.clone(), 0..4);
        prop_oneof![
            parts.clone().prop_map(Value::tuple),
            parts.clone().prop_map(|parts| Value::list(Type::Dynamic, parts)),
            parts.prop_map(|parts| Value::set(Type::Dynamic, parts)),
            fields.clone().prop_map(Value::object),
            fields.prop_map(|f| Value::map(Type::Dynamic, f.into_iter().map(|(k, v)| (k.into(), v)).collect())),
            inner.prop_map(|value| value.mark(&Marks::SENSITIVE)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn any_plan_round_trips(steps in steps(), before in values(), after in values()) {
        let mut plan = sample();
        plan.graph = graph_of(&steps, &[]);
        plan.changes.resources[0].before = before;
        plan.changes.resources[0].after = after;
        prop_assert!(read(&bytes_of(&plan)).expect("a plan") == plan);
    }

    #[test]
    fn no_bytes_cause_a_panic(at in 0usize..4096, junk in proptest::collection::vec(any::<u8>(), 1..64)) {
        let mut parts = take_apart(&bytes_of(&sample()));
        let count = parts.len();
        let part = &mut parts[at % count].stored;
        let at = at % (part.len() + 1);
        let end = (at + junk.len() / 2).min(part.len());
        part.splice(at..end, junk);
        let _ = read_in_every_way(&put_together(&parts));
    }
}

#[test]
fn subjects_of_claims_are_stored_as_their_text() {
    let key: ResourceInstance = "module.m[\"a.b\"].cloud_network.a[\"\\\"]\"]".parse().unwrap();
    for subject in [ClaimedSubject::Instance(key), ClaimedSubject::Output("o".into())] {
        let text = subject.to_string();
        let stored = serde_json::to_string(&subject).unwrap();
        assert_eq!(stored, serde_json::to_string(&text).unwrap());
        assert_eq!(serde_json::from_str::<ClaimedSubject>(&stored).unwrap(), subject);
    }
    assert!(serde_json::from_str::<ClaimedSubject>("\"no address\"").is_err());
}
