#!/usr/bin/env python3
"""A server for the backend `oss`: objects of the bucket `states`, the table `locks`, sessions and the metadata of a
machine with the role `machine`.

    oss_server.py --ca FILE [--port-file FILE]

Objects and the table are reached by the arguments `endpoint` and `tablestore_endpoint`, or through a proxy as the hosts
of the region cn-beijing (HTTPS_PROXY, HTTP_PROXY; SSL_CERT_FILE=FILE). The signatures of all requests are checked. The
keys are `id` and `secret`, those of the sessions that STS gives for the role `arn:role`, and those that the machine
gets for its own role. objects.py describes the requests to the server itself. Another request: `/-/rows` lists the rows
of the table.
"""
import argparse
import base64
import hashlib
import hmac
import ipaddress
import time
from urllib.parse import parse_qsl, quote, urlparse

from objects import Handler, Refused, serve

BUCKET = "states"
TABLE = "locks"
# Secrets and tokens by id.
KEYS = {"id": ("secret", None), "session-id": ("session-secret", "session-token"),
        "machine-id": ("machine-secret", "machine-token")}


def code(secret, text):
    return base64.b64encode(hmac.new(secret.encode(), text.encode(), "sha1").digest()).decode()


def varint(data, at):
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value, shift = value | (byte & 0x7F) << shift, shift + 7
        if not byte & 0x80:
            return value, at


def message(data):
    """The fields of a protocol buffer: numbers, or bytes."""
    found, at = {}, 0
    while at < len(data):
        head, at = varint(data, at)
        value, at = varint(data, at)
        if head & 7 == 2:
            value, at = data[at:at + value], at + value
        found.setdefault(head >> 3, []).append(value)
    return found


def field(number, value):
    """A field of a protocol buffer whose value is bytes, at most 16383."""
    size = bytes([len(value) & 0x7F | 0x80, len(value) >> 7]) if len(value) > 0x7F else bytes([len(value)])
    return bytes([number << 3 | 2]) + size + value


def crc8(data, crc=0):
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ (7 if crc & 0x80 else 0)) & 0xFF
    return crc


def size(data):
    return len(data).to_bytes(4, "little")


def read_row(data):
    """The cells of a row as pairs, and whether it is to be deleted. The checksums must be right."""
    cells, sums, deleted, at = [], [], False, 4
    assert data[:4] == b"\x75\0\0\0"
    def sized(at):
        count = int.from_bytes(data[at:at + 4], "little")
        return data[at + 4:at + 4 + count], at + 4 + count
    while data[at] != 9:
        tag, at = data[at], at + 1
        if tag == 8:
            deleted = True
        if tag != 3:
            continue
        assert data[at] == 4
        name, at = sized(at + 1)
        assert data[at] == 5
        value, at = sized(at + 1)
        assert value[0] == 3 and data[at] == 10 and data[at + 1] == crc8(value, crc8(name))
        sums.append(data[at + 1])
        cells.append((name.decode(), value[5:].decode()))
        at += 2
    assert data[at + 1] == crc8(bytes([*sums, deleted]))
    return cells, deleted


def row(key, columns):
    """A row as the service sends it: attributes have a time."""
    def cell(name, value, stamp):
        value = b"\x03" + size(value.encode()) + value.encode()
        checksum = crc8(stamp, crc8(value, crc8(name.encode())))
        sums.append(checksum)
        body = b"\x03\x04" + size(name.encode()) + name.encode() + b"\x05" + size(value) + value
        return body + (b"\x07" + stamp if stamp else b"") + bytes([10, checksum])
    sums = []
    stamp = int(time.time() * 1000).to_bytes(8, "little")
    data = b"\x75\0\0\0\x01" + cell("LockID", key, b"")
    data += b"\x02" + b"".join(cell(name, value, stamp) for name, value in columns)
    return data + bytes([9, crc8(bytes([*sums, 0]))])


