//! Processes a request: rate limit, failures, latency, effect, durability, latency, response.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::stream;
use hyper::{Method, StatusCode};
use parking_lot::Mutex;
use serde_json::{Map, Value as Json, json};

use super::config::{Config, Region};
use super::fault::{End, Faults, Op, Rule, Trouble, chance};
use super::limit::Bucket;
use super::object::Object;
use super::reply::Reply;
use super::route::{Astray, ObjectRoute, Route, route};
use super::store::Store;
use super::world::{Asked, Change, DUPLICATE_TOKEN, Effect, Refusal, World};

/// The maximum number of regions whose rate limits are in memory. With a region `*` in the configuration, clients can
/// use any number of names for regions.
const MAX_REGIONS: usize = 1000;

/// The cloud: everything that requests share.
#[derive(Debug)]
pub struct Cloud {
    config: Config,
    store: Store,
    world: Mutex<World>,
    faults: Mutex<Faults>,
    buckets: Mutex<Buckets>,
    /// The URL of the server, for the endpoints of the regions.
    base: String,
}

#[derive(Debug, Default)]
struct Buckets {
    by_region: BTreeMap<String, Bucket>,
    requests: u64,
}

/// A request as data.
#[derive(Clone, Debug)]
pub struct Request {
    /// GET, POST, PATCH, PUT or DELETE.
    pub method: Method,
    /// The path.
    pub path: String,
    /// The text after the question mark.
    pub query: Option<String>,
    /// The whole body.
    pub body: Bytes,
}

impl Cloud {
    /// A cloud over an opened store. `base` is the URL of the server.
    pub fn new(config: Config, store: Store, world: World, base: String) -> Cloud {
        let faults = Mutex::new(Faults::new(config.seed, config.faults.clone()));
        let buckets = Mutex::new(Buckets::default());
        Cloud { config, store, world: Mutex::new(world), faults, buckets, base }
    }

    /// Responds to a request. Everything in the response is durable.
    pub async fn answer(self: &Arc<Cloud>, request: Request) -> Reply {
        let route = match route(&request.method, &request.path, request.query.as_deref()) {
            Ok(route) => route,
            Err(Astray::NoSuchPath) => return Reply::error(StatusCode::NOT_FOUND, "no-such-path", "no such path"),
            Err(Astray::NoSuchMethod) => {
                return Reply::error(StatusCode::METHOD_NOT_ALLOWED, "no-such-method", "not with this method");
            }
            Err(Astray::BadQuery) => return Reply::error(StatusCode::BAD_REQUEST, "bad-query", "unreadable query"),
        };
        match route {
            Route::Health => Reply::Json(StatusCode::OK, json!({"status": "ok"})),
            Route::Ledger { after } => self.ledger(after),
            Route::Objects => self.objects().await,
            Route::Faults => Reply::Json(StatusCode::OK, json!(self.faults.lock().seen())),
            Route::ReplaceFaults => self.replace_faults(&request.body),
            Route::Rates => self.rates(),
            Route::Regions => {
                let names = self.config.region_names();
                let items = names.iter().filter_map(|name| Some(self.region_json(name, &self.config.region(name)?)));
                Reply::Json(StatusCode::OK, json!({"items": items.collect::<Vec<_>>()}))
            }
            Route::Region(name) => match self.config.region(&name) {
                Some(region) => Reply::Json(StatusCode::OK, self.region_json(&name, &region)),
                None => no_such_region(&name),
            },
            Route::Object(route) => match self.config.region(&route.region) {
                None => no_such_region(&route.region),
                Some(region) if region.late_effects => {
                    // A separate task continues even if the client disconnects and this future is dropped.
                    let cloud = Arc::clone(self);
                    let task = tokio::spawn(async move { cloud.object(&region, &route, &request.body).await });
                    task.await.unwrap_or(Reply::Cut)
                }
                Some(region) => self.object(&region, &route, &request.body).await,
            },
        }
    }

