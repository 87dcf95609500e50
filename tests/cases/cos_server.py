#!/usr/bin/env python3
"""A server for the backend `cos`: objects of the bucket `states-125` in the region ap-guangzhou, tags and sessions.

    cos_server.py --ca FILE [--port-file FILE]

The tools reach the server as a proxy (HTTPS_PROXY), and trust its certificate by SSL_CERT_FILE=FILE. The signatures of
all requests are checked: the keys are `id` and `secret`, and those of the session that STS gives for the role
`arn:role`. objects.py describes the requests to the server itself. Further requests: `/-/tags` lists the tags, and
`/-/tag?value=V` creates a tag.
"""
import argparse
import hashlib
import hmac
import json
import time
from datetime import datetime, timezone
from urllib.parse import parse_qsl, quote, urlparse

from objects import Handler, Refused, serve

BUCKET = "states-125"
HOSTS = {f"{BUCKET}.cos.ap-guangzhou.myqcloud.com", f"{BUCKET}.cos.accelerate.myqcloud.com"}
# Secrets and tokens by id.
KEYS = {"id": ("secret", None), "session-id": ("session-secret", "session-token")}
# The key of the tags that are mutexes.
LOCK = "tencentcloud-terraform-lock"


def code(key, text, algorithm):
    return hmac.new(key if isinstance(key, bytes) else key.encode(), text.encode(), algorithm)


class Cos(Handler):
    def work(self, host, path):
        if host in ("tag.tencentcloudapi.com", "sts.tencentcloudapi.com"):
            return self.interface(host)
        if host.endswith(".myqcloud.com") and host not in HOSTS:
            raise Refused(404, "NoSuchBucket", "The specified bucket does not exist.")
        if host not in HOSTS:
            raise Refused(400, "InvalidHost", f"{host} is not played here")
        self.check_signature(host, path)
        return self.work_on_object(path[1:], "x-cos-")

    def check_signature(self, host, path):
        fields = dict(part.split("=", 1) for part in self.headers.get("Authorization", "").split("&") if "=" in part)
        secret, token = KEYS.get(fields.get("q-ak"), (None, None))
        if secret is None:
            raise Refused(403, "InvalidAccessKeyId", "The access key id you provided does not exist.")
        if self.headers.get("x-cos-security-token") != token:
            raise Refused(403, "InvalidToken", "The token is another one.")
        def listed(pairs, names):
            found = {quote(name, safe="-_.~").lower(): quote(value, safe="-_.~") for name, value in pairs}
            return "&".join(f"{name}={found.get(name, '?')}" for name in names.split(";") if name)
        headers = listed([*self.headers.items(), ("host", self.headers["Host"])], fields["q-header-list"])
        query = listed(parse_qsl(urlparse(self.path).query, keep_blank_values=True), fields["q-url-param-list"])
        text = f"{self.command.lower()}\n{path}\n{query}\n{headers}\n"
        begin, end = (int(second) for second in fields["q-sign-time"].split(";"))
        key = code(secret, fields["q-key-time"], "sha1").hexdigest()
        text = f"sha1\n{fields['q-sign-time']}\n{hashlib.sha1(text.encode()).hexdigest()}\n"
        own = [name.lower() for name in self.headers if name.lower().startswith("x-cos-")]
        signed = fields["q-header-list"].split(";")
        if code(key, text, "sha1").hexdigest() != fields["q-signature"] or not {"host", *own} <= set(signed):
            raise Refused(403, "SignatureDoesNotMatch", "The signature is another one.")
        if not begin - 60 <= time.time() <= end:
            raise Refused(403, "RequestTimeTooSkewed", "The time is another one.")

    def check_interface_signature(self, host):
        header = self.headers.get("Authorization", "")
        algorithm, _, rest = header.partition(" ")
        fields = dict(part.strip().split("=", 1) for part in rest.split(","))
        key_id, _, scope = fields["Credential"].partition("/")
        secret, token = KEYS.get(key_id, ("", None))
        now = self.headers["X-TC-Timestamp"]
        date = datetime.fromtimestamp(int(now), timezone.utc).strftime("%Y-%m-%d")
        service = host.split(".")[0]
        lines = "".join(f"{name}:{self.headers[name].lower()}\n" for name in fields["SignedHeaders"].split(";"))
        request = f"POST\n/\n\n{lines}\n{fields['SignedHeaders']}\n{hashlib.sha256(self.body).hexdigest()}"
        text = f"{algorithm}\n{now}\n{scope}\n{hashlib.sha256(request.encode()).hexdigest()}"
        key = code("TC3" + secret, date, "sha256").digest()
        key = code(code(key, service, "sha256").digest(), "tc3_request", "sha256").digest()
        right = code(key, text, "sha256").hexdigest() == fields["Signature"]
        return right and scope == f"{date}/{service}/tc3_request" and self.headers.get("X-TC-Token") == token

    def interface(self, host):
        def answer(**content):
            return self.answer_json({"Response": {**content, "RequestId": "request"}})
        def refuse(code, message):
            return answer(Error={"Code": code, "Message": message})
        if not self.check_interface_signature(host):
            return refuse("AuthFailure.SignatureFailure", "The provided credentials could not be validated.")
        action, content, tags = self.headers["X-TC-Action"], json.loads(self.body), self.server.tags
        if self.headers["X-TC-Version"] != "2018-08-13" or self.headers["X-TC-Region"] != "ap-guangzhou":
            return refuse("InvalidParameter", "The version or the region is another one.")
        if action == "AssumeRole":
            if content["RoleArn"] != "arn:role" or content["DurationSeconds"] > 7200:
                return refuse("ResourceNotFound.RoleNotFound", "The role does not exist.")
            keys = {"TmpSecretId": "session-id", "TmpSecretKey": "session-secret", "Token": "session-token"}
            return answer(Credentials=keys, ExpiredTime=int(time.time()) + content["DurationSeconds"])
        tag = (content["TagKey"], content["TagValue"])
        if action == "DescribeTags":
            found = [{"TagKey": tag[0], "TagValue": tag[1], "CanDelete": 1}] if tag in tags else []
            return answer(TotalCount=len(found), Offset=0, Limit=15, Tags=found)
        if action == "CreateTag":
            if tag in tags:
                return refuse("ResourceInUse.TagDuplicate", "The tag exists already.")
            tags.add(tag)
            return answer()
        if action == "DeleteTag":
            if tag not in tags:
                return refuse("ResourceNotFound.TagNonExist", "The tag does not exist.")
            tags.discard(tag)
            return answer()
        return refuse("InvalidAction", "There is no such action.")

    def control_more(self, word):
        if word == "tags":
            return self.answer_json(sorted(self.server.tags))
        if word == "tag":
            self.server.tags.add((LOCK, self.query["value"]))
            return self.answer(200)
        return self.answer(404)


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("--ca", required=True, help="where to write the certificate of the authority")
    a.add_argument("--port-file", help="where to write the port")
    serve(Cos, a.parse_args(), tags=set())


if __name__ == "__main__":
    main()
