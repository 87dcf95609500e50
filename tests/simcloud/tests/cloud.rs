//! The server through HTTP: objects and their rules, tokens, limits, failures, the ledger, restarts.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use hyper::Method;
use serde_json::{Value as Json, json};
use weft_simcloud::client::{Answer, Client, ClientError};
use weft_simcloud::cloud::config::Config;
use weft_simcloud::cloud::server::Server;

async fn start(config: Json) -> Client {
    let config: Config = serde_json::from_str(&config.to_string()).unwrap();
    config.check().unwrap();
    let server = Server::start(config, "127.0.0.1:0".parse().unwrap(), None).await.unwrap();
    let client = Client::new(server.url()).unwrap();
    tokio::spawn(server.run());
    client
}

async fn call(client: &Client, method: Method, path: &str, body: Json) -> (u16, Json) {
    let answer = client.send(method, path, Some(&body)).await.unwrap();
    (answer.status, json_of(&answer))
}

fn json_of(answer: &Answer) -> Json {
    if answer.body.is_empty() { Json::Null } else { serde_json::from_slice(&answer.body).unwrap() }
}

async fn post(client: &Client, kind: &str, body: Json) -> Json {
    let (status, object) = call(client, Method::POST, &format!("/regions/us-east/{kind}"), body).await;
    assert_eq!(status, 201, "{object}");
    object
}

