//! Reading data sources.

use weft_graph_format::address::{ResourceInstance, ResourceMode};
use weft_graph_format::diagnostic::{Diagnostic, READ_FOR_CHECK, Severity};
use weft_graph_format::graph::Operation;
use weft_graph_format::value::Value;

use crate::arguments::of_arguments;
use crate::context::TaskContext;
use crate::outcome::Done;
use crate::problems::{self, damaged, not_here};
use crate::resource::marked;
use crate::shard::provider::ProviderSlot;
use crate::subject::{DiagnosticSubject, Problems, has_errors};
use weft_protocol::{ObjectChange, ObjectWrite, TaskWrites};

/// Reads a data source and stores the result. An error in a read for a check block is only a warning.
pub(crate) async fn read(context: &TaskContext) -> Result<Done, Problems> {
    let (id, shard) = (context.id(), &context.shard);
    let Some(Operation::ReadData { address, provider, config, record, sensitive, for_check, .. }) = shard.operation(id)
    else {
        return Err(vec![not_here(id)]);
    };
    let slot = shard.provider(*provider).ok_or_else(|| vec![damaged(id, "provider")])?;
    let text = address.to_string();
    let subject = DiagnosticSubject { address: &text, config: shard.formula(*config) };
    let Some(kind) = shard.resource_type(&slot.instance.source, address) else {
        return Err(vec![problems::no_schema(&subject, &address.resource.type_name)]);
    };
    let evaluated = shard.evaluate(&context.host, *config, &text).await;
    let config =
        evaluated.map_err(|problems| problems::not_begun(of_arguments(subject.config, Some(&kind.block), problems)))?;
    let (config, marks) = config.unmark_with_paths();
    let given = || marks.iter().filter(|(_, m)| m.is_sensitive()).map(|(path, _)| path).chain(sensitive);
    let places = |object: &Value| kind.sensitive_paths(object, given());
    let (found, said) = match ask(context, slot, address, &subject, &config).await {
        Ok(read) => read,
        Err(problems) if *for_check => {
            let said = problems
                .into_iter()
                .map(|problem| Diagnostic { severity: Severity::Warning, ..problem }.code(READ_FOR_CHECK))
                .collect();
            // Assertions ignore a data source that is null. The state keeps the object of the plan.
            let nothing = Value::null(kind.block.implied_type());
            return Ok(context.done(Some(&nothing), TaskWrites::default(), said));
        }
        Err(problems) => return Err(problems),
    };
    let value = marked(&found, &places(&found));
    let stored = kind
        .stored(&found, places(&found), Vec::new(), record, false, None)
        .map_err(|error| vec![problems::object_not_stored(&subject, &error)])?;
    let write = ObjectWrite {
        address: address.clone(),
        provider: slot.text.clone(),
        deposed: None,
        change: ObjectChange::Put(Box::new(stored)),
    };
    let writes = TaskWrites { objects: vec![write], outputs: Vec::new() };
    Ok(context.done(Some(&value), writes, said))
}

/// Calls the provider. The returned object is wholly known and has no marks.
async fn ask(
    context: &TaskContext,
    slot: &ProviderSlot,
    address: &ResourceInstance,
    subject: &DiagnosticSubject<'_>,
    config: &Value,
) -> Result<(Value, Problems), Problems> {
    let type_name = &address.resource.type_name;
    slot.forgive(context.task.attempt).await;
    let opened = slot.acquire(&context.shard, &context.host).await.map_err(problems::not_begun)?;
    let mut said = opened.warnings;
    let validated = opened.provider.validate_config(ResourceMode::Data, type_name, config).await;
    said.extend(subject.said(&validated.map_err(|error| vec![problems::call_failed(subject, &error)])?));
    if has_errors(&said) {
        return Err(said);
    }
    let meta = context.shard.provider_meta(address, &slot.instance.source);
    let reply = opened.provider.read_data_source(address, config, meta).await;
    let reply = reply.map_err(|error| vec![problems::call_failed(subject, &error)])?;
    said.extend(subject.said(&reply.diagnostics));
    if has_errors(&said) {
        return Err(said);
    }
    let found = reply.value.unmark_deep().0;
    let source = slot.instance.source.for_display();
    let invalid = |what: &str| vec![problems::invalid_object(subject, &source, address, what)];
    if found.is_null() {
        return Err(invalid("null"));
    }
    if !found.is_wholly_known() {
        return Err(invalid("unknown values"));
    }
    Ok((found, said))
}
