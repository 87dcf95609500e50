"""The fields of cert-manager's resources (cert-manager.io/v1) that the manifests may use, as a JSON schema."""

TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}
# A duration of Go, such as 720h.
DURATION = {"type": "string", "pattern": "^([0-9]+(h|m|s))+$"}
USAGES = [
    "signing", "digital signature", "content commitment", "key encipherment", "key agreement", "data encipherment", "cert sign",
    "crl sign", "encipher only", "decipher only", "any", "server auth", "client auth", "code signing", "email protection",
    "s/mime", "ipsec end system", "ipsec tunnel", "ipsec user", "timestamping", "ocsp signing", "microsoft sgc", "netscape sgc"]


def strict(required, **properties):
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def resource(kind, spec):
    return strict(["apiVersion", "kind", "metadata", "spec"], apiVersion={"const": "cert-manager.io/v1"}, kind={"const": kind},
                  metadata={"type": "object", "required": ["name"]}, spec=spec)


CERTIFICATE = strict(
    ["secretName", "issuerRef"],
    secretName=TEXT, commonName=TEXT, isCA={"type": "boolean"}, duration=DURATION, renewBefore=DURATION,
    dnsNames=TEXTS, ipAddresses=TEXTS, uris=TEXTS, usages={"type": "array", "items": {"enum": USAGES}},
    privateKey=strict([], algorithm={"enum": ["RSA", "ECDSA", "Ed25519"]}, encoding={"enum": ["PKCS1", "PKCS8"]},
                      rotationPolicy={"enum": ["Never", "Always"]}, size={"type": "integer"}),
    issuerRef=strict(["name"], name=TEXT, kind={"enum": ["Issuer", "ClusterIssuer"]}, group={"const": "cert-manager.io"}))

# Exactly one kind of issuer. The manifests need these two.
ISSUER = {**strict([], selfSigned=strict([]), ca=strict(["secretName"], secretName=TEXT)), "minProperties": 1, "maxProperties": 1}

SCHEMAS = {"Certificate": resource("Certificate", CERTIFICATE), "Issuer": resource("Issuer", ISSUER)}


def problems(thing):
    """How a resource of cert-manager differs from its schema."""
    import jsonschema
    schema = SCHEMAS.get(thing["kind"])
    if schema is None:
        return [f"unknown kind {thing['kind']}"]
    return [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(thing)]
