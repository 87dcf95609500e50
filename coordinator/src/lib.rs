//! Runs: shard, schedule, journal, lease, take over, resume.
//!
//! Reading order: [`outline`] is what is known of a plan; [`status`] where an operation stands; [`worker`] what is said
//! between coordinator and workers; [`event`] and [`core`] the deciding machine of one run, pure. Around it: [`plan`]
//! and [`process`] what a run is begun with, [`transport`] and [`hub`] the connections of workers, [`driver`] one term
//! of one run on a store, [`service`] many runs at once with takeover, [`server`] and [`client`] the same over the
//! network, [`listing`] what `weft runs` shows. [`timing`] holds the constants.
//!
//! # What a worker owes
//!
//! Workers and coordinators exchange frames (`weft.cluster.v1`, [`transport`]): in one process over channels, else over
//! one stream. A worker that keeps these rules never makes two unproven calls for one operation and never loses a
//! result.
//!
//! 1. **Hello.** The first frame has a `WorkerHello` and nothing else. `name/incarnation` is the worker's identity; the
//!    incarnation ([`process::incarnation`]) stays the same as long as the process lives, also over reconnects. `held`
//!    lists every task, of every run, that was started and not acknowledged, dropped, refused or returned. After the
//!    hello and the coordinator's `Welcome` it sends again: each intent request without an answer, each result without
//!    an acknowledgement. A hello with `held` empty means that nothing of earlier is under way.
//! 2. **Shards.** `OpenShard` brings the fragment; a shard that is open already is kept, and `restored` is added to
//!    what it has. `ForeignResult`s and `restored` results come before the tasks that read them and may come twice.
//!    `close` says that no task of the shard comes any more; its provider may be closed. `leave`: forget the run, but
//!    for tasks that were called and not acknowledged. If a shard cannot be opened at all (package missing, fragment
//!    refused): `ShardRefused`; tasks of it that were started are then forgotten.
//! 3. **Tasks without a change of the world** are carried out at once and end in a `TaskResult`.
//! 4. **Tasks that change the world**: all that can be done before the call comes first (final plan, held against the
//!    reviewed one); a failure there is a `failed` result without intent. A no-op needs no intent either. Then an
//!    `IntentRequest`; the call is made only after `granted` for that very attempt, and only if less than
//!    `Welcome.intent_age_ms` has passed on the worker's own clock **since it first asked**; else the result is
//!    `not_called`. `refused`: forget the task, make no call. `granted` for a task that the worker does not hold, or
//!    has returned: answer `not_called`. `granted` for one that was called already: ignore.
//! 5. **Results.** `done` with all that the operation changes in state, object by object, `local` for the readers of
//!    the same shard, and one value for each `Export` of the operation in the order of `OpenShard.exports`. `failed`
//!    only for an error that the provider really returned, or (without intent) one of our own; a create that returned
//!    an error and no object sets `absence_unproven`; if Stop was asked or a deadline had passed before that return, it
//!    is `in_doubt` instead. A broken connection, a crash of the provider, a deadline, an undecodable reply after the
//!    call: `in_doubt`, with `provider_dead` once the provider's process is known to be gone. Nothing else may be
//!    concluded from silence.
//! 6. **Kept until acknowledged.** A result is kept and sent again after each reconnect until `acknowledged`.
//! 7. **`drop`**: forget the task unless it was called; if its intent was asked for, the result is `not_called`.
//!    **`drain`**: start no new call in this run, ask its providers to stop, give back with `returned` what has asked
//!    for no intent; tasks with an intent asked but not called end by `refused` or, if `granted`, with `not_called`.
//!    **Leaving**: a worker that is about to go says so once; it gets no new task of any run then, and hands back with
//!    `returned` what has asked for no intent. What it has called ends, and it goes when all of that is acknowledged.
//! 8. **Settle.** Read the object by its known id (update, delete) or look it up by its planned identity (create), and
//!    say `applied` with everything that `done` would have said, `not_applied`, or `unknown` with the reason. The
//!    attempt may still be running elsewhere: nothing is changed. For a delete, "the object is gone" is `applied`; for
//!    an update, "the object is as planned" is. `holder_dead` in `not_applied` repeats what the order said, unless the
//!    worker knows more. With `adopt`: read the object with that id and say `applied` with it, or `unknown`. A task
//!    with `read_first` reads or looks up before it plans, and goes on from what it finds.
//! 9. **Silence.** A heartbeat is sent every `heartbeat_ms` of an idle stream. After `pause_ms` without any frame from
//!    the coordinator: no new call; running ones end; the stream is closed and opened again.
//! 10. **Providers die with the worker.** Provider processes are killed when the worker's process dies: evidence that
//!     the worker is dead counts as evidence that no call of its is under way.

pub mod client;
pub mod core;
pub mod driver;
pub mod event;
pub mod hub;
pub mod listing;
pub mod outline;
pub mod plan;
pub mod process;
pub mod result;
pub mod server;
pub mod service;
pub mod status;
pub mod term;
pub mod timing;
pub mod transport;
pub mod worker;

mod patience;
mod wire;

pub use client::Client;
pub use core::{Coordinator, RunOptions};
pub use driver::{InProcess, Notice, RunOutcome, run_in_process};
pub use event::{Cancel, Decision, FinishReason, Progress, ProgressKind, UserResolution};
pub use outline::{Export, Need, OperationKind, Outline, OutlineOperation, OutlineShard, ShardKey, Waiter};
pub use plan::{PlanReader, RunPlan};
pub use service::Service;
pub use term::RunError;
pub use transport::{CoordinatorEnd, WorkerEnd, pair};
