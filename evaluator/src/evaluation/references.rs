//! Checks references without evaluating them, when schemas are available: whether the target of a reference exists, and
//! whether the form of the reference is right.
//!
//! The check runs once for each configured module, before evaluation. If a block has invalid references, its evaluation
//! fails without another diagnostic.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use smol_str::SmolStr;
use weft_graph_format::address::{ConfigResource, Resource};
use weft_graph_format::diagnostic::Diagnostic;
use weft_graph_format::path::ValueStep;
use weft_graph_format::schema::Schema;
use weft_graph_format::source::SourceRange;
use weft_syntax::Expression;

use super::Evaluation;
use super::allowed_names::AllowedNames;
use super::condition_groups::{Group, apart, beside_arguments, messages_of, places_with_self, together};
use super::connections::unused_parts;
use super::nameless::unknown_names;
use super::problems::references as problems;
use super::provisioner_schemas::provisioner_schema;
use super::schema_traversal::{Placed, dynamic_contents, unknown_parts, wrong_path, wrong_step};
use super::undeclared::undeclared;
use super::unsound::Unsound;
use crate::config::{CompiledModule, Condition, ModuleCall, ProviderBlock, Repetition, ResourceBlock, trigger_parts};
use crate::reference::{Reference, Referent};

/// Invalid references in the whole tree of modules.
pub(super) async fn check_references(evaluation: &Evaluation, root: &Arc<CompiledModule>) -> Vec<Unsound> {
    let mut unsound = Vec::new();
    for module in root.all() {
        let schemas = Schemas::of(evaluation, &module).await;
        Checking::new(&module, schemas, &mut unsound).module(evaluation);
    }
    unsound
}

/// The problems of references outside of any block, checked as references of the module.
pub(super) async fn check_loose(
    evaluation: &Evaluation,
    module: &Arc<CompiledModule>,
    references: &[Reference],
) -> Vec<Diagnostic> {
    let schemas = Schemas::of_references(evaluation, module, references.iter()).await;
    let mut unsound = Vec::new();
    let mut checking = Checking::new(module, schemas, &mut unsound);
    checking.all(references, AllowedNames::NONE);
    checking.take(&[])
}

/// The problems of a condition outside of any block, checked as a condition of the module.
pub(super) async fn check_condition(
    evaluation: &Evaluation,
    module: &Arc<CompiledModule>,
    references: &[Reference],
    condition: &Condition,
) -> Vec<Diagnostic> {
    let schemas = Schemas::of_references(evaluation, module, references.iter()).await;
    let mut unsound = Vec::new();
    // Names with values from outside the configuration are not part of the module, so the check ignores them.
    let mut alone = module.clone();
    if !module.outside.is_empty() {
        Arc::make_mut(&mut alone).outside.clear();
    }
    let mut checking = Checking::new(&alone, schemas, &mut unsound);
    checking.all(references, AllowedNames::NONE);
    checking.conditions(&together([condition]));
    checking.take(&[])
}

/// The schemas of the resources of a module whose attributes are referred to.
pub(super) struct Schemas {
    by_resource: BTreeMap<Resource, Arc<Schema>>,
}

impl Schemas {
    async fn of(evaluation: &Evaluation, module: &CompiledModule) -> Schemas {
        Schemas::read(evaluation, module, all_references(module), module.resources.keys()).await
    }

    pub(super) async fn of_references<'a>(
        evaluation: &Evaluation,
        module: &CompiledModule,
        references: impl Iterator<Item = &'a Reference>,
    ) -> Schemas {
        Schemas::read(evaluation, module, references, std::iter::empty()).await
    }

    async fn read<'a>(
        evaluation: &Evaluation,
        module: &CompiledModule,
        references: impl Iterator<Item = &'a Reference>,
        more: impl Iterator<Item = &'a Resource>,
    ) -> Schemas {
        let mut wanted: BTreeSet<&Resource> = more.collect();
        for reference in references {
            if let Referent::Resource(resource) = &reference.subject
                && (reference.attribute.is_some() || !reference.rest.is_empty())
            {
                wanted.insert(resource);
            }
        }
        let mut by_resource = BTreeMap::new();
        for resource in wanted {
            let Some(block) = module.resources.get(resource) else { continue };
            let source = module.provider_source(&block.provider_local_name());
            // If a provider is unavailable, the evaluation of its resources reports the problem.
            let Ok(schema) = evaluation.glue.provider_schema(&source).await else { continue };
            if let Some(schema) = schema.types(resource.mode).get(&resource.type_name) {
                by_resource.insert(resource.clone(), schema.clone());
            }
        }
        Schemas { by_resource }
    }
}

