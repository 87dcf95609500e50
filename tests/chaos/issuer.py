#!/usr/bin/env python3
"""An issuer of OpenID Connect tokens, as pipelines get them.

    issuer.py FOLDER URL key                  a new key: FOLDER gets its documents, as a server at URL has them
    issuer.py FOLDER URL token NAME=VALUE ... prints a token with these claims
"""
import base64
import json
import subprocess
import sys
import time
from pathlib import Path

# The issuer, and the required audience of its tokens.
ISSUER, AUDIENCE = "https://ci.example.org", "weft"
REPOSITORY = "acme/infra"


class Issuer:
    """Issues tokens. Needs `openssl`. `folder` gets the key, the public key as a JWKS file, and the description of the
    issuer."""

    def __init__(self, folder, url=ISSUER):
        self.folder, self.url = folder, url
        self.key, self.keys = folder / "key.pem", folder / "keys.json"
        if not self.key.exists():
            self.new_key()

    def new_key(self):
        """Replaces the key. Tokens of the previous key are no longer valid."""
        subprocess.run(["openssl", "genrsa", "-out", self.key, "2048"], check=True, capture_output=True)
        self.keys.write_text(json.dumps({"keys": [{
            "kty": "RSA", "kid": self.kid(), "alg": "RS256", "use": "sig", "n": encoded(self.modulus()), "e": "AQAB"}]}))
        well_known = self.folder / ".well-known"
        well_known.mkdir(exist_ok=True)
        (well_known / "openid-configuration").write_text(json.dumps(
            {"issuer": self.url, "jwks_uri": f"{self.url}/keys.json"}))

    def modulus(self):
        done = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, capture_output=True, text=True)
        return bytes.fromhex(done.stdout.strip().split("=")[1])

    def kid(self):
        """The name of the key."""
        return self.modulus()[:8].hex()

    def policy(self, rules, roles):
        """A policy file: the roles of names of callers, and the roles of tokens of the repository."""
        parts = [f'[[issuer]]\nurl = "{self.url}"\naudience = "{AUDIENCE}"\nkeys_file = "{self.keys}"\n']
        parts += [f'[[rule]]\nidentity = "{name}"\nroles = {json.dumps(of_name)}\nstates = ["*"]\n'
                  for name, of_name in rules.items()]
        parts += [f'[[rule]]\ntoken = {{ issuer = "{self.url}", repository = "{REPOSITORY}" }}\nroles = {json.dumps(roles)}\n'
                  'states = ["*"]\n']
        return "\n".join(parts)

    def token(self, **claims):
        claims = {"iss": self.url, "sub": f"repo:{REPOSITORY}", "aud": AUDIENCE, "exp": int(time.time()) + 600,
                  "repository": REPOSITORY, **claims}
        parts = [{"alg": "RS256", "kid": self.kid()}, claims]
        text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        done = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.key], input=text.encode(), check=True, capture_output=True)
        return f"{text}.{encoded(done.stdout)}"


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def main():
    folder, url, verb, *claims = sys.argv[1:]
    issuer = Issuer(Path(folder), url)
    match verb:
        case "key":
            issuer.new_key()
        case "token":
            print(issuer.token(**dict(claim.split("=", 1) for claim in claims)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
