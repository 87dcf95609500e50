"""The common part of the benches of a remote backend: an object store whose every request takes 30 ms."""
import argparse
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "chaos"))
from stage import ROOT, Cloud, Moto, Proxy, Stage  # noqa: E402

# The time of a request to the object store, in milliseconds.
REQUEST = 30
IN_FLIGHT = 64
# The bound: the maximum time of the run, as a multiple of its time on the embedded store.
LONGER = 1.10


def configuration(operations):
    """A configuration with this number of objects of the simulated cloud."""
    return f"""
terraform {{
  required_providers {{
    cloud = {{ source = "weft.test/sim/cloud" }}
  }}
}}
resource "cloud_dns_record" "r" {{
  count  = {operations}
  name   = "r${{count.index}}"
  type   = "A"
  values = ["192.0.2.1"]
}}
"""


def backend(number):
    """The configuration of the backend for one round."""
    return f"""
terraform {{
  backend "s3" {{
    bucket         = "states"
    key            = "bench/{number}"
    use_lockfile   = true
    use_path_style = true
  }}
}}
"""


def options(usage, name, **sizes):
    """The options of the command line, with these default sizes. Builds Weft if necessary. None if moto is missing."""
    a = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin-dir", help="folder with weft and simcloud; by default a new release build")
    for size, default in sizes.items():
        a.add_argument(f"--{size}", type=int, default=default)
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--check", action="store_true")
    o = a.parse_args()
    if not Moto.there():
        print(f"SKIPPED {name}: moto_server is not installed")
        return None
    if o.bin_dir is None:
        subprocess.run(["cargo", "build", "--release", "--quiet", "--locked", "-p", "weft-cli", "-p", "weft-simcloud"],
                       cwd=ROOT, check=True)
        o.bin_dir = ROOT / "target" / "release"
    return o


@contextmanager
def far_away(bin_dir, prefix, operation):
    """A stage for a bench: a cloud whose operations take `operation` milliseconds, the proxy in front of the object
    store, and the environment for the backend."""
    with Stage(bin_dir, prefix=prefix) as stage:
        stage.cli_config([stage.mirror()])
        Cloud(stage, {"regions": {"*": {"latency_ms": operation}}})
        proxy = Proxy(stage, Moto(stage).port, latency=REQUEST)
        yield stage, proxy, {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1",
                             "AWS_ENDPOINT_URL": proxy.url()}