    /// Processes a request about objects, with rate limit, failures and latency.
    async fn object(&self, region: &Region, route: &ObjectRoute, body: &Bytes) -> Reply {
        let latency = match self.admit(region, &route.region) {
            Ok(latency) => latency,
            Err(reply) => return *reply,
        };
        let (before, after) = self.faults.lock().decide(&route.region, route.kind, route.op);
        pause(latency / 2).await;
        if let Some(reply) = trouble(before).await {
            return reply;
        }
        let reply = self.serve_object(region, route, body).await.twisted(after.twist);
        pause(latency / 2).await;
        trouble(after).await.unwrap_or(reply)
    }

    /// Accepts a request within the rate of the region. Returns the total duration of the request.
    fn admit(&self, region: &Region, name: &str) -> Result<Duration, Box<Reply>> {
        let mut latency = Duration::from_millis(region.latency_ms);
        if region.rate.is_none() && region.jitter_ms == 0 {
            return Ok(latency);
        }
        let mut buckets = self.buckets.lock();
        buckets.requests += 1;
        if region.jitter_ms > 0 {
            let part = chance(self.config.seed, u64::MAX, buckets.requests);
            latency += Duration::from_millis(region.jitter_ms).mul_f64(part);
        }
        let Some(rate) = region.rate else { return Ok(latency) };
        if !buckets.by_region.contains_key(name) && buckets.by_region.len() >= MAX_REGIONS {
            return Err(Box::new(Reply::error(StatusCode::NOT_FOUND, "no-such-region", "too many regions")));
        }
        let now = Instant::now();
        let bucket = buckets.by_region.entry(name.to_owned()).or_insert_with(|| Bucket::new(rate, now));
        bucket.take(now).map(|()| latency).map_err(|wait| {
            Box::new(Reply::Error {
                status: StatusCode::TOO_MANY_REQUESTS,
                code: "rate-exceeded",
                message: format!("too many requests: region {name} takes no more than {} a second", rate.per_second),
                field: None,
                retry_after: Some(wait),
            })
        })
    }

    /// Reads or changes the world, and waits until the result is durable.
    async fn serve_object(&self, region: &Region, route: &ObjectRoute, body: &Bytes) -> Reply {
        let (seq, reply) = match self.touch(region, route, body) {
            Ok(touched) => touched,
            Err(reply) => return *reply,
        };
        match self.store.durable(seq).await {
            Ok(()) => reply,
            Err(error) => error.into(),
        }
    }

    /// Reads or changes the world under its lock. Returns the reply, and the number of the effect that must be durable
    /// before the reply may be sent.
    fn touch(&self, region: &Region, route: &ObjectRoute, body: &Bytes) -> Result<(u64, Reply), Box<Reply>> {
        let fields = match route.op {
            Op::Create | Op::Update => read_body(body).map_err(Box::new)?,
            Op::Read | Op::List | Op::Delete => Map::new(),
        };
        let time = jiff::Timestamp::now().to_string();
        let asked = Asked { region: &route.region, zones: &region.zones, kind: route.kind, time: &time };
        let mut world = self.world.lock();
        let refused = |refusal: Refusal| Box::new(Reply::from(refusal));
        let effect = match route.op {
            Op::Read => {
                let object = world.get(&route.region, route.kind, &route.id);
                // Even absence is reported only after the delete that caused it is durable.
                let reply = object.map_or_else(Reply::from, |found| Reply::Json(StatusCode::OK, found.to_json()));
                return Ok((world.seq(), reply));
            }
            Op::List => {
                let found = world.find(&route.region, route.kind, route.token.as_deref(), route.name.as_deref());
                let items: Vec<Json> = found.into_iter().map(Object::to_json).collect();
                return Ok((world.seq(), Reply::Json(StatusCode::OK, json!({"items": items}))));
            }
            Op::Create => world.create(asked, fields).map_err(refused)?,
            Op::Update => world.update(asked, &route.id, fields).map_err(refused)?,
            Op::Delete => world.delete(asked, &route.id).map_err(refused)?,
        };
        let reply = effect_reply(&effect);
        let seq = effect.entry.seq;
        self.store.write(effect).map_err(|error| Box::new(Reply::from(error)))?;
        Ok((seq, reply))
    }

    fn region_json(&self, name: &str, region: &Region) -> Json {
        json!({"name": name, "zones": region.zones, "endpoint": format!("{}/regions/{name}", self.base)})
    }

