//! Reads and writes state files.

use weft_graph_format::address::{DeposedKey, InstanceKey, ResourceInstance, ResourceMode};
use weft_state::tfstate::{Malformation, StateFile, StateFileError, find_format_digit};
use weft_state::{InstanceObject, InstanceRecord, OutputRecord, PathStep, RawJson, StoredProvider};

const RECORDED: &str = include_str!("golden/recorded.tfstate");
const INSTANCES: &str = include_str!("golden/instances.tfstate");

fn parse(text: &str) -> StateFile {
    StateFile::parse(text.as_bytes(), "terraform.tfstate").unwrap()
}

#[test]
fn a_file_is_written_as_it_was_read() {
    for golden in [RECORDED, INSTANCES] {
        assert_eq!(String::from_utf8(parse(golden).to_bytes()).unwrap(), golden);
    }
}

#[test]
fn white_space_and_order_do_not_matter_when_reading() {
    let value: serde_json::Value = serde_json::from_str(INSTANCES).unwrap();
    assert_eq!(parse(&value.to_string()), parse(INSTANCES));
}

#[test]
fn records_are_complete() {
    let file = parse(INSTANCES);
    let addresses: Vec<&str> = file.instances.keys().map(String::as_str).collect();
    assert_eq!(
        addresses,
        [
            "data.lab_lookup.d",
            "lab_thing.a[\"z.\\\"]\"]",
            "lab_thing.a[10]",
            "lab_thing.a[2]",
            "module.m[\"x\"].lab_thing.b"
        ]
    );
    let ten = &file.instances["lab_thing.a[10]"];
    assert_eq!((&ten.address.key, ten.mode()), (&InstanceKey::Int(10), ResourceMode::Managed));
    assert_eq!(ten.provider.text(), "provider[\"weft.test/lab/lab\"].r[\"us\"]");
    let current = ten.current.as_ref().unwrap();
    assert!(current.tainted && current.create_before_destroy && current.skip_destroy);
    assert_eq!(current.identity.as_ref().unwrap().as_str(), "{\"id\":\"lab-10\"}");
    assert!(ten.deposed.contains_key(&DeposedKey::parse("0a1b2c3d").unwrap()));
    let data = file.instances["data.lab_lookup.d"].current.as_ref().unwrap();
    assert_eq!(data.attributes.as_str(), r#"{"id":"x","ratio":0.1000,"size":12345678901234567890123}"#);
}

#[test]
fn debug_output_shows_no_attributes() {
    let shown = format!("{:?}", parse(INSTANCES));
    assert!(!shown.contains("lab-10") && !shown.contains("eyJ"), "{shown}");
}

#[test]
fn the_format_digit_is_found_anywhere() {
    let places = [
        (r#"{"version":4}"#, Some((11, b'4'))),
        (r#"{"a":{"version":7},"b":["version",3],"version" : 9 }"#, Some((49, b'9'))),
        (r#"{"x":"version","version":4,"y":"\"version\":5"}"#, Some((25, b'4'))),
        (r#"{"version":4,"Version":4}"#, None),
        (r#"{"version":"4"}"#, None),
        (r#"{"version":44}"#, None),
        (r#"{"version":3}"#, None),
        (r#"{"serial":4}"#, None),
        ("[4]", None),
        ("", None),
        ("{\"version\":4", Some((11, b'4'))),
    ];
    for (text, expected) in places {
        let found = find_format_digit(text.as_bytes(), "x").ok().map(|found| (found.offset, found.digit));
        assert_eq!(found, expected, "{text}");
    }
}

#[test]
fn invalid_files_are_explained() {
    let cases = [
        ("{}", "has no `version`"),
        ("{\"version\": 5}", "newer tool"),
        ("{\"serial\":1,\"lineage\":\"x\",\"meta\":{},\"encrypted_data\":\"AA\"}", "encrypted"),
        ("not json", "invalid JSON"),
        ("{\"version\": 4, \"resources\": [{\"mode\": \"strange\", \"type\": \"a\", \"name\": \"b\"}]}", "mode"),
        (
            "{\"version\":4,\"resources\":[{\"mode\":\"managed\",\"type\":\"a\",\"name\":\"b\",\"instances\":[{}]}]}",
            "missing a provider address",
        ),
    ];
    for (text, expected) in cases {
        let error = StateFile::parse(text.as_bytes(), "x.tfstate").unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
    let twice = INSTANCES.replace("\"index_key\": 2,", "\"index_key\": 10,");
    let error = StateFile::parse(twice.as_bytes(), "x").unwrap_err();
    assert!(matches!(&error, StateFileError::Malformed { what: Malformation::Twice(_), .. }), "{error}");
}

#[test]
fn a_provider_of_a_resource_applies_to_all_instances() {
    let text = r#"{"version":4,"serial":1,"lineage":"l","resources":[{"mode":"managed","type":"t","name":"n",
        "provider":"provider[\"a/b/c\"]","each":"list","unknown":1,
        "instances":[{"index_key":0,"attributes":null},{"index_key":1.0}]}]}"#;
    let file = parse(text);
    for address in ["t.n[0]", "t.n[1]"] {
        assert_eq!(file.instances[address].provider.text(), "provider[\"a/b/c\"]");
    }
    let again = String::from_utf8(file.to_bytes()).unwrap();
    assert_eq!(again.matches("\"provider\"").count(), 1, "{again}");
    // An invalid address is the only problem that is reported for its resource.
    for (address, expected) in [
        (r#"provider[\"a/b/c\"].x[1]"#, "A provider address must not include an instance key."),
        ("nonsense", "Provider address must begin with \"provider.\", followed by a provider type name."),
    ] {
        let malformed = text.replace(r#"provider[\"a/b/c\"]"#, address);
        let error = StateFile::parse(malformed.as_bytes(), "x").unwrap_err();
        let expected = format!("x is not a valid state file: Invalid provider configuration address: {expected}");
        assert_eq!(error.to_string(), expected);
    }
    let torn = text.replace(r#"{"index_key":1.0}"#, r#"{"index_key":1.0,"provider":"provider[\"a/b/c\"].x[1]"}"#);
    let error = StateFile::parse(torn.as_bytes(), "x").unwrap_err();
    assert!(error.to_string().contains("different provider addresses"), "{error}");
}

#[test]
fn a_negative_index_is_kept() {
    let state = |keys: [&str; 3]| {
        let [one, two, three] = keys;
        format!(
            r#"{{"version":4,"serial":1,"lineage":"l","resources":[{{"mode":"managed","type":"t","name":"n",
            "provider":"provider[\"a/b/c\"]","instances":[{{"index_key":{one}}},{{"index_key":{two}}},{{"index_key":{three}}}]}}]}}"#
        )
    };
    let file = parse(&state(["0", "-1.0", "-20"]));
    let addresses: Vec<&str> = file.instances.keys().map(String::as_str).collect();
    assert_eq!(addresses, ["t.n[-1]", "t.n[-20]", "t.n[0]"]);
    let text = String::from_utf8(file.to_bytes()).unwrap();
    let places = ["\"index_key\": -20", "\"index_key\": -1", "\"index_key\": 0"].map(|key| text.find(key).unwrap());
    assert!(places.is_sorted(), "{text}");
    assert_eq!(parse(&text).instances, file.instances);
    for wrong in ["-0.5", "-9007199254740994e3", "9223372036854775808"] {
        assert!(StateFile::parse(state(["0", "1", wrong]).as_bytes(), "x").is_err(), "{wrong}");
    }
}

#[test]
fn names_may_be_any_text_but_modules_are_addresses() {
    let state = |module: &str| {
        format!(
            r#"{{"version":4,"serial":1,"lineage":"l","resources":[{{"module":"{module}","mode":"managed",
            "type":"t","name":"what is this","provider":"provider[\"a/b/c\"]","instances":[{{}}]}}]}}"#
        )
    };
    let file = parse(&state("module.m[\\\"k\\\"]"));
    let (text, record) = file.instances.first_key_value().unwrap();
    assert_eq!((text.as_str(), record.address.to_string()), ("module.m[\"k\"].t.what is this", text.clone()));
    let error = StateFile::parse(state("no module").as_bytes(), "x").unwrap_err();
    assert!(error.to_string().contains("Invalid module instance address"), "{error}");
}

