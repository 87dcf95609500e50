#!/usr/bin/env python3
"""Records what OpenTofu stores in backends: `tests/cases/recorded`, which the case `backend-recorded` starts from.

    record_backends.py --tofu FILE [NAME ...]

For each of s3, http and pg, a folder has the settings that init saved (`saved.json`), the state (`state`; for pg the
statements that create it), and the lock that another process finds during an apply (`lock`).
"""
import argparse
import os
import shutil
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cases"))
from run import ROOT, Case, Stage  # noqa: E402

RECORDED = ROOT / "tests/cases/recorded"
SLOW = """> write slow.tf
resource "terraform_data" "slow" {
  provisioner "local-exec" {
    command = "touch started; while test ! -e go; do sleep 0.05; done"
  }
}
.
$ tofu apply -no-color -auto-approve &
> until test -e started
"""
S3 = """> s3
> env AWS_ACCESS_KEY_ID=key
> env AWS_SECRET_ACCESS_KEY=secret
> env AWS_REGION=us-east-1
> env AWS_ENDPOINT_URL={s3}
"""
HTTP = """> states
> env TF_HTTP_ADDRESS={states}/app
> env TF_HTTP_LOCK_ADDRESS={states}/app
> env TF_HTTP_UNLOCK_ADDRESS={states}/app
"""
PG = "> postgres\n> env PG_CONN_STR={postgres}\n"
# moto allows reads by clients whose requests seem to be signed. It does not check the signature.
AS_KEY = ("-H 'Authorization: AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, "
          "Signature=0'")
# For each backend: what it needs, its block, and the commands that print the state and the lock.
BACKENDS = {
    "s3": (S3, """  backend "s3" {
    bucket         = "states"
    key            = "team/app"
    use_lockfile   = true
    use_path_style = true
  }
""", f"curl -sSf {AS_KEY} {{s3}}/states/team/app", f"curl -sSf {AS_KEY} {{s3}}/states/team/app.tflock"),
    "http": (HTTP, '  backend "http" {}\n', "curl -sS {states}/app", "curl -sS -X LOCK -d '{}' {states}/app"),
    "pg": (PG, """  backend "pg" {
    schema_name = "team"
  }
""", "pg_dump --no-owner --inserts --schema=team {postgres} | grep -v -e '^--' -e '^SET' -e '^SELECT pg_catalog.set_config' "
           "-e '^.\\(un\\)\\?restrict' -e '^$'",
           "psql -XAt {postgres} -c \"select locktype, classid, objid, objsubid, mode from pg_locks where locktype = "
           "'advisory'\""),
}


def record(name, tofu):
    needs, block, state, lock = BACKENDS[name]
    folder = RECORDED / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "backend.tf").write_text("terraform {\n" + block + "}\n")
    stage = Stage(tofu.parent, prefix=f"weft-record-{name}-")
    with stage:
        path = stage.path / "script.txt"
        path.write_text(f"{needs}$ cp {RECORDED}/main.tf {folder}/backend.tf .\n$ tofu init -no-color -input=false\n"
                        f"$ tofu apply -no-color -auto-approve\n$ cp .terraform/terraform.tfstate {folder}/saved.json\n"
                        f"$ {state} > {folder}/state\n{SLOW}$ {lock} > {folder}/lock\n$ touch go\n> wait\n")
        case = Case(path, argparse.Namespace(plugins=None), stage)
        (stage.path / "bin" / "tofu").symlink_to(tofu)
        case.play()


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--tofu", default=os.environ.get("WEFT_TOFU"), required="WEFT_TOFU" not in os.environ)
    a.add_argument("names", nargs="*", default=list(BACKENDS), help="backends, by default all")
    o = a.parse_args()
    for name in o.names:
        record(name, Path(o.tofu).resolve())
        print(f"recorded {name}")


if __name__ == "__main__":
    main()