/// All references of a module, except those of validations.
pub(super) fn all_references(module: &CompiledModule) -> impl Iterator<Item = &Reference> {
    let locals = module.locals.values().flat_map(|l| &l.references);
    let outputs = module.outputs.values().flat_map(|o| &o.references);
    let providers = module.providers.values().flat_map(|p| &p.references);
    let resources = module.resources.values().flat_map(|r| r.references.iter().chain(&r.trigger_references));
    let provisioners = module.resources.values().flat_map(|block| provisioner_references(block));
    let calls = module.calls.values().flat_map(|c| &c.references);
    let checks = module.checks.values().flat_map(|c| &c.references);
    let imports = module.statements.imports.iter().flat_map(|i| &i.references);
    locals
        .chain(outputs)
        .chain(providers)
        .chain(resources)
        .chain(provisioners)
        .chain(calls)
        .chain(checks)
        .chain(imports)
}

pub(super) fn provisioner_references(block: &ResourceBlock) -> impl Iterator<Item = &Reference> {
    let own = block.connection.iter().flat_map(|connection| &connection.references);
    own.chain(block.provisioners.iter().flat_map(|provisioner| &provisioner.references))
}

pub(super) struct Checking<'a> {
    module: &'a CompiledModule,
    schemas: Schemas,
    /// The problems of the current block.
    pub(super) found: Vec<Diagnostic>,
    /// Whether each problem only counts if all referenced objects are declared, by the source range of the problem.
    late: BTreeMap<SourceRange, bool>,
    /// The current check block, which may refer to its data source. The data source may not refer to itself.
    check: Option<SmolStr>,
    unsound: &'a mut Vec<Unsound>,
}