#[test]
fn an_unknown_status_of_a_check_is_kept() {
    let text = r#"{"version":4,"serial":1,"lineage":"l","resources":[],"check_results":[{"object_kind":"check",
        "config_addr":"check.c","status":"later","objects":[{"object_addr":"check.c","status":"pass"}]}]}"#;
    let file = parse(text);
    let again = String::from_utf8(file.to_bytes()).unwrap();
    assert!(again.contains("\"status\": \"later\"") && again.contains("\"status\": \"pass\""), "{again}");
    assert_eq!(parse(&again).checks, file.checks);
}

#[test]
fn index_steps_of_sensitive_paths_have_a_type() {
    let state = |step: &str| {
        format!(
            r#"{{"version": 4, "terraform_version": "1.12.6", "serial": 1, "lineage": "l", "outputs": {{}}, "resources": [
            {{"mode": "managed", "type": "t", "name": "n", "provider": "provider[\"a/b/c\"]", "instances": [
              {{"schema_version": 0, "attributes": {{}}, "sensitive_attributes": [[
                {{"type": "get_attr", "value": "m"}}, {{"type": "index", "value": {step}}}]]}}]}}], "check_results": null}}"#
        )
    };
    for (written, typed) in [
        (r#""k\u003c""#, r#"{"value":"k<","type":"string"}"#),
        ("3", r#"{"value":3,"type":"number"}"#),
        (r#"{"value": "k", "type": "string"}"#, r#"{"value":"k","type":"string"}"#),
    ] {
        let file = parse(&state(written));
        let text = String::from_utf8(file.to_bytes()).unwrap();
        let again = parse(&text);
        for file in [&file, &again] {
            let object = file.instances["t.n"].current.as_ref().unwrap();
            let Some(PathStep::Index(key)) = object.sensitive_paths[0].get(1) else { panic!("no index step") };
            assert_eq!(key.as_str(), typed);
        }
        assert!(text.contains("\"type\": \"string\"") || text.contains("\"type\": \"number\""), "{text}");
    }
}

#[test]
fn keys_may_be_any_text() {
    for key in ["a\u{1}b", "\u{0}", "\u{7f}\u{85}", "\u{200b}\u{2028}\u{10ffff}", "${x} %{y} \"\\", "\n\r\t ", "", " "]
    {
        let quoted = weft_graph_format::address::quoted(key);
        let text = format!("module.m[{quoted}].t.n[{quoted}]");
        assert!(text.chars().all(|c| !c.is_control()), "{text:?}");
        let mut record = InstanceRecord::new(text.parse().unwrap(), StoredProvider::read("provider[\"a/b/c\"]"));
        assert_eq!(record.address.key, InstanceKey::String(key.into()));
        record.current = Some(InstanceObject::new(0, RawJson::new("{}")));
        let mut file = StateFile::create();
        file.instances.insert(text, record);
        let again = StateFile::parse(&file.to_bytes(), "terraform.tfstate").unwrap();
        assert_eq!(again.instances, file.instances);
        // Every parser understands the address in the same way.
        let address = file.instances.keys().next().unwrap();
        let parsed: weft_graph_format::address::ResourceInstance = address.parse().unwrap();
        assert_eq!(parsed.to_string(), *address);
    }
}

#[test]
fn memories_of_provider_instances_are_apart_from_outputs() {
    const KEYED: &str = "provider[\"h/n/t\"].by[\"k\"]";
    let output = |value: &str| OutputRecord {
        value: RawJson::new(value),
        value_type: RawJson::new("\"string\""),
        sensitive: false,
        deprecated: None,
    };
    let mut file = parse(INSTANCES);
    let without = file.to_bytes();
    file.outputs.insert(KEYED.into(), output("\"memory\""));
    let text = String::from_utf8(file.to_bytes()).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["weft_providers"][KEYED]["value"], "memory");
    assert_eq!(json["outputs"].get(KEYED), None);
    assert_eq!(parse(&text), file);
    assert!(file.named_outputs().all(|(name, _)| name != KEYED));
    // An entry whose name is of the wrong kind is ignored.
    let mut odd = json;
    odd["weft_providers"] = serde_json::json!({"o": odd["weft_providers"][KEYED]});
    assert_eq!(parse(&odd.to_string()).to_bytes(), without);
    // If no instance of the provider instance has an object, its memory is removed.
    let mut used = file.clone();
    let address: ResourceInstance = "lab_thing.z".parse().unwrap();
    let mut record = InstanceRecord::new(address.clone(), StoredProvider::read(KEYED));
    record.current = Some(InstanceObject::new(0, RawJson::new("{}")));
    used.instances.insert(address.to_string(), record);
    used.forget_unused_providers();
    assert!(used.outputs.contains_key(KEYED));
    file.forget_unused_providers();
    assert_eq!(file.to_bytes(), without);
}

#[test]
fn resources_without_instances_are_kept() {
    const PROVIDER: &str = "provider[\"weft.test/lab/lab\"].r";
    let mut json: serde_json::Value = serde_json::from_str(INSTANCES).unwrap();
    let entry = |module: &str, name: &str| {
        serde_json::json!({
            "module": module, "mode": "managed", "type": "lab_thing", "name": name,
            "provider": PROVIDER, "instances": [],
        })
    };
    json["resources"].as_array_mut().unwrap().extend([entry("module.m[\"x y\"]", "c"), entry("module.m[\"x\"]", "b")]);
    let mut file = parse(&json.to_string());
    let names: Vec<String> = file.bare_resources().iter().map(ToString::to_string).collect();
    let added = format!("module.m[\"x y\"].lab_thing.c {PROVIDER}");
    assert_eq!(names, [added.as_str()], "lab_thing.b has an instance");
    assert_eq!(file.named_outputs().count(), parse(INSTANCES).named_outputs().count());
    file.forget_unused_providers();
    let written: serde_json::Value = serde_json::from_slice(&file.to_bytes()).unwrap();
    let written = written["resources"].as_array().unwrap();
    assert_eq!(written.len(), json["resources"].as_array().unwrap().len() - 1);
    assert!(written.contains(&entry("module.m[\"x y\"]", "c")));
    assert_eq!(parse(&String::from_utf8(file.to_bytes()).unwrap()).bare_resources(), file.bare_resources());
    // An earlier version writes a resource without instances as the memory of a provider instance.
    let record = serde_json::json!({"value": null, "type": "dynamic"});
    let mut earlier: serde_json::Value = serde_json::from_str(INSTANCES).unwrap();
    earlier["weft_providers"] = serde_json::json!({added: record});
    assert_eq!(parse(&earlier.to_string()).bare_resources(), file.bare_resources());
}
