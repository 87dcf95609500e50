//! Tests whether a plan file computes the same values as the configuration, once everything is known.
//!
//! The test plans generated expressions over results of resources while the results are unknown, and applies the plan
//! file. Then the test plans the same configuration again with everything known. That plan must be empty.
//!
//! Two differences are allowed, if a second apply removes them. First, the type of a value can be unknown in the plan.
//! As in OpenTofu, a provider can then get a value that differs from the planned one, and the apply reports this.
//! Second, a branch that is not taken may have marked the result as sensitive in the plan. In this case, only the
//! sensitivity may change.
//!
//! `WEFT_CASES` sets the number of configurations. `WEFT_SEED` sets the seed, which the test prints.

// The generator of expressions is shared with the property test of formulas.
#[allow(dead_code)]
#[path = "../../expressions/tests/formulas/calls.rs"]
mod calls;
#[allow(dead_code)]
#[path = "../../expressions/tests/formulas/generate.rs"]
mod generate;

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use generate::{Choices, anything};

/// The default number of configurations. They take about a second.
const CONFIGURATIONS: u64 = 3;

/// The number of expressions in each configuration.
const EXPRESSIONS: usize = 40;

/// The default seed.
const SEED: u64 = 2026;

/// The number of random bytes for one expression.
const BYTES: usize = 120;

/// The maximum depth of expressions.
const DEPTH: usize = 4;

/// The operands of expressions: results of resources, which are unknown in the first plan.
const INPUTS: &str = r#"
locals {
  given = {
    text = "a", number = 1, truth = true, list = ["a", "a-b", ""], words = ["b"], map = { a = 3 }
    name = "hello.txt", size = 2, json = jsonencode({ name = 1, a = [true, null] }), range = "10.1.0.0/16"
    time = "2024-02-29T12:00:00Z", template = "<$${name}>", none = true, other = "12"
  }
}

resource "terraform_data" "in" {
  for_each = local.given
  input    = each.value
}

locals {
  is     = { for key, made in terraform_data.in : key => made.output }
  text   = terraform_data.in["text"].output
  number = tonumber(terraform_data.in["number"].output)
  object = { name = terraform_data.in["name"].output, size = tonumber(terraform_data.in["size"].output) }
  r = {
    text           = local.text
    secret         = sensitive(terraform_data.in["other"].output)
    number         = local.number
    truth          = terraform_data.in["truth"].output
    list           = tolist(terraform_data.in["list"].output)
    secret_list    = sensitive(tolist(terraform_data.in["words"].output))
    set            = toset(terraform_data.in["list"].output)
    map            = tomap(terraform_data.in["map"].output)
    object         = local.object
    objects        = tolist([local.object, { name = local.text, size = 1 }])
    map_of_objects = tomap({ k = local.object })
    nested         = { deep = local.object, names = tolist(terraform_data.in["words"].output), sizes = [local.number] }
    tuple          = [local.text, local.number]
    any            = jsondecode(terraform_data.in["json"].output)
    nullable       = terraform_data.in["none"].output ? null : "x"
    null_number    = terraform_data.in["none"].output ? null : 1
    range          = terraform_data.in["range"].output
    time           = terraform_data.in["time"].output
    json           = terraform_data.in["json"].output
    template       = terraform_data.in["template"].output
  }
  provisional = {
    text   = terraform_data.in["other"].output
    number = tonumber(terraform_data.in["size"].output)
    truth  = terraform_data.in["none"].output
    list   = tolist(terraform_data.in["words"].output)
    map    = tomap(terraform_data.in["map"].output)
  }
}
"#;

/// A module that returns its input in several ways.
const MODULE: &str = r#"
variable "value" {
  type = any
}

resource "terraform_data" "kept" {
  input = jsonencode(var.value)
}

output "same" {
  value     = var.value
  sensitive = true
}

output "text" {
  value     = terraform_data.kept.output
  sensitive = true
}
"#;

fn weft(dir: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_weft"));
    let (words, operands) = arguments.split_at(1);
    command.args(words).arg("-no-color").args(operands).current_dir(dir).env_remove("TF_CLI_CONFIG_FILE");
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("TF_VAR_") || name.starts_with("WEFT_")) {
        command.env_remove(name);
    }
    command.output().expect("weft runs")
}

fn text_of(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// A source of bytes. Equal seeds give equal bytes on every machine.
struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u8 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 56) as u8
    }
}

fn expressions(seed: u64) -> Vec<String> {
    let mut bytes = Bytes(seed);
    (0..EXPRESSIONS)
        .map(|_| {
            let made = loop {
                let choices: Vec<u8> = (0..BYTES).map(|_| bytes.next()).collect();
                let made = anything(&mut Choices::new(&choices), DEPTH);
                // A state cannot contain an infinite logarithm, and loses the last digit of other logarithms. In both
                // cases, the value would change with each plan.
                if !made.contains("log(") {
                    break made;
                }
            };
            // In this test, the names are locals and providers have no functions.
            let made = made.replace("provider::p::twice(", "strrev(").replace("provisional.", "local.provisional.");
            let mut text = String::new();
            for (at, part) in made.split("r.").enumerate() {
                if at > 0 {
                    let name_goes_on = text.ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                    text.push_str(if name_goes_on { "r." } else { "local.r." });
                }
                text.push_str(part);
            }
            text
        })
        .collect()
}

