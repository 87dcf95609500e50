#!/usr/bin/env python3
"""Checks what scripts/package makes of a program: check.py --bin target/debug/weft

The Debian package is unpacked, and its program is started. Every command has a man page that groff accepts. The same
program gives the same packages. The completions ask the program.
"""
import argparse
import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


def said(*command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True,
                          stdin=subprocess.DEVNULL, **more)
    return done.stdout


def package(program, out):
    print(said(ROOT / "scripts/package", "--quick", "--bin", program, "--out", out,
               env={**os.environ, "SOURCE_DATE_EPOCH": "1764165731"}))
    return (out / "SHA256SUMS").read_text()


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--bin", required=True, type=Path)
    program = options.parse_args().bin.resolve()
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        # A program with its debugging symbols is large, and takes minutes to pack.
        lean = folder / "weft"
        shutil.copy(program, lean)
        subprocess.run(["strip", lean], check=False)
        first, second = package(lean, folder / "one"), package(lean, folder / "two")
        assert first == second, "the same program gives other packages"
        out = folder / "one"
        pages = sorted(path.name for path in (out / "man").iterdir())
        for name in ("weft.1", "weft-plan.1", "weft-runs-settle.1", "weft-state-mv.1", "weft-workspace-new.1"):
            assert name in pages, f"{name} is missing: {pages}"
        if shutil.which("groff"):
            for name in pages:
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", out / "man" / name],
                                      capture_output=True, text=True)
                assert not done.stderr, f"{name}: {done.stderr[:500]}"
        with tarfile.open(next(out.glob("*.tar.gz"))) as tar:
            names = tar.getnames()
        assert any(name.endswith("usr/bin/weft") for name in names), names
        for deb in out.glob("*.deb"):
            said("dpkg-deb", "-x", deb, folder / "root")
            assert "Weft v" in said(folder / "root/usr/bin/weft", "-version")
            page = gzip.decompress((folder / "root/usr/share/man/man1/weft-apply.1.gz").read_bytes()).decode()
            assert ".SH NAME" in page and "auto\\-approve" in page, page
            assert "Package: weft" in said("dpkg-deb", "-f", deb)
        bash = (out / "completions/bash/weft").read_text()
        assert bash == "complete -C /usr/bin/weft weft\n", bash
        assert (out / "Containerfile").read_text().count("FROM ") == 1
    print("1 passed, 0 failed")


if __name__ == "__main__":
    try:
        main()
    except (AssertionError, subprocess.CalledProcessError) as problem:
        print(getattr(problem, "stderr", None) or problem, file=sys.stderr)
        print("0 passed, 1 failed")
        sys.exit(1)
