use super::*;
use crate::outline::HOME;

#[tokio::test]
async fn draining_a_worker_that_is_away_again_does_not_let_it_back() {
    let hub = Hub::new();
    hub.state.lock().drained.insert("w".to_owned());
    assert!(!hub.drain("w", true).await);
    assert!(hub.drain("w", false).await, "the worker was still drained");
    assert!(!hub.drain("w", false).await);
}

const PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// Connects a worker that greets with a task of each of the two runs, and then reports about both. Returns the numbers
/// of tasks and reports that reach each run.
async fn told_by(name: &str, labels: &[(&str, &str)]) -> [(usize, usize); 2] {
    let hub = Hub::new();
    let runs = ["r1", "r2"].map(|run| RunId::parse(run).expect("a run id"));
    let mut heard = Vec::new();
    let mut listening = Vec::new();
    for run in &runs {
        let (sender, events) = mpsc::channel(16);
        listening.push(hub.listen_for(run, sender).await);
        heard.push(events);
    }
    let held = |run: &RunId| weft_protocol::HeldTask {
        run: run.clone(),
        task: weft_protocol::Task::new(0, 1),
        phase: weft_protocol::HeldPhase::Asked,
        maker: None,
    };
    let greeting = Greeting {
        name: name.to_owned(),
        incarnation: "m:1:1:1".to_owned(),
        labels: labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        protocol: PROTOCOL,
        held: runs.iter().map(held).collect(),
        ..Greeting::default()
    };
    let report = |run: &RunId| weft_protocol::RunReports {
        run: run.clone(),
        reports: vec![weft_protocol::Report::Returned(weft_protocol::Task::new(0, 1))],
    };
    let (outgoing, _frames) = mpsc::channel(16);
    let (frames, incoming) = mpsc::channel(16);
    frames.send(Ok(WorkerFrame { greeting: Some(greeting), ..WorkerFrame::default() })).await.expect("open");
    frames
        .send(Ok(WorkerFrame { reports: runs.iter().map(report).collect(), ..WorkerFrame::default() }))
        .await
        .expect("open");
    drop(frames);
    let peer = Peer::SameUser { user: 0 };
    timeout(PATIENCE, hub.serve(Link { outgoing, incoming, patient: false, peer, is_worker: true }))
        .await
        .expect("it ends");
    drop(listening);
    let mut found = [(0, 0); 2];
    for (events, (tasks, reports)) in heard.iter_mut().zip(&mut found) {
        while let Ok(batch) = events.try_recv() {
            for event in batch {
                match event {
                    Event::Joined(hello) => *tasks += hello.held.len(),
                    Event::Said(..) => *reports += 1,
                    _ => {}
                }
            }
        }
    }
    found
}

#[tokio::test]
async fn the_worker_of_a_command_line_tells_only_of_its_own_run() {
    assert_eq!(told_by("home-r1", &[(HOME, "r1")]).await, [(1, 1), (0, 0)]);
    assert_eq!(told_by("w", &[]).await, [(1, 1); 2]);
}

/// A later connection of the same worker, with another greeting, does not widen the scope of an earlier one.
#[tokio::test]
async fn a_connection_is_judged_by_its_own_greeting() {
    let hub = Hub::new();
    let run = RunId::parse("r2").expect("a run id");
    let (sender, mut events) = mpsc::channel(16);
    let _listening = hub.listen_for(&run, sender).await;
    let (outgoing, _frames) = mpsc::channel(16);
    let (_sender, incoming) = mpsc::channel(16);
    let link = Link { outgoing, incoming, patient: false, peer: Peer::SameUser { user: 0 }, is_worker: true };
    let mut callers = Vec::new();
    for labels in [BTreeMap::from([(HOME.to_owned(), "r1".to_owned())]), BTreeMap::new()] {
        let hello = Greeting { name: "home-r1".to_owned(), labels, protocol: PROTOCOL, ..Greeting::default() };
        let caller = Caller { id: worker_id(&hello.name, "m:1:1:1"), scope: Scope::of(&hello) };
        hub.enter(&caller, hello, &link).await;
        callers.push(caller);
    }
    let (mut heard, mut counts) = (Vec::new(), Vec::new());
    for caller in &callers {
        let reports = vec![weft_protocol::Report::Returned(weft_protocol::Task::new(0, 1))];
        let frame = WorkerFrame {
            reports: vec![weft_protocol::RunReports { run: run.clone(), reports }],
            leaving: true,
            ..WorkerFrame::default()
        };
        hub.spread(caller, frame).await;
        while let Ok(batch) = events.try_recv() {
            heard.extend(batch);
        }
        counts.push(heard.len());
    }
    assert_eq!(counts, [1, 3], "the first one is not heard: {heard:?}");
    assert!(matches!(&heard[..], [Event::Joined(_), Event::Leaving(_), Event::Said(..)]), "{heard:?}");
}

/// The user may suspend the process with Ctrl-Z. Its worker must not take this for a lost connection.
#[tokio::test(start_paused = true)]
async fn a_worker_in_the_same_process_may_be_silent_for_an_hour() {
    let hub = Hub::new();
    let (ours, mut theirs) = crate::transport::pair();
    let served = tokio::spawn({
        let hub = hub.clone();
        async move { hub.attach(ours).await }
    });
    tokio::time::sleep(Duration::from_secs(3600)).await;
    let greeting = Greeting { name: "w".to_owned(), protocol: PROTOCOL, ..Greeting::default() };
    let hello = WorkerFrame { greeting: Some(greeting), ..WorkerFrame::default() };
    theirs.outgoing.send(hello.encode()).await.unwrap();
    let first = CoordinatorFrame::decode(&theirs.incoming.recv().await.unwrap()).unwrap();
    let welcome = first.welcome.unwrap();
    assert_eq!(welcome.refused, None);
    assert!(Duration::from_millis(welcome.pause_ms.into()) > Duration::from_secs(3600));
    drop(theirs);
    served.await.unwrap();
}
