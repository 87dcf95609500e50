#!/usr/bin/env python3
"""Weft and OpenTofu on the same states: each backend, in both orders.

    backends.py --tofu FILE [--bin FILE] [--jobs N] [--keep] [NAME ...]

The two tools work in one directory in turns without another init, respect each other's locks, read each other's
workspaces and encrypted states, and migrate them. The script is a case of `tests/cases`, made for each backend; its
header describes the format. A backend whose server is not installed is skipped.
"""
import argparse
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cases"))
from run import ROOT, Case, Skipped, Stage  # noqa: E402

DYNAMODB = ("curl -sS {s3}/ -H 'X-Amz-Target: DynamoDB_20120810.CreateTable' -H 'Content-Type: application/x-amz-json-1.0' "
            "-H 'Authorization: AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request' -d '"
            '{"TableName": "locks", "BillingMode": "PAY_PER_REQUEST", "AttributeDefinitions": [{"AttributeName": "LockID", '
            '"AttributeType": "S"}], "KeySchema": [{"AttributeName": "LockID", "KeyType": "HASH"}]}' "'")
S3 = """> s3
> env AWS_ACCESS_KEY_ID=key
> env AWS_SECRET_ACCESS_KEY=secret
> env AWS_REGION=us-east-1
> env AWS_ENDPOINT_URL={s3}
"""
# For each backend: what the case needs, its block, and whether it has workspaces. KEY is a name for the state.
BACKENDS = {
    "s3": (S3, """backend "s3" {
    bucket         = "states"
    key            = "KEY"
    use_lockfile   = true
    use_path_style = true
  }""", True),
    "s3-dynamodb": (S3 + f"$ {DYNAMODB}\n", """backend "s3" {
    bucket         = "states"
    key            = "KEY"
    dynamodb_table = "locks"
    use_path_style = true
  }""", True),
    "http": ("> states\n", """backend "http" {
    address        = "{states}/KEY"
    lock_address   = "{states}/KEY"
    unlock_address = "{states}/KEY"
  }""", False),
    "pg": ("> postgres\n> env PG_CONN_STR={postgres}\n", """backend "pg" {
    schema_name = "KEY"
  }""", True),
    "gcs": ("> gcs\n", """backend "gcs" {
    bucket = "states"
    prefix = "KEY"
  }""", True),
    "azurerm": ("> azurite\n", """backend "azurerm" {
    storage_account_name = "states1"
    container_name       = "states"
    key                  = "KEY"
  }""", True),
    "consul": ("> consul\n> env CONSUL_HTTP_ADDR={consul}\n", """backend "consul" {
    path = "KEY"
    gzip = true
  }""", True),
    "kubernetes": ("> kubernetes\n> env KUBE_CONFIG_PATH={kubernetes}\n", """backend "kubernetes" {
    secret_suffix = "KEY"
  }""", True),
    "oss": ("> oss\n> env ALICLOUD_ACCESS_KEY=id\n> env ALICLOUD_SECRET_KEY=secret\n> env ALICLOUD_REGION=cn-beijing\n"
            "> env ALICLOUD_OSS_ENDPOINT={oss}\n> env ALICLOUD_TABLESTORE_ENDPOINT={oss}\n", """backend "oss" {
    bucket           = "states"
    prefix           = "KEY"
    tablestore_table = "locks"
  }""", True),
    "cos": ("> cos\n> env HTTPS_PROXY={cos}\n> env SSL_CERT_FILE={certificate}\n> env TENCENTCLOUD_SECRET_ID=id\n"
            "> env TENCENTCLOUD_SECRET_KEY=secret\n", """backend "cos" {
    region = "ap-guangzhou"
    bucket = "states-125"
    prefix = "KEY"
  }""", True),
    "remote": ("> hosted\n", """backend "remote" {
    hostname     = "{hosted}"
    organization = "acme"
    workspaces {
      name = "KEY"
    }
  }""", False),
    "cloud": ("> hosted\n", """cloud {
    hostname     = "{hosted}"
    organization = "acme"
    workspaces {
      name = "KEY"
    }
  }""", False),
}

