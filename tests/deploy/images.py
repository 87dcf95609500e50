#!/usr/bin/env python3
"""Builds the images of `deploy/container` with buildah, and runs them.

    images.py [--bin target/debug/weft] [--plugins DIR]

No registry is needed: stand-ins with the names of the base images are made from files of this machine. In the stand-in
for the image of Rust, `cargo build` copies the given binary. So the instructions of the container files are tested, and
neither the compilation nor the real base images.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FILES = ROOT / "deploy/container"
# The base images of `Containerfile`, in the order of its stages.
RUST, DISTROLESS = "docker.io/library/rust:1.95-slim-bookworm", "gcr.io/distroless/cc-debian12:nonroot"
# The user of the second base image, as in the real one.
NONROOT = 65532
# Programs for the first stage.
PROGRAMS = ("cp", "install", "mkdir")
CARGO = """#!/bin/sh
set -e
test "$*" = "build --release --locked -p weft-cli"
test -f Cargo.lock
mkdir -p target/release
cp /given/weft target/release/weft
"""


class Broken(Exception):
    """A failed check."""


def libraries(program):
    """The shared libraries of a program, and its loader."""
    text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    words = [word for line in text.splitlines() for word in line.split()]
    return sorted({word for word in words if word.startswith("/")})


class Images:
    """Images in a storage of their own."""

    def __init__(self, folder, binary):
        self.folder, self.binary = folder, binary
        # `chroot` needs neither a daemon nor namespaces of a network.
        self.env = dict(os.environ, BUILDAH_ISOLATION="chroot", STORAGE_DRIVER="vfs")

    def buildah(self, *arguments, code=0):
        storage = ["--root", self.folder / "storage", "--runroot", self.folder / "run"]
        done = subprocess.run(["buildah", *storage, *arguments], env=self.env, capture_output=True, text=True)
        if done.returncode != code:
            raise Broken(f"buildah {' '.join(map(str, arguments))} ended with {done.returncode}:\n"
                         f"{done.stdout[-2000:]}{done.stderr[-3000:]}")
        return done.stdout.strip()

    def base(self, name, programs, more):
        """Makes an image with programs of this machine and their libraries. `more` maps paths to contents."""
        root = self.folder / name.replace("/", "_").replace(":", "_")
        for program in programs:
            for path in [program, *libraries(program)]:
                target = root / str(path).lstrip("/")
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, target)
        for path, content in more.items():
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(0o755)
        container = self.buildah("from", "scratch")
        self.buildah("copy", "--quiet", container, root, "/")
        self.buildah("config", "--env", "PATH=/usr/local/bin:/usr/bin:/bin", container)
        self.buildah("commit", "--quiet", container, name)
        shutil.rmtree(root)

    def bases(self):
        programs = [shutil.which(name) for name in PROGRAMS]
        shell = Path(shutil.which("sh")).read_bytes()
        self.base(RUST, programs, {"bin/sh": shell, "usr/local/bin/cargo": CARGO.encode(),
                                   "given/weft": self.binary.read_bytes()})
        # The libraries of weft, and a user, as in the real image. No shell.
        loaded = {str(path).lstrip("/"): Path(path).read_bytes() for path in libraries(self.binary)}
        users = f"root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:{NONROOT}:{NONROOT}:nonroot:/home/nonroot:/sbin/nologin\n"
        self.base(DISTROLESS, [], {**loaded, "etc/passwd": users.encode()})

    def run(self, image, *words, code=0):
        """Runs the entry point of an image with these arguments, as its user."""
        container = self.buildah("from", "--pull-never", image)
        return self.buildah("run", container, "--", "/usr/bin/weft", *words, code=code)

    def inspect(self, image, template):
        return self.buildah("inspect", "--type", "image", "--format", template, image)


def expect(what, found, wanted):
    if wanted not in found:
        raise Broken(f"{what}: expected {wanted!r}, got:\n{found}")


def check(images, plugins):
    images.bases()
    build = ("build", "--quiet", "--pull-never", "--layers=false")
    images.buildah(*build, "-f", FILES / "Containerfile", "-t", "localhost/weft:latest", ROOT)
    expect("the user", images.inspect("localhost/weft:latest", "{{.OCIv1.Config.User}}"), f"{NONROOT}:{NONROOT}")
    expect("the entry point", images.inspect("localhost/weft:latest", "{{.OCIv1.Config.Entrypoint}}"), "/usr/bin/weft")
    expect("weft version", images.run("localhost/weft:latest", "version"), "Weft")
    # The user of the image may write to the working directory, and to nothing else.
    images.run("localhost/weft:latest", "certs", "init", "-domain", "weft.test")
    context = images.folder / "worker"
    shutil.copytree(plugins, context / "providers")
    images.buildah(*build, "-f", FILES / "worker.Containerfile", "--build-arg", "WEFT=localhost/weft:latest",
                   "-t", "localhost/weft-worker:latest", context)
    expect("the command", images.inspect("localhost/weft-worker:latest", "{{.OCIv1.Config.Cmd}}"),
           "[worker -plugin-dir=/usr/share/weft/providers]")
    container = images.buildah("from", "--pull-never", "localhost/weft-worker:latest")
    mounted = Path(images.buildah("mount", container))
    packages = sorted(path.name for path in (mounted / "usr/share/weft/providers").rglob("terraform-provider-*"))
    if not packages:
        raise Broken("the image of workers has no provider")
    images.buildah("umount", container)
    print(f"ok images: {', '.join(packages)} in the image of workers")


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--bin", default=str(ROOT / "target/debug/weft"))
    a.add_argument("--plugins", default=str(ROOT / "target/lab-plugins"), help="a mirror for the image of workers")
    o = a.parse_args()
    if not shutil.which("buildah") or os.geteuid() != 0:
        print("SKIPPED images: buildah is not installed, or this user is not root, so NO IMAGE IS BUILT\n0 passed, 0 failed")
        return
    with tempfile.TemporaryDirectory(prefix="weft-images-") as folder:
        try:
            check(Images(Path(folder), Path(o.bin).resolve()), Path(o.plugins))
        except Broken as problem:
            print(f"FAIL images: {problem}\n0 passed, 1 failed")
            sys.exit(1)
    print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
