//! A plan with something in every section.

use super::*;

pub fn source() -> ProviderSource {
    region("eu").source.clone()
}

pub fn range(line: u32) -> SourceRange {
    let at = |column| Position { byte: line * 20, line, column };
    SourceRange { file: "main.tf".into(), start: at(3), end: at(9) }
}

pub fn sample_graph() -> ExecutionGraph {
    let builder = Builder::new();
    let (eu, us) = (Region::open(&builder, "eu"), Region::open(&builder, "us"));
    let all: Vec<_> = (0..5).map(|i| eu.create(&keyed("a", i), text("a"), None)).collect();
    let ids = Formula::new(FormulaOp::Tuple(all.iter().map(|a| id_of(a.id())).collect()), Type::Dynamic, None);
    let input = Formula::new(FormulaOp::Input("token".into()), Type::String, Some(range(2)));
    let name = Formula::new(
        FormulaOp::Template(vec![call("join", vec![text("-"), ids]), input]),
        Type::String,
        Some(range(3)),
    );
    let mut plan = planned(Action::Create, object(unknown_id(), "n").mark(&Marks::SENSITIVE));
    plan.private = vec![0, 1, 255];
    plan.lookup = Some("{name}".into());
    plan.record.dependencies = vec!["cloud_network.a".into()];
    plan.sensitive = vec![Path::ROOT.attribute("name")];
    let far = us.create_as(&address("module.m[\"k\"].cloud_network.far"), name, after(&all), plan);
    us.delete(&address("cloud_network.old"), Some("0badcafe"));
    builder.record(address("cloud_network.kept"), None, Some(prior(object(Value::string("i"), "kept"))), region("eu"));
    builder.forget(address("cloud_network.gone"), None);
    let failure = Diagnostic::error("No", "Because.").at(range(1)).within(range(2));
    let failure = Formula::new(FormulaOp::Failure(Box::new(failure)), Type::String, None);
    let uuid = FormulaOp::Call {
        function: "uuid".into(),
        arguments: Vec::new(),
        expand_final: false,
        occurrence: Some(Occurrence(9)),
    };
    let message =
        Formula::new(FormulaOp::Try(vec![failure, Formula::new(uuid, Type::String, None)]), Type::String, None);
    let condition = Formula::new(FormulaOp::Can(id_of(far.id())), Type::Bool, Some(range(4)));
    builder.check("output.o".into(), CheckKind::Precondition, condition, message, Some(range(5)), None);
    let origin = Origin::after(far.id());
    builder.output("o".into(), Some(id_of(far.id())), Type::String, true, unknown_id(), Some(origin));
    finish(builder)
}

pub fn sample() -> PlanFile {
    let graph = sample_graph();
    let text: Arc<str> = "one\ntwo\nthree\nfour\nfive\nsix\n".into();
    let sources = SourceSnippets::of_graph(&graph, |file| (file == "main.tf").then(|| text.clone()));
    let mut name = Attribute::new(Type::String);
    name.required = true;
    let nested = NestedBlock { block: Block::default(), nesting: Nesting::Set, min_items: 0, max_items: 3 };
    let block = Block {
        attributes: BTreeMap::from([("name".into(), name), ("id".into(), Attribute::new(Type::list(Type::Dynamic)))]),
        blocks: BTreeMap::from([("rule".into(), nested)]),
        ..Block::default()
    };
    let schema = ProviderSchema {
        resources: BTreeMap::from([("cloud_network".into(), Schema { version: 1, block }.into())]),
        ..ProviderSchema::default()
    };
    let marked = PlainValue::Marked(Marks::SENSITIVE, Box::new(PlainValue::String("hush".into())));
    let token = EphemeralVariable {
        ty: Type::String,
        defaults: TypeDefaults::default(),
        default: None,
        nullable: true,
        sensitive: false,
    };
    let change = ResourceChange {
        address: keyed("a", 0),
        previous_address: Some(Box::new(address("cloud_network.was"))),
        deposed: None,
        provider: region("eu"),
        action: ChangeAction::Only(Action::Create),
        reason: Reason::None,
        before: Value::null(Type::Dynamic),
        after: object(unknown_id(), "n"),
        replace_paths: vec![Path::ROOT.attribute("name")],
        importing: None,
        before_record: None,
        schema_version: 1,
    };
    let output = OutputChange {
        action: Action::Update,
        before: Value::tuple(vec![Value::int(1), Value::number(Number::parse("0.1").expect("a number"))]),
        after: unknown_id(),
        sensitive_before: false,
        sensitive_after: true,
    };
    PlanFile {
        manifest: Manifest {
            created: "2024-01-02T03:04:05Z".into(),
            weft_version: "0.1.0".into(),
            lineage: "0a1b".into(),
            serial: 7,
            ui_mode: UiMode::Normal,
            providers: vec![ProviderPackage {
                source: source(),
                version: "1.0.0".into(),
                checksum: "h1:x".into(),
                hashes: vec!["h1:x".into(), "zh:y".into()],
            }],
            variables: BTreeMap::from([("secret".into(), marked)]),
            ephemeral_variables: BTreeMap::from([("token".into(), token)]),
            targets: vec!["cloud_network.a".into()],
            backend: "local terraform.tfstate".into(),
            claims: vec![Claim { subject: "cloud_network.a[0]".parse().unwrap(), revision: 3, exclusive: true }],
            checks: vec![CheckResult {
                address: CheckedAddress::read("output.o"),
                kind: CheckedKind::Output,
                status: CheckStatus::Unknown,
                messages: vec!["no".into()],
                again: true,
            }],
            timestamp: "2024-01-02T03:04:05Z".into(),
            prior_state: Some("{\"version\":4}".into()),
            configuration: Some("{}".into()),
            ..Manifest::default()
        },
        changes: Changes {
            resources: vec![change.clone()],
            drift: vec![change],
            outputs: BTreeMap::from([("o".into(), output)]),
            relevant: vec![RelevantAttribute {
                resource: address("cloud_network.a"),
                path: Path(vec![ValueStep::Attribute("tags".into()), ValueStep::Key("k".into())]),
            }],
        },
        schemas: BTreeMap::from([(source(), schema)]),
        sources,
        graph,
    }
}