impl<'a> Checking<'a> {
    pub(super) fn new(module: &'a CompiledModule, schemas: Schemas, unsound: &'a mut Vec<Unsound>) -> Checking<'a> {
        Checking { module, schemas, found: Vec::new(), late: BTreeMap::new(), check: None, unsound }
    }

    fn module(mut self, evaluation: &Evaluation) {
        let module = self.module;
        let mut unread: Vec<SourceRange> =
            module.resources.values().flat_map(|resource| self.unread(resource)).collect();
        unread.extend(module.calls.values().filter_map(|call| call.repetition.unread()));
        let read = |problem: &&Diagnostic| {
            let subject = problem.subject.as_ref();
            !subject.is_some_and(|at| unread.iter().any(|range| range.holds(at)))
        };
        self.found.extend(module.invalid_references.iter().filter(read).cloned());
        self.block(std::iter::empty());
        for variable in module.variables.values() {
            self.all(&variable.references, AllowedNames::NONE);
            // A condition of a variable refers to the variable itself. Such a reference is checked with the given
            // value.
            let others = |reference: &&Reference| reference.subject != Referent::Variable(variable.name.clone());
            self.block_with(&variable.validations, variable.references.iter().filter(others));
        }
        for local in module.locals.values() {
            self.all(&local.references, AllowedNames::NONE);
            self.block(&local.references);
        }
        for output in module.outputs.values() {
            self.all(&output.references, AllowedNames::NONE);
            if self.conditions(&together(&output.preconditions)) {
                // If a precondition is invalid, the value is not evaluated, so its problems are not reported.
                let of_value = output.value.range();
                self.found.retain(|problem| !problem.subject.as_ref().is_some_and(|at| of_value.holds(at)));
            }
            self.depends_on(&output.depends_on);
            self.block_with(&output.preconditions, output.references.iter().chain(&output.depends_on));
        }
        // As in OpenTofu, problems of a provider block that nothing uses are not reported.
        let is_used = |provider: &&Arc<ProviderBlock>| {
            let place = (module.path.clone(), provider.local_name.clone(), provider.alias.clone());
            !evaluation.unused.providers.contains(&place)
        };
        for provider in module.providers.values().filter(is_used) {
            self.all(&provider.references, AllowedNames { each: provider.for_each.is_some(), ..AllowedNames::NONE });
            self.block(&provider.references);
        }
        for resource in module.resources.values() {
            self.resource(resource, &evaluation.invalid.arguments);
        }
        for check in module.checks.values() {
            self.check = Some(check.name.clone());
            self.all(&check.references, AllowedNames::NONE);
            // Validation does not evaluate the conditions of assertions.
            self.conditions(&messages_of(&check.asserts));
            self.block_with(&check.asserts, &check.references);
        }
        self.check = None;
        for import in &module.statements.imports {
            // Planning checks the references in the keys of the address when it evaluates these keys.
            let is_read = |reference: &&Reference| !import.to.range.holds(&reference.range);
            let read: Vec<Reference> = import.references.iter().filter(is_read).cloned().collect();
            self.all(&read, AllowedNames { each: true, ..AllowedNames::NONE });
            self.block(&read);
        }
        for call in module.calls.values() {
            self.call(call);
        }
    }

    /// Records the problems found so far as the problems of a block with these references.
    fn block<'r>(&mut self, references: impl IntoIterator<Item = &'r Reference>) {
        self.block_with(&[], references);
    }

    /// Like [`Checking::block`], for a block with conditions.
    fn block_with<'r>(&mut self, conditions: &[Condition], references: impl IntoIterator<Item = &'r Reference>) {
        let problems = self.take(&together(conditions));
        if !problems.is_empty() {
            let references = references.into_iter().cloned().collect();
            let module = self.module.path.clone();
            self.unsound.push(Unsound { module, references, provider: None, after: None, problems });
        }
    }

    /// Checks the references of a resource. If those in its arguments are invalid, adds the resource to `invalid`.
    fn resource(&mut self, resource: &ResourceBlock, invalid: &Mutex<BTreeSet<ConfigResource>>) {
        let unread = self.unread(resource);
        let has_self = places_with_self(resource);
        let read = |reference: &&Reference| !unread.iter().any(|range| range.holds(&reference.range));
        for reference in resource.references.iter().chain(provisioner_references(resource)).filter(read) {
            let allowed = AllowedNames::of_resource(resource, reference, &has_self);
            self.one(reference, allowed);
            if allowed.self_object {
                let own = self.no_own_attribute(resource, reference);
                self.note(reference, own);
            }
        }
        let aside = beside_arguments(resource);
        let of_arguments = |problem: &Diagnostic| {
            problem.subject.as_ref().is_some_and(|at| !aside.iter().any(|range| range.holds(at)))
        };
        let config = ConfigResource { module: self.module.path.clone(), resource: resource.resource.clone() };
        if self.found.iter().any(of_arguments) {
            // Evaluation does not find every such problem: a reference of a block to itself has a value there.
            invalid.lock().insert(config.clone());
        }
        let conditions = resource.lifecycle.preconditions.iter().chain(&resource.lifecycle.postconditions);
        self.conditions(&apart(conditions));
        self.depends_on(&resource.depends_on);
        let found = std::mem::take(&mut self.found);
        self.triggers(resource);
        self.ignored(resource);
        let late = std::mem::replace(&mut self.found, found);
        self.wrong_resource(resource, Some(config), late);
        let conditions = resource.lifecycle.preconditions.iter().chain(&resource.lifecycle.postconditions);
        let problems = self.take(&apart(conditions));
        self.wrong_resource(resource, None, problems);
    }

    /// Records problems of a resource. If `after` is set, they are only reported if its arguments are valid.
    fn wrong_resource(&mut self, resource: &ResourceBlock, after: Option<ConfigResource>, problems: Vec<Diagnostic>) {
        if problems.is_empty() {
            return;
        }
        let own = resource.references.iter().chain(provisioner_references(resource));
        let all = own.chain(&resource.depends_on).chain(&resource.trigger_references);
        let others = all.filter(|reference| reference.subject != Referent::Resource(resource.resource.clone()));
        let alias = resource.provider.as_ref().and_then(|provider| provider.alias.clone());
        self.unsound.push(Unsound {
            module: self.module.path.clone(),
            references: others.cloned().collect(),
            provider: Some((resource.provider_local_name(), alias)),
            after,
            problems,
        });
    }

    /// Adds the further problems of conditions with invalid references. Returns whether it added any problems.
    fn conditions(&mut self, groups: &[Group<'_>]) -> bool {
        let mut any = false;
        for group in groups {
            let wrong = |(at, late): (&SourceRange, &bool)| !late && group.holds(at);
            if self.late.iter().any(wrong) {
                any = true;
                self.found.extend(group.evaluated.iter().flat_map(|expression| unknown_names(expression)));
            }
        }
        any
    }

    /// The parts of a resource whose references are not checked here. Some are never checked: unsupported arguments and
    /// blocks of the resource and its provisioners, and parts of connections that no provisioner uses. Others are
    /// checked later: the content of `dynamic` blocks when a block is generated, and `prevent_destroy` and `enabled`
    /// when a plan needs their values.
    fn unread(&self, resource: &ResourceBlock) -> Vec<SourceRange> {
        let mut found = dynamic_contents(&resource.body);
        if let Some(schema) = self.schemas.by_resource.get(&resource.resource) {
            found.extend(unknown_parts(&resource.body, &schema.block));
        }
        found.extend(unused_parts(resource));
        // Planning checks `prevent_destroy` when it evaluates the argument.
        found.extend(resource.lifecycle.prevent_destroy.as_ref().map(Expression::range));
        found.extend(resource.repetition.unread());
        for provisioner in &resource.provisioners {
            if let Some(schema) = provisioner_schema(&provisioner.kind) {
                found.extend(unknown_parts(&provisioner.body, &schema));
            }
        }
        found
    }

    /// Checks the references of a module call. Each argument is evaluated separately, but no argument is evaluated if
    /// `depends_on` is invalid.
    fn call(&mut self, call: &ModuleCall) {
        self.depends_on(&call.depends_on);
        if !self.found.is_empty() {
            return self.block(call.references.iter().chain(&call.depends_on));
        }
        let ranges: Vec<SourceRange> = call.arguments.values().map(|(value, _)| value.range()).collect();
        let allowed = AllowedNames { self_object: false, ..AllowedNames::ALL };
        for range in &ranges {
            let inside: Vec<Reference> =
                call.references.iter().filter(|reference| range.holds(&reference.range)).cloned().collect();
            self.all(&inside, allowed);
            self.block(inside.iter().chain(&call.depends_on));
        }
        let unread = call.repetition.unread();
        let outside = |reference: &&Reference| !ranges.iter().chain(&unread).any(|range| range.holds(&reference.range));
        let rest: Vec<Reference> = call.references.iter().filter(outside).cloned().collect();
        self.all(&rest, allowed);
        self.block(&rest);
    }

    fn all(&mut self, references: &[Reference], allowed: AllowedNames) {
        for reference in references {
            self.one(reference, allowed);
        }
    }

    pub(super) fn one(&mut self, reference: &Reference, allowed: AllowedNames) {
        let problem = undeclared(self.module, reference).or_else(|| self.scoped(reference));
        let problem = problem.or_else(|| allowed.problem_of(reference));
        if problem.is_some() {
            return self.note(reference, problem);
        }
        // A wrong key and a missing attribute are reported separately.
        for problem in [self.wrongly_keyed(reference), self.no_attribute(reference)] {
            self.note(reference, problem);
        }
    }

    /// The problem of a reference to the data source of a check block from outside of this block.
    fn scoped(&self, reference: &Reference) -> Option<Diagnostic> {
        let Referent::Resource(resource) = &reference.subject else { return None };
        let check = self.module.resources.get(resource)?.check.as_ref()?;
        (self.check.as_ref() != Some(check)).then(|| problems::scoped(resource, check, &reference.range))
    }

    fn note(&mut self, reference: &Reference, problem: Option<Diagnostic>) {
        let Some(problem) = problem else { return };
        let declared_elsewhere =
            matches!(reference.subject, Referent::Resource(_) | Referent::Module(..) | Referent::SelfObject);
        self.late.extend(problem.subject.clone().map(|at| (at, !declared_elsewhere)));
        self.found.push(problem);
    }

    /// Takes the problems found so far. If expressions that are evaluated together have wrong references to resources,
    /// modules or `self`, their problems with variables, locals and other names are dropped. Each group in `apart` is
    /// evaluated on its own. All other expressions are evaluated together.
    fn take(&mut self, apart: &[Group<'_>]) -> Vec<Diagnostic> {
        let late = std::mem::take(&mut self.late);
        let mut found = std::mem::take(&mut self.found);
        let group = |at: &SourceRange| apart.iter().position(|group| group.holds(at));
        let stopped: BTreeSet<Option<usize>> =
            late.iter().filter(|(_, late)| !**late).map(|(at, _)| group(at)).collect();
        found.retain(|problem| match &problem.subject {
            Some(at) if late.get(at) == Some(&true) => !stopped.contains(&group(at)),
            _ => true,
        });
        found
    }

    /// Checks that `depends_on` refers to whole objects that exist. As in OpenTofu, missing objects are not reported
    /// after the first problem of a list.
    fn depends_on(&mut self, references: &[Reference]) {
        let before = self.found.len();
        for reference in references {
            if reference.leads_on {
                let at = reference.attribute_range.clone().unwrap_or_else(|| reference.range.clone());
                self.found.push(problems::depends_on_part(at));
            } else if self.module.provider_named(reference).is_some() {
                self.found.push(problems::depends_on_provider(&reference.range));
            }
            if self.found.len() == before {
                self.found.extend(self.missing(reference));
            }
        }
    }

    /// The problem of a reference in `depends_on` to an object that does not exist or has no value here.
    fn missing(&self, reference: &Reference) -> Option<Diagnostic> {
        // A reference to an output of a module counts as a reference to the whole module.
        let whole = match &reference.subject {
            Referent::Module(name, _) => {
                &Reference { subject: Referent::Module(name.clone(), None), ..reference.clone() }
            }
            _ => reference,
        };
        let found = undeclared(self.module, whole).or_else(|| self.scoped(reference));
        let found = found.or_else(|| AllowedNames::NONE.problem_of(reference));
        found.or_else(|| self.wrongly_keyed(reference))
    }

    fn triggers(&mut self, block: &ResourceBlock) {
        for reference in &block.trigger_references {
            let problem = match &reference.subject {
                Referent::Resource(resource) if self.module.resources.contains_key(resource) => {
                    self.no_attribute(reference)
                }
                Referent::Resource(resource) => {
                    Some(problems::undeclared_trigger(&block.resource, resource, &reference.range))
                }
                // All other references were checked when the block was read.
                _ => None,
            };
            self.found.extend(problem.map(|p| match p.subject {
                Some(_) => p,
                None => p.at(reference.range.clone()),
            }));
        }
        self.found.extend(block.lifecycle.replace_triggered_by.iter().filter_map(|entry| trigger_parts(entry).err()));
    }

    /// Checks that attributes in `ignore_changes` exist. Entries without effect are reported when the block is
    /// evaluated.
    fn ignored(&mut self, block: &ResourceBlock) {
        let Some(schema) = self.schemas.by_resource.get(&block.resource).cloned() else { return };
        for (path, range) in &block.lifecycle.ignore_changes {
            self.found.extend(wrong_path(&schema.block, path, range));
        }
    }

    /// Reports a reference to an attribute of a resource with `count` or `for_each` if the reference has no key.
    /// Reports a reference to any other resource if the reference has a key.
    fn wrongly_keyed(&self, reference: &Reference) -> Option<Diagnostic> {
        let Referent::Resource(resource) = &reference.subject else { return None };
        let block = self.module.resources.get(resource)?;
        let at = &reference.range;
        match (&block.repetition, reference.key.is_some()) {
            (Repetition::Count(_), false) if reference.attribute.is_some() => {
                Some(problems::key_missing_of_count(resource, at))
            }
            (Repetition::ForEach(_), false) if reference.attribute.is_some() => {
                Some(problems::key_missing_of_for_each(resource, at))
            }
            (Repetition::Single | Repetition::Enabled(_), true) => Some(problems::key_unexpected(resource, at)),
            _ => None,
        }
    }

    /// Reports an attribute of `self` that the type does not have.
    pub(super) fn no_own_attribute(&self, of: &ResourceBlock, reference: &Reference) -> Option<Diagnostic> {
        if reference.subject != Referent::SelfObject {
            return None;
        }
        self.wrong_steps(&of.resource, reference)
    }

    fn no_attribute(&self, reference: &Reference) -> Option<Diagnostic> {
        let Referent::Resource(resource) = &reference.subject else { return None };
        self.wrong_steps(resource, reference)
    }

    fn wrong_steps(&self, of: &Resource, reference: &Reference) -> Option<Diagnostic> {
        let schema = self.schemas.by_resource.get(of)?;
        let at = reference.attribute_range.clone().unwrap_or_else(|| reference.range.clone());
        if reference.attribute.as_deref() == Some("count") && !schema.block.has_name("count") {
            return Some(problems::count_of_resource(of, at));
        }
        let first = reference.attribute.clone().map(|name| (ValueStep::Attribute(name), at));
        let steps: Vec<Placed> = first.into_iter().chain(reference.rest.iter().cloned()).collect();
        wrong_step(&schema.block, &steps)
    }
}