# The real servers that OpenTofu needs. The small server of the cases does not understand the messages of OpenTofu's
# library.
REAL_SERVERS = {"kubernetes": "WEFT_KUBE_APISERVER"}
# OpenTofu reads the states of these backends before it asks for their locks. While a run of Weft is unfinished,
# OpenTofu refuses to read such a state.
READ_FIRST = {"gcs", "azurerm", "kubernetes"}
# The name of the first state. Those of the others end with another number.
KEY = "weft-1"
CONFIGURATION = """> write resources.tf
variable "input" {
  default = "one"
}
resource "terraform_data" "a" {
  input = var.input
}
output "a" {
  value = terraform_data.a.output
}
.
"""
TURNS = """$ first init -no-color -input=false
$ first apply -no-color -auto-approve
$ second plan -no-color -detailed-exitcode
No changes.
$ second apply -no-color -auto-approve -var input=two
$ first plan -no-color -detailed-exitcode -var input=two
No changes.
$ first apply -no-color -auto-approve -var input=three
$ second plan -no-color -detailed-exitcode -var input=three
No changes.
$ second state list
terraform_data.a
"""
LOCKS = """> write slow.tf
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "touch started; while test ! -e go; do sleep 0.05; done"
  }
}
.
$ first apply -no-color -auto-approve -var input=three &
> until test -e started
$ second apply -no-color -auto-approve -var input=four -lock-timeout=0s
REFUSAL
[1]
$ touch go
> wait
$ second plan -no-color -detailed-exitcode -var input=three
No changes.
$ rm slow.tf started go
$ second apply -no-color -auto-approve -var input=three
"""
WORKSPACES = """$ second workspace new -no-color other
$ second apply -no-color -auto-approve -var input=other
$ first workspace list -no-color
* other
$ first plan -no-color -detailed-exitcode -var input=other
No changes.
"""
# Everything goes to local states and back to another place of the backend.
MIGRATION = """$ rm backend.tf
$ first init -no-color -input=false -migrate-state -force-copy
$ second plan -no-color -detailed-exitcode -var input=LAST
No changes.
$ sed 's/weft-1/weft-2/g' ../backend.tf > backend.tf
$ second init -no-color -input=false -migrate-state -force-copy
$ first plan -no-color -detailed-exitcode -var input=LAST
No changes.
"""
DEFAULT_TOO = """$ first workspace select -no-color default
$ first plan -no-color -detailed-exitcode -var input=three
No changes.
"""
ENCRYPTION = """> cd ../encrypted
> write encryption.hcl
key_provider "pbkdf2" "p" {
  passphrase = "correct horse battery"
}
method "aes_gcm" "m" {
  keys = key_provider.pbkdf2.p
}
state {
  method = method.aes_gcm.m
}
.
$ cp ../case/resources.tf . && sed 's/weft-1/weft-3/g' ../backend.tf > backend.tf
$ TF_ENCRYPTION="$(cat encryption.hcl)" first init -no-color -input=false
$ TF_ENCRYPTION="$(cat encryption.hcl)" first apply -no-color -auto-approve
$ TF_ENCRYPTION="$(cat encryption.hcl)" second plan -no-color -detailed-exitcode
No changes.
$ TF_ENCRYPTION="$(cat encryption.hcl)" second apply -no-color -auto-approve -var input=two
$ TF_ENCRYPTION="$(cat encryption.hcl)" first plan -no-color -detailed-exitcode -var input=two
No changes.
$ second plan -no-color
encrypt
[1]
"""


def script(name, order):
    """The case for a backend, in the format of `tests/cases`. `order` has the first and the second tool."""
    needs, block, workspaces = BACKENDS[name]
    file = f"terraform {{\n  {block.replace('KEY', KEY)}\n}}\n"
    lines = f"{needs}{CONFIGURATION}> write backend.tf\n{file}.\n> fill backend.tf\n{TURNS}"
    guarded = order[0] == "weft" and name in READ_FIRST
    lines += LOCKS.replace("REFUSAL", "Unsupported state file format" if guarded else "Error acquiring the state lock")
    lines += WORKSPACES if workspaces else ""
    lines += "$ cp backend.tf ..\n"
    if name != "cloud":  # Its migration asks questions in any case.
        lines += MIGRATION.replace("LAST", "other" if workspaces else "three")
    lines += DEFAULT_TOO if workspaces else ""
    return lines + ENCRYPTION


def attempt(name, order, options):
    """Plays the case of a backend."""
    tools = {"weft": Path(options.bin).resolve(), "tofu": Path(options.tofu).resolve()}
    start = time.monotonic()
    stage = Stage(tools["weft"].parent, keep=options.keep, prefix=f"weft-with-tofu-{name}-")
    with stage:
        path = stage.path / "script.txt"
        path.write_text(script(name, order))
        try:
            if (server := REAL_SERVERS.get(name)) and not os.environ.get(server):
                raise Skipped(f"{server} is not set")
            case = Case(path, options, stage)
            for role, tool in zip(("first", "second"), order):
                (stage.path / "bin" / role).symlink_to(tools[tool])
            case.play()
            outcome, stage.keep = None, False
        except Skipped as why:
            outcome, stage.keep = why, False
        except Exception as problem:  # noqa: BLE001  one broken backend must not end the others
            outcome = problem
    return f"{name} {'-'.join(order)}", outcome, time.monotonic() - start, stage.path if stage.keep else None


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--tofu", default=os.environ.get("WEFT_TOFU"), help="OpenTofu 1.12.6, by default WEFT_TOFU")
    a.add_argument("--bin", default=str(ROOT / "target/debug/weft"))
    a.add_argument("--jobs", type=int, default=2)
    a.add_argument("--keep", action="store_true", help="keep the folders of backends that failed")
    a.add_argument("names", nargs="*", help="backends, by default all")
    o = a.parse_args()
    o.plugins = None
    if not o.tofu:
        print("SKIPPED: WEFT_TOFU is not set, so NO BACKEND WAS COMPARED WITH OPENTOFU")
        return
    if unknown := set(o.names) - set(BACKENDS):
        sys.exit(f"no such backend: {', '.join(sorted(unknown))}")
    work = [(name, order) for name in o.names or BACKENDS for order in (("tofu", "weft"), ("weft", "tofu"))]
    passed, failed, skipped = 0, [], 0
    with ThreadPoolExecutor(o.jobs) as pool:
        for name, outcome, seconds, kept in pool.map(lambda pair: attempt(*pair, o), work):
            if outcome is None:
                passed += 1
                print(f"ok {name} {seconds:.1f} s", flush=True)
            elif isinstance(outcome, Skipped):
                skipped += 1
                print(f"SKIPPED {name}: {outcome}", flush=True)
            else:
                failed.append(name)
                print(f"FAIL {name}: " + str(outcome).replace("\n", "\n    "), flush=True)
                if kept:
                    print(f"    kept: {kept}", flush=True)
    print(f"{passed} passed, {len(failed)} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