fn configuration(expressions: &[String]) -> String {
    let mut text = INPUTS.to_owned();
    for (at, expression) in expressions.iter().enumerate() {
        let value = format!("try({expression}, \"failed\")");
        let _ = match at % 4 {
            0 => writeln!(text, "output \"o{at}\" {{\n  sensitive = true\n  value = {value}\n}}"),
            1 => writeln!(
                text,
                "locals {{\n  l{at} = {value}\n}}\noutput \"o{at}\" {{\n  sensitive = true\n  value = [local.l{at}, \
                 local.l{at}]\n}}"
            ),
            2 => writeln!(
                text,
                "module \"m{at}\" {{\n  source = \"./m\"\n  value = {value}\n}}\noutput \"o{at}\" {{\n  sensitive = \
                 true\n  value = module.m{at}\n}}"
            ),
            _ => writeln!(
                text,
                "resource \"terraform_data\" \"e{at}\" {{\n  count = 2\n  input = \
                 \"${{count.index}}${{jsonencode({value})}}\"\n}}"
            ),
        };
    }
    text
}

/// Checks one configuration. Returns true if a second plan and apply were needed to remove differences.
fn check(seed: u64) -> Result<bool, String> {
    let here = tempfile::tempdir().expect("a directory");
    let expressions = expressions(seed);
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/conformance/expression_files");
    std::fs::create_dir_all(here.path().join("m")).expect("a directory");
    std::fs::create_dir_all(here.path().join("expression_files")).expect("a directory");
    for entry in std::fs::read_dir(files).expect("files").flatten().filter(|entry| entry.path().is_file()) {
        let to = here.path().join("expression_files").join(entry.file_name());
        std::fs::copy(entry.path(), to).expect("copied");
    }
    std::fs::write(here.path().join("main.tf"), configuration(&expressions)).expect("written");
    std::fs::write(here.path().join("m/main.tf"), MODULE).expect("written");
    let story = |what: &str, output: &Output| {
        let listed: String = expressions.iter().enumerate().fold(String::new(), |mut all, (at, expression)| {
            let _ = writeln!(all, "  {at}: {expression}");
            all
        });
        format!("WEFT_SEED={seed}: {what}\n{}\n{listed}", text_of(output))
    };
    let run = |arguments: &[&str], what: &str| {
        let output = weft(here.path(), arguments);
        if output.status.code() == Some(0) { Ok(()) } else { Err((story(what, &output), text_of(&output))) }
    };
    let must = |arguments: &[&str], what: &str| run(arguments, what).map_err(|(story, _)| story);
    must(&["init"], "init fails")?;
    must(&["plan", "-out=p"], "the plan fails")?;
    let otherwise = match run(&["apply", "p"], "the apply fails") {
        Ok(()) => false,
        Err((_, said)) if only_promises_broken(&said) => true,
        Err((story, _)) => return Err(story),
    };
    let still = ["plan", "-detailed-exitcode", "-show-sensitive"];
    let Err((story, _)) = run(&still, "with everything known something is left to do") else { return Ok(false) };
    let before = values(here.path());
    must(&["apply", "-auto-approve"], "the second apply fails")?;
    must(&still, "the second apply leaves something to do")?;
    if otherwise || values(here.path()) == before { Ok(true) } else { Err(story) }
}

/// Whether all errors of the apply are about values that differ from the plan.
fn only_promises_broken(said: &str) -> bool {
    let mut errors = said.lines().filter(|line| line.starts_with("Error: ")).peekable();
    errors.peek().is_some() && errors.all(|line| line == "Error: Provider produced inconsistent final plan")
}

/// All values in the state, without sensitivity.
fn values(dir: &Path) -> serde_json::Value {
    fn strip(value: &mut serde_json::Value) {
        match value {
            serde_json::Value::Object(entries) => {
                entries.retain(|name, _| !name.starts_with("sensitive"));
                entries.values_mut().for_each(strip);
            }
            serde_json::Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let shown = weft(dir, &["show", "-json"]).stdout;
    let mut found = serde_json::from_slice(&shown).expect("state as JSON");
    strip(&mut found);
    found
}

#[test]
fn a_plan_file_computes_the_values_of_its_configuration() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let first = number("WEFT_SEED").unwrap_or(SEED);
    let count = number("WEFT_CASES").unwrap_or(CONFIGURATIONS);
    println!("WEFT_SEED={first} WEFT_CASES={count}");
    let mut settled = Vec::new();
    for seed in first..first + count {
        match check(seed) {
            Ok(false) => {}
            Ok(true) => settled.push(seed),
            Err(story) => panic!("{story}"),
        }
    }
    println!("settled by a second apply: {settled:?} of {count}");
}
