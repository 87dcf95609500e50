//! `weft providers schema -json`: prints the schemas of a configuration's providers.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};
use weft_expressions::terraform_functions;
use weft_graph_format::address::ProviderSource;
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::schema::ProviderSchema;
use weft_planner::ProviderSet;
use weft_providers::ProviderPool;

use super::problems;
use crate::command::{self, Command, Invocation, OnMistake};
use crate::exit::Exit;
use crate::options::text;
use crate::packages::{InstalledPackages, pool_options};
use crate::plan::PARALLELISM;
use crate::project::Project;
use crate::render::schema_json;
use crate::runtime::block_on;
use crate::store::StoreLocation;

/// The version of the JSON document.
const FORMAT: &str = "1.0";

/// The command.
pub const SCHEMA: Command = Command {
    words: &["providers", "schema"],
    alias: None,
    operands: "",
    about: "Print the schemas of all required providers",
    main: false,
    flags: &[
        command::VIEW,
        command::JSON_DOCUMENT,
        command::VARIABLES,
        command::STORE,
        &[text("test-directory", "DIR", "")],
    ],
    mixed: false,
    on_mistake: OnMistake::Usage,
    check: command::unchecked,
    events: false,
    run: |invocation| schema(invocation).unwrap_or_else(|exit| exit),
};

fn schema(invocation: &Invocation<'_>) -> Result<Exit, Exit> {
    let Invocation { arguments, context, view, .. } = invocation;
    invocation.at_most(0, crate::commands::problems::too_many_arguments)?;
    if !arguments.switch("json", false) {
        return Err(invocation.mistake(&problems::schemas_without_json()));
    }
    let fail = |problems: Vec<Diagnostic>| invocation.fail(&problems);
    let project = Project::load(invocation).map_err(fail)?;
    let place = StoreLocation::find(context, arguments, Some(&project.root)).map_err(fail)?;
    let state = block_on(place.snapshot()).and_then(|read| read).map_err(|problem| fail(vec![problem]))?;
    let requirements = project.requirements(Some(&state)).map_err(fail)?;
    let (packages, said) = InstalledPackages::find(context, &requirements, false).map_err(fail)?;
    view.diagnostics(&said);
    let read = block_on(async {
        let pool = ProviderPool::new(pool_options(context));
        let providers = Arc::new(ProviderSet::new(packages.plugins(), pool, PARALLELISM));
        let mut schemas: BTreeMap<ProviderSource, Arc<ProviderSchema>> = BTreeMap::new();
        let mut problems = Vec::new();
        for source in requirements.keys() {
            match providers.schema(source).await {
                Ok(schema) => drop(schemas.insert(source.clone(), schema)),
                Err(problem) => problems.push(problem),
            }
        }
        providers.close().await;
        if problems.is_empty() { Ok(schemas) } else { Err(problems) }
    });
    let schemas = read.map_err(|problem| fail(vec![problem]))?.map_err(fail)?;
    let document = |(source, schema): (&ProviderSource, &Arc<ProviderSchema>)| {
        if !source.is_builtin() {
            return (source.to_string(), schema_json::provider(schema));
        }
        // In Weft, the provider functions of the built-in provider are part of the language.
        let whole = ProviderSchema { functions: terraform_functions::described(), ..(**schema).clone() };
        (source.to_string(), schema_json::provider(&whole))
    };
    let providers: Map<String, Json> = schemas.iter().map(document).collect();
    let mut document = json!({ "format_version": FORMAT });
    if !providers.is_empty() {
        document["provider_schemas"] = Json::Object(providers);
    }
    view.document(&(document.to_string() + "\n"));
    Ok(Exit::DONE)
}
