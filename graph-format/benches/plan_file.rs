//! Measures the time for writing and reading a plan of 10,000 operations, and the size of its file.
//!
//! The plan has 3,330 creates of three operations each, for four provider instances. Every second create reads a result
//! of another create, and waits for that create. Values are as small as possible, because the limits are for operations
//! without their values. Fails if a limit is exceeded.

use std::time::{Duration, Instant};

use weft_graph_format::address::{InstanceKey, ProviderInstance, ResourceInstance};
use weft_graph_format::changes::Changes;
use weft_graph_format::formula::{Formula, FormulaOp};
use weft_graph_format::graph::{
    Action, Builder, ExecutionGraph, OperationId, PlannedObject, Shard, StateRecord, verify,
};
use weft_graph_format::origin::Origin;
use weft_graph_format::path::Path;
use weft_graph_format::plan_file::{Manifest, PlanFile, PlanReader, SourceSnippets, write};
use weft_graph_format::types::Type;
use weft_graph_format::value::Value;

const OPERATIONS: u32 = 10_000;
const MOST_TIME: Duration = Duration::from_millis(50);
const MOST_BYTES_AN_OPERATION: f64 = 100.0;
const REGIONS: [&str; 4] = ["eu-west-1", "us-east-1", "ap-south-1", "sa-east-1"];
const ROUNDS: usize = 15;

fn instance(name: &str, index: i64) -> ResourceInstance {
    let base: ResourceInstance = match format!("module.region[\"{name}\"].cloud_network.net").parse() {
        Ok(address) => address,
        Err(error) => panic!("{error}"),
    };
    ResourceInstance { key: InstanceKey::Int(index), ..base }
}

fn provider(name: &str) -> ProviderInstance {
    match format!("provider[\"weft.test/sim/cloud\"].by_region[\"{name}\"]").parse() {
        Ok(instance) => instance,
        Err(error) => panic!("{error}"),
    }
}

fn graph() -> ExecutionGraph {
    let builder = Builder::new();
    let none = || Formula::constant(Value::empty_object());
    let opened = REGIONS.map(|name| {
        let shard = Shard::Provider(provider(name));
        let opened = builder.open_provider(provider(name), none(), None);
        builder.close_provider(opened, shard.clone());
        (opened, shard)
    });
    let mut last: Option<OperationId> = None;
    let mut index = 0;
    while builder.len() + 3 <= OPERATIONS as usize {
        let at = index as usize % REGIONS.len();
        let (opened, shard) = &opened[at];
        let address = instance(REGIONS[at], index);
        let read = last.filter(|_| index % 2 == 1);
        let config = match read {
            Some(other) => {
                let id = Formula::result(other, Path::ROOT.attribute("id"), Type::String);
                Formula::new(FormulaOp::Object(vec![("peer".into(), id)]), Type::object([("peer", Type::String)]), None)
            }
            None => none(),
        };
        let desired = builder.desired(address.clone(), config, shard.clone(), read.map(Origin::after));
        let planned = PlannedObject {
            action: Action::Create,
            value: Value::empty_object(),
            private: Vec::new(),
            legacy: false,
            provisioned: false,
            config_known: read.is_none(),
            record: StateRecord::default(),
            sensitive: Vec::new(),
            lookup: None,
        };
        let plan = builder.final_plan(address.clone(), *opened, None, Some(desired), planned, shard.clone());
        last = Some(builder.apply(address, None, plan, shard.clone()).id());
        index += 1;
    }
    while builder.len() < OPERATIONS as usize {
        let name = format!("o{}", builder.len()).into();
        builder.output(name, Some(none()), Type::Dynamic, false, Value::empty_object(), None);
    }
    match builder.finish() {
        Ok(graph) => graph,
        Err(error) => panic!("{error}"),
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn main() {
    let started = Instant::now();
    let graph = graph();
    println!("graph built and finished in {:?}", started.elapsed());
    assert_eq!(verify(&graph), []);
    assert_eq!(graph.operations, OPERATIONS);
    let plan = PlanFile {
        manifest: Manifest::default(),
        changes: Changes::default(),
        schemas: Default::default(),
        sources: SourceSnippets::default(),
        graph,
    };
    let (mut writing, mut reading, mut verifying) = (Vec::new(), Vec::new(), Vec::new());
    let mut size = 0;
    for _ in 0..ROUNDS {
        let started = Instant::now();
        let mut bytes = Vec::new();
        write(&plan, &mut bytes).unwrap_or_else(|error| panic!("{error}"));
        writing.push(started.elapsed());
        size = bytes.len();
        let started = Instant::now();
        let read = PlanReader::from_bytes(bytes).and_then(|reader| reader.whole());
        reading.push(started.elapsed());
        let read = read.unwrap_or_else(|error| panic!("{error}"));
        let started = Instant::now();
        assert_eq!(verify(&read.graph), []);
        verifying.push(started.elapsed());
        assert!(read == plan);
    }
    let (writing, reading, verifying) = (median(writing), median(reading), median(verifying));
    let each = size as f64 / f64::from(OPERATIONS);
    println!(
        "printed: {OPERATIONS} operations: written in {writing:?}, read in {reading:?} (of which verified in \
         {verifying:?}), {size} bytes, {each:.1} an operation"
    );
    let both = writing + reading;
    assert!(both < MOST_TIME, "writing and reading took {both:?}, and {MOST_TIME:?} is the most");
    assert!(each < MOST_BYTES_AN_OPERATION, "an operation takes {each:.1} bytes");
    println!("1 passed, 0 failed");
}