async fn lines(client: &Client, path: &str) -> Vec<Json> {
    let answer = client.send(Method::GET, path, None).await.unwrap();
    assert_eq!(answer.status, 200);
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn id(object: &Json) -> String {
    object["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn objects_follow_the_rules_of_a_cloud() {
    let cloud = start(json!({})).await;
    let network = post(&cloud, "network", json!({"name": "n", "cidr": "10.0.0.0/16", "tags": {"a": "b"}})).await;
    assert_eq!(network["urn"], json!(format!("urn:sim:us-east:network/{}", id(&network))));
    let subnet_body = json!({"name": "s", "network_id": network["id"], "cidr": "10.0.1.0/24"});
    let subnet = post(&cloud, "subnet", subnet_body.clone()).await;
    assert!(subnet["zone"].as_str().unwrap().starts_with("us-east-"));
    let machine = json!({"name": "i", "subnet_id": subnet["id"], "size": "small", "image": "x", "password": "p"});
    let instance = post(&cloud, "instance", machine.clone()).await;
    assert_eq!(instance["address"], "10.0.1.4");
    assert_eq!((instance.get("password"), &instance["password_set"]), (None, &json!(true)));

    let refused = |path: &str, body: Json| {
        let (cloud, path) = (cloud.clone(), format!("/regions/us-east/{path}"));
        async move {
            let (status, body) = call(&cloud, Method::POST, &path, body).await;
            (status, body["field"].as_str().unwrap_or("-").to_owned())
        }
    };
    assert_eq!(refused("subnet", subnet_body).await, (409, "cidr".to_owned()));
    let outside = json!({"name": "s", "network_id": network["id"], "cidr": "10.1.1.0/24"});
    assert_eq!(refused("subnet", outside).await, (422, "cidr".to_owned()));
    let orphan = json!({"name": "s", "network_id": "net-0", "cidr": "10.0.2.0/24"});
    assert_eq!(refused("subnet", orphan).await, (422, "network_id".to_owned()));
    assert_eq!(refused("network", json!({"cidr": "10.0.0.0/16"})).await, (422, "name".to_owned()));
    assert_eq!(refused("network", json!({"name": "n", "cidr": "ten"})).await, (422, "cidr".to_owned()));
    assert_eq!(refused("instance", json!({"nme": "n"})).await, (422, "nme".to_owned()));
    assert_eq!(refused("dns_record", json!({"token": "t"})).await, (422, "token".to_owned()));
    let elsewhere = call(&cloud, Method::POST, "/regions/us-west/instance", machine).await;
    assert_eq!(elsewhere.0, 422, "a subnet serves its own region only");
    assert_eq!(call(&cloud, Method::GET, "/regions/mars/network", Json::Null).await.1["code"], "no-such-region");

    let at = |kind: &str, object: &Json| format!("/regions/us-east/{kind}/{}", id(object));
    assert_eq!(call(&cloud, Method::DELETE, &at("network", &network), Json::Null).await.0, 409);
    assert_eq!(call(&cloud, Method::DELETE, &at("subnet", &subnet), Json::Null).await.0, 409);
    let (status, grown) = call(&cloud, Method::PATCH, &at("instance", &instance), json!({"size": "large"})).await;
    assert_eq!((status, &grown["size"], &grown["address"]), (200, &json!("large"), &instance["address"]));
    assert_eq!(call(&cloud, Method::PATCH, &at("instance", &instance), json!({"image": "y"})).await.0, 422);
    let untagged = call(&cloud, Method::PATCH, &at("network", &network), json!({"tags": null})).await.1;
    assert_eq!(untagged.get("tags"), None);
    for (kind, object) in [("instance", &instance), ("subnet", &subnet), ("network", &network)] {
        assert_eq!(call(&cloud, Method::DELETE, &at(kind, object), Json::Null).await.0, 204);
        assert_eq!(call(&cloud, Method::DELETE, &at(kind, object), Json::Null).await.0, 404);
        assert_eq!(call(&cloud, Method::GET, &at(kind, object), Json::Null).await.1["code"], "no-such-object");
    }
    assert_eq!(lines(&cloud, "/objects").await.len(), 0);
    let ledger = lines(&cloud, "/ledger").await;
    let ops: Vec<&str> = ledger.iter().map(|line| line["op"].as_str().unwrap()).collect();
    assert_eq!(ops, ["create", "create", "create", "update", "update", "delete", "delete", "delete"]);
    assert!(ledger.iter().enumerate().all(|(index, line)| line["seq"] == json!(index + 1)));
    let keys: Vec<&String> = ledger[0].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["seq", "time", "op", "type", "id", "name", "region", "token", "outcome"]);
}

#[tokio::test]
async fn a_token_makes_one_object_however_often_it_is_sent() {
    let cloud = start(json!({})).await;
    let body = json!({"name": "n", "cidr": "10.0.0.0/16", "token": "t/1"});
    let sent = (0..20).map(|_| call(&cloud, Method::POST, "/regions/us-east/network", body.clone()));
    let answers = join_all(sent).await;
    assert_eq!(answers.iter().filter(|(status, _)| *status == 201).count(), 1);
    assert!(answers.iter().all(|(_, object)| object["id"] == answers[0].1["id"]));
    let found = call(&cloud, Method::GET, "/regions/us-east/network?token=t%2F1", Json::Null).await.1;
    assert_eq!(found["items"][0]["id"], answers[0].1["id"]);
    let nothing = call(&cloud, Method::GET, "/regions/us-west/network?token=t%2F1", Json::Null).await.1;
    assert_eq!(nothing, json!({"items": []}));
    let ledger = lines(&cloud, "/ledger").await;
    let outcomes = |word: &str| ledger.iter().filter(|line| line["outcome"] == word).count();
    assert_eq!((outcomes("done"), outcomes("duplicate-token")), (1, 19));

    let record = json!({"name": "r", "type": "A", "values": ["10.0.0.1"]});
    let (one, two) = (post(&cloud, "dns_record", record.clone()).await, post(&cloud, "dns_record", record).await);
    assert_ne!(one["id"], two["id"]);
    let named = call(&cloud, Method::GET, "/regions/us-east/dns_record?name=r", Json::Null).await.1;
    assert_eq!(named["items"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn requests_beyond_the_rate_are_rejected_with_a_delay() {
    let cloud = start(json!({"regions": {"us-east": {"rate": {"per_second": 20, "burst": 5}}}})).await;
    let sent = (0..12).map(|_| cloud.send(Method::GET, "/regions/us-east/network", None));
    let answers: Vec<Answer> = join_all(sent).await.into_iter().map(Result::unwrap).collect();
    let refused: Vec<&Answer> = answers.iter().filter(|answer| answer.status == 429).collect();
    assert!((5..=7).contains(&refused.len()), "{}", refused.len());
    let wait = refused[0].retry_after.unwrap();
    assert!(wait <= Duration::from_millis(50), "{wait:?}");
    tokio::time::sleep(wait + Duration::from_millis(5)).await;
    assert_eq!(cloud.send(Method::GET, "/regions/us-east/network", None).await.unwrap().status, 200);
}

#[tokio::test]
async fn failures_are_injected_on_the_right_side_of_the_effect() {
    let faults = json!([
        {"op": "create", "type": "network", "nth": [1], "what": "error", "status": 503},
        {"op": "create", "type": "network", "nth": [2], "what": "cut", "when": "after"},
        {"op": "create", "type": "network", "nth": [3], "what": "cut"},
        {"op": "list", "what": "delay", "delay_ms": 80},
        {"op": "delete", "what": "hang", "when": "after"},
    ]);
    let cloud = start(json!({"faults": faults})).await;
    let body = |name: &str| json!({"name": name, "cidr": "10.0.0.0/16"});
    let path = "/regions/us-east/network";
    assert_eq!(call(&cloud, Method::POST, path, body("one")).await.0, 503);
    for name in ["two", "three"] {
        let error = cloud.send(Method::POST, path, Some(&body(name))).await.unwrap_err();
        assert!(matches!(error, ClientError::Lost { .. }), "{error}");
    }
    let begun = Instant::now();
    let found = call(&cloud, Method::GET, path, Json::Null).await.1;
    assert!(begun.elapsed() >= Duration::from_millis(80));
    assert_eq!(found["items"].as_array().unwrap().len(), 1);
    assert_eq!(found["items"][0]["name"], "two");
    let gone = format!("{path}/{}", id(&found["items"][0]));
    let hanging = cloud.send(Method::DELETE, &gone, None);
    assert!(tokio::time::timeout(Duration::from_millis(200), hanging).await.is_err());
    let ledger = lines(&cloud, "/ledger").await;
    assert_eq!(ledger.iter().map(|line| &line["op"]).collect::<Vec<_>>(), ["create", "delete"]);

    let seen = call(&cloud, Method::GET, "/faults", Json::Null).await.1;
    assert_eq!((&seen[0]["matched"], &seen[0]["fired"]), (&json!(3), &json!(1)));
    assert_eq!(call(&cloud, Method::PUT, "/faults", json!([])).await.0, 200);
    assert_eq!(call(&cloud, Method::PUT, "/faults", json!([{"what": "x"}])).await.0, 400);
    assert_eq!(call(&cloud, Method::POST, path, body("four")).await.0, 201);
}

#[tokio::test]
async fn a_disconnect_cancels_the_request_unless_effects_are_late() {
    let regions = json!({"us-east": {"latency_ms": 200}, "us-west": {"latency_ms": 200, "late_effects": true}});
    let cloud = start(json!({"regions": regions})).await;
    for region in ["us-east", "us-west"] {
        let body = json!({"name": region, "cidr": "10.0.0.0/16"});
        let path = format!("/regions/{region}/network");
        let sent = cloud.send(Method::POST, &path, Some(&body));
        assert!(tokio::time::timeout(Duration::from_millis(40), sent).await.is_err());
    }
    tokio::time::sleep(Duration::from_millis(400)).await;
    let ledger = lines(&cloud, "/ledger").await;
    assert_eq!(ledger.iter().map(|line| &line["region"]).collect::<Vec<_>>(), ["us-west"]);
}

#[tokio::test]
async fn only_loopback_addresses_are_served() {
    assert!(Server::start(Config::default(), "0.0.0.0:0".parse().unwrap(), None).await.is_err());
}

/// A `simcloud` process, which is killed when it is dropped.
struct Process {
    child: Child,
    client: Client,
}

impl Process {
    fn start(folder: &Path) -> Process {
        let port = folder.join("port");
        let _ = std::fs::remove_file(&port);
        let child = Command::new(env!("CARGO_BIN_EXE_simcloud"))
            .args(["-listen", "127.0.0.1:0", "-durability", "process", "-db"])
            .arg(folder.join("cloud.db"))
            .arg("-port-file")
            .arg(&port)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let begun = Instant::now();
        let port = loop {
            match std::fs::read_to_string(&port) {
                Ok(text) => break text,
                Err(_) if begun.elapsed() < Duration::from_secs(20) => std::thread::sleep(Duration::from_millis(10)),
                Err(error) => panic!("{error}"),
            }
        };
        Process { child, client: Client::new(&format!("http://127.0.0.1:{port}")).unwrap() }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_effects_survive_a_killed_server() {
    let folder = tempfile::tempdir().unwrap();
    let process = Process::start(folder.path());
    let client = Arc::new(process.client.clone());
    let network = post(&client, "network", json!({"name": "n", "cidr": "10.0.0.0/8", "token": "t"})).await;
    let subnet =
        post(&client, "subnet", json!({"name": "s", "network_id": network["id"], "cidr": "10.0.0.0/16"})).await;
    let subnet_id = id(&subnet);
    let senders: Vec<_> = (0..8)
        .map(|sender| {
            let (client, subnet_id) = (Arc::clone(&client), subnet_id.clone());
            tokio::spawn(async move {
                let mut answered = Vec::new();
                for number in 0.. {
                    let name = format!("i-{sender}-{number}");
                    let body = json!({"name": name, "subnet_id": subnet_id, "size": "small", "image": "x",
                                      "token": name});
                    let sent = client.send(Method::POST, "/regions/us-east/instance", Some(&body)).await;
                    match sent {
                        Ok(answer) if answer.status == 201 => answered.push(json_of(&answer)),
                        _ => break,
                    }
                }
                answered
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(300)).await;
    drop(process);
    let answered: Vec<Json> = join_all(senders).await.into_iter().flat_map(Result::unwrap).collect();
    assert!(answered.len() > 50, "{}", answered.len());

    let process = Process::start(folder.path());
    let second = Command::new(env!("CARGO_BIN_EXE_simcloud")).arg("-db").arg(folder.path().join("cloud.db")).output();
    let second = second.unwrap();
    assert!(!second.status.success() && String::from_utf8_lossy(&second.stderr).contains("locked"), "{second:?}");
    let stored = call(&process.client, Method::GET, "/regions/us-east/instance", Json::Null).await.1;
    let stored = stored["items"].as_array().unwrap().clone();
    let ids: std::collections::BTreeSet<String> = stored.iter().map(id).collect();
    assert!(answered.iter().all(|object| ids.contains(&id(object))));
    let ledger = lines(&process.client, "/ledger").await;
    assert_eq!(ledger.len(), stored.len() + 2, "each object has its line, each line its object");
    let mut addresses: Vec<&str> = stored.iter().map(|object| object["address"].as_str().unwrap()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), stored.len());
    // Tokens, addresses and references are still valid after the restart.
    let first = &answered[0];
    let again = json!({"name": "x", "subnet_id": subnet_id, "size": "small", "image": "x", "token": first["token"]});
    let (status, found) = call(&process.client, Method::POST, "/regions/us-east/instance", again).await;
    assert_eq!((status, &found["id"]), (200, &first["id"]));
    let network_path = format!("/regions/us-east/network/{}", id(&network));
    assert_eq!(call(&process.client, Method::DELETE, &network_path, Json::Null).await.0, 409);
}

/// Measures effects per second over HTTP, by durability. `cargo test --release -p weft-simcloud -- --ignored
/// --nocapture`
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn throughput() {
    const EFFECTS: usize = 20_000;
    const CLIENTS: usize = 64;
    for durability in ["process", "machine"] {
        let folder = tempfile::tempdir().unwrap();
        let config: Config = serde_json::from_value(json!({"durability": durability})).unwrap();
        let database = folder.path().join("cloud.db");
        let server = Server::start(config, "127.0.0.1:0".parse().unwrap(), Some(&database)).await.unwrap();
        let client = Client::new(server.url()).unwrap();
        tokio::spawn(server.run());
        let begun = Instant::now();
        let senders = (0..CLIENTS).map(|sender| {
            let client = client.clone();
            tokio::spawn(async move {
                for number in 0..EFFECTS / CLIENTS {
                    let body = json!({"name": format!("r-{sender}-{number}"), "type": "TXT", "values": ["x"]});
                    let path = "/regions/us-east/dns_record";
                    assert_eq!(client.send(Method::POST, path, Some(&body)).await.unwrap().status, 201);
                }
            })
        });
        for sender in join_all(senders).await {
            sender.unwrap();
        }
        let rate = EFFECTS as f64 / begun.elapsed().as_secs_f64();
        println!("{durability}: {rate:.0} effects/s over {CLIENTS} connections");
    }
}