class Oss(Handler):
    def work(self, host, path):
        own = host is None or ipaddress_of(host)
        if host == "100.100.100.200":
            return self.machine(path)
        if host == "location-readonly.aliyuncs.com" or host and host.startswith("sts."):
            return self.interface(host)
        if self.headers.get("x-ots-signature") is not None:
            return self.table(path)
        if own:
            _, bucket, key = (path + "/").split("/", 2)
            key = key[:-1] if path.count("/") > 1 else ""
        else:
            bucket, key = host.split(".")[0], path[1:]
        self.check_signature(f"/{bucket}/{key}")
        if bucket != BUCKET:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist.")
        return self.work_on_object(key, "x-oss-")

    def check_signature(self, resource):
        key_id, _, signature = self.headers.get("Authorization", "").removeprefix("OSS ").partition(":")
        secret, token = KEYS.get(key_id, (None, None))
        if secret is None:
            raise Refused(403, "InvalidAccessKeyId", "The OSS Access Key Id you provided does not exist.")
        if self.headers.get("x-oss-security-token") != token:
            raise Refused(403, "InvalidSecurityToken", "The token is another one.")
        own = sorted((name.lower(), value) for name, value in self.headers.items() if name.lower().startswith("x-oss-"))
        own = "".join(f"{name}:{value}\n" for name, value in own)
        signed = [f"{name}={value}" if value else name for name, value in sorted(self.query.items())
                  if name in ("versions", "versionId", "objectMeta")]
        resource += "?" + "&".join(signed) if signed else ""
        head = [self.headers.get(name, "") for name in ("Content-MD5", "Content-Type", "Date")]
        text = "\n".join([self.command, *head]) + f"\n{own}{resource}"
        if code(secret, text) != signature:
            raise Refused(403, "SignatureDoesNotMatch", f"The text to be signed is {text!r}.")

    def machine(self, path):
        if path != "/latest/meta-data/ram/security-credentials/machine":
            return self.answer(404)
        return self.answer_json({"Code": "Success", "AccessKeyId": "machine-id", "AccessKeySecret": "machine-secret",
                                 "SecurityToken": "machine-token", "Expiration": self.later()})

    @staticmethod
    def later():
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))

    def interface(self, host):
        pairs = parse_qsl(urlparse(self.path).query, keep_blank_values=True)
        found = dict(pairs)
        secret, token = KEYS.get(found.get("AccessKeyId"), ("", None))
        encoded = sorted((quote(name, safe="-_.~"), quote(value, safe="-_.~"))
                         for name, value in pairs if name != "Signature")
        text = "&".join(f"{name}={value}" for name, value in encoded)
        text = f"{self.command}&%2F&{quote(text, safe='-_.~')}"
        right = code(secret + "&", text) == found.get("Signature") and found["SignatureNonce"] not in self.server.nonces
        if not right or found.get("SecurityToken") != token:
            return self.answer_json({"Code": "SignatureDoesNotMatch", "Message": "Not so."}, 400)
        self.server.nonces.add(found["SignatureNonce"])
        if found["Action"] == "DescribeEndpoints" and found["Id"] == "cn-beijing":
            endpoint = {"Type": "openAPI", "Endpoint": "oss-cn-beijing.aliyuncs.com", "Id": "cn-beijing"}
            return self.answer_json({"Success": True, "Endpoints": {"Endpoint": [endpoint]}})
        if found["Action"] == "AssumeRole" and found["RoleArn"] == "arn:role":
            keys = {"AccessKeyId": "session-id", "AccessKeySecret": "session-secret", "SecurityToken": "session-token",
                    "Expiration": self.later()}
            return self.answer_json({"RequestId": "r", "Credentials": keys})
        return self.answer_json({"Code": "EntityNotExist.Role", "Message": "The role does not exist."}, 404)

    def table(self, path):
        def refuse(status, code, text):
            return self.answer(status, field(1, code.encode()) + field(2, text.encode()))
        named = sorted((name.lower(), value.strip()) for name, value in self.headers.items()
                       if name.lower().startswith("x-ots-") and name.lower() != "x-ots-signature")
        lines = "".join(f"{name}:{value}\n" for name, value in named)
        headers = dict(named)
        secret, token = KEYS.get(headers["x-ots-accesskeyid"], ("", None))
        digest = base64.b64encode(hashlib.md5(self.body).digest()).decode()
        right = code(secret, f"{path}\nPOST\n\n{lines}") == self.headers["x-ots-signature"]
        if not right or headers.get("x-ots-ststoken") != token or headers["x-ots-contentmd5"] != digest:
            return refuse(403, "OTSAuthFailed", "The signature is another one.")
        asked, rows = message(self.body), self.server.rows
        if asked[1][0].decode() != TABLE:
            return refuse(404, "OTSObjectNotExist", "Requested table does not exist.")
        # One unit of capacity each.
        used = field(1, field(1, b"\x08\x01\x10\x01"))
        if path == "/DescribeTable":
            schema = field(1, b"locks") + field(2, field(1, b"LockID") + b"\x10\x02")
            details = field(1, b"\x08\x00\x10\x00") + b"\x10\x00"
            return self.answer(200, field(1, schema) + field(2, details)
                               + field(3, b"\x08\x01\x10\x01\x28\x01") + b"\x20\x01")
        cells, deleted = read_row(asked[2][0])
        key, there = cells[0][1], dict(rows.get(cells[0][1], []))
        if path == "/GetRow":
            assert not deleted and asked[5] == [1]
            wanted = [name.decode() for name in asked[3]]
            columns = [(name, value) for name, value in there.items() if name in wanted]
            return self.answer(200, used + field(2, row(key, columns) if there else b""))
        condition = message(asked[3][0])
        fits = {0: True, 1: bool(there), 2: not there}[condition[1][0]]
        if 2 in condition:
            single = message(message(condition[2][0])[2][0])
            assert single[1] == [1] and single[3][0][0] == 3
            fits = fits and there.get(single[2][0].decode()) == single[3][0][5:].decode()
        if not fits:
            return refuse(403, "OTSConditionCheckFail", "Condition check failed.")
        if path == "/PutRow":
            rows[key] = cells[1:]
        else:
            assert path == "/DeleteRow" and deleted
            rows.pop(key, None)
        return self.answer(200, used)

    def control_more(self, word):
        return self.answer_json(self.server.rows) if word == "rows" else self.answer(404)


def ipaddress_of(host):
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--ca", required=True, help="where to write the certificate of the authority")
    a.add_argument("--port-file", help="where to write the port")
    serve(Oss, a.parse_args(), rows={}, nonces=set())


if __name__ == "__main__":
    main()