    /// The ledger, read page by page while it is sent, so that memory use does not depend on its length.
    fn ledger(self: &Arc<Cloud>, after: u64) -> Reply {
        let end = self.world.lock().seq();
        let lines = stream::try_unfold((Arc::clone(self), after), move |(cloud, after)| async move {
            if after >= end {
                return Ok(None);
            }
            cloud.store.durable(end).await?;
            let page = cloud.store.ledger(after).await?;
            let Some((last, _)) = page.last() else { return Ok(None) };
            let last = *last;
            let mut text = String::new();
            for (_, line) in page.iter().filter(|(seq, _)| *seq <= end) {
                text.push_str(line);
                text.push('\n');
            }
            Ok(Some((Bytes::from(text), (cloud, last))))
        });
        Reply::Lines(Box::pin(lines))
    }

    /// Every object as a JSON line.
    async fn objects(&self) -> Reply {
        let (seq, text) = {
            let world = self.world.lock();
            let mut text = String::new();
            for object in world.objects() {
                text.push_str(&json!({"type": object.kind.name(), "object": object.to_json()}).to_string());
                text.push('\n');
            }
            (world.seq(), text)
        };
        match self.store.durable(seq).await {
            Ok(()) => Reply::Lines(Box::pin(stream::iter([Ok(Bytes::from(text))]))),
            Err(error) => error.into(),
        }
    }

    /// The numbers of accepted and refused requests of the regions with a rate limit.
    fn rates(&self) -> Reply {
        let buckets = self.buckets.lock();
        let counts = |bucket: &Bucket| json!({"taken": bucket.taken, "refused": bucket.refused});
        let regions: Map<String, Json> =
            buckets.by_region.iter().map(|(name, bucket)| (name.clone(), counts(bucket))).collect();
        Reply::Json(StatusCode::OK, Json::Object(regions))
    }

    fn replace_faults(&self, body: &Bytes) -> Reply {
        let bad = |what: String| Reply::error(StatusCode::BAD_REQUEST, "bad-faults", what);
        let rules: Vec<Rule> = match serde_json::from_slice(body) {
            Ok(rules) => rules,
            Err(error) => return bad(error.to_string()),
        };
        if let Err(what) = rules.iter().try_for_each(Rule::check) {
            return bad(what);
        }
        let mut faults = self.faults.lock();
        faults.replace(rules);
        Reply::Json(StatusCode::OK, json!(faults.seen()))
    }
}

fn no_such_region(name: &str) -> Reply {
    Reply::error(StatusCode::NOT_FOUND, "no-such-region", format!("there is no region {name:?}"))
}

fn read_body(body: &Bytes) -> Result<Map<String, Json>, Reply> {
    let bad = |what: String| Reply::error(StatusCode::BAD_REQUEST, "bad-body", what);
    match serde_json::from_slice(body) {
        Ok(Json::Object(fields)) => Ok(fields),
        Ok(_) => Err(bad("the body must be a JSON object".to_owned())),
        Err(error) => Err(bad(format!("the body is not JSON: {error}"))),
    }
}

fn effect_reply(effect: &Effect) -> Reply {
    match effect.change {
        Change::Remove => Reply::Nothing,
        _ if effect.entry.op == "create" && effect.entry.outcome != DUPLICATE_TOKEN => {
            Reply::Json(StatusCode::CREATED, effect.object.to_json())
        }
        Change::Put | Change::Keep => Reply::Json(StatusCode::OK, effect.object.to_json()),
    }
}

async fn pause(length: Duration) {
    if !length.is_zero() {
        tokio::time::sleep(length).await;
    }
}

/// Executes the failures on one side of the effect. Returns the reply if they end the request.
async fn trouble(trouble: Trouble) -> Option<Reply> {
    pause(trouble.delay).await;
    match trouble.end? {
        End::Cut => Some(Reply::Cut),
        End::Hang => std::future::pending().await,
        End::Error { status, message } => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            let retry_after = (status == StatusCode::TOO_MANY_REQUESTS).then_some(Duration::from_millis(100));
            Some(Reply::Error { status, code: "injected", message, field: None, retry_after })
        }
    }
}
