"""Reads the objects in the simulated AWS through its HTTP interfaces, as the provider does, but without a library."""
import json
import re
import urllib.error
import urllib.parse
import urllib.request

VERSIONS = {"ec2": "2016-11-15", "iam": "2010-05-08", "sns": "2010-03-31"}
# The errors of a look-up for an object that does not exist.
ABSENT = (400, 404)


class Aws:
    """A running moto_server."""

    def __init__(self, url):
        self.url = url

    def request(self, service, region, path="/", body=None, headers=None, method=None):
        """The text of the reply, or None if the object does not exist."""
        scope = f"Credential=pretended/20260101/{region}/{service}/aws4_request"
        sent = {"Authorization": f"AWS4-HMAC-SHA256 {scope}, SignedHeaders=host, Signature=0", **(headers or {})}
        request = urllib.request.Request(self.url + path, data=body, headers=sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                return reply.read().decode()
        except urllib.error.HTTPError as error:
            if error.code in ABSENT:
                return None
            raise

    def query(self, service, region, action, **arguments):
        form = {"Action": action, "Version": VERSIONS[service], **arguments}
        return self.request(service, region, body=urllib.parse.urlencode(form).encode()) or ""

    def call(self, service, region, target, **arguments):
        headers = {"X-Amz-Target": target, "Content-Type": "application/x-amz-json-1.0"}
        return self.request(service, region, body=json.dumps(arguments).encode(), headers=headers) or ""

    def ec2(self, region, action, tag, name, value):
        """The ids in elements TAG that match a filter."""
        text = self.query("ec2", region, action, **{"Filter.1.Name": name, "Filter.1.Value.1": value})
        return re.findall(f"<{tag}>([^<]+)</{tag}>", text)

    def find(self, kind, region, after):
        """The import ids of all objects that a resource of `kind` with the planned values `after` may have created."""
        name = after.get("name")
        match kind:
            case "aws_vpc":
                return self.ec2(region, "DescribeVpcs", "vpcId", "tag:Name", f"net-{region}")
            case "aws_subnet":
                return self.ec2(region, "DescribeSubnets", "subnetId", "cidr-block", after["cidr_block"])
            case "aws_security_group":
                text = self.query("ec2", region, "DescribeSecurityGroups", **{
                    "Filter.1.Name": "group-name", "Filter.1.Value.1": name})
                return re.findall(r":security-group/([^<]+)<", text)
            case "aws_vpc_security_group_ingress_rule":
                text = self.query("ec2", region, "DescribeSecurityGroupRules")
                return [rule for rule, rest in re.findall(r"<securityGroupRuleId>([^<]+)<(.*?)</item>", text, re.S)
                        if "<fromPort>5432<" in rest and "<isEgress>false<" in rest]
            case "aws_network_interface":
                return sorted(set(re.findall(r"<networkInterfaceId>([^<]+)<",
                                             self.query("ec2", region, "DescribeNetworkInterfaces"))))
            case "aws_s3_bucket":
                found = self.request("s3", region, f"/{after['bucket']}", method="HEAD")
                return [] if found is None else [after["bucket"]]
            case "aws_s3_bucket_versioning":
                text = self.request("s3", region, f"/files-{region}?versioning") or ""
                return [f"files-{region}"] if "Enabled" in text else []
            case "aws_s3_object":
                found = self.request("s3", region, f"/files-{region}/{after['key']}", method="HEAD")
                return [] if found is None else [f"files-{region}/{after['key']}"]
            case "aws_iam_role":
                return [name] if f"<RoleName>{name}<" in self.query("iam", region, "GetRole", RoleName=name) else []
            case "aws_iam_role_policy":
                role = f"worker-{region}"
                text = self.query("iam", region, "GetRolePolicy", RoleName=role, PolicyName=name)
                return [f"{role}:{name}"] if "<PolicyName>" in text else []
            case "aws_dynamodb_table":
                text = self.call("dynamodb", region, "DynamoDB_20120810.DescribeTable", TableName=name)
                return [name] if '"TableStatus"' in text else []
            case "aws_ssm_parameter":
                return [name] if '"Value"' in self.call("ssm", region, "AmazonSSM.GetParameter", Name=name) else []
            case "aws_cloudwatch_log_group":
                text = self.call("logs", region, "Logs_20140328.DescribeLogGroups", logGroupNamePrefix=name)
                return [name] if '"arn"' in text else []
            case "aws_sns_topic":
                arns = re.findall(r"<TopicArn>([^<]+)<", self.query("sns", region, "ListTopics"))
                return [arn for arn in arns if f":{after['name_prefix']}" in arn]
            case "aws_route53_zone":
                text = self.request("route53", region, "/2013-04-01/hostedzone") or ""
                return re.findall(r"<Id>/hostedzone/([^<]+)</Id>\s*<Name>weft\.test\.<", text)
            case "aws_route53_record":
                return [f"{zone}_{name}.weft.test_{after['type']}"
                        for zone in self.find("aws_route53_zone", region, {})
                        if f"<Name>{name}.weft.test.<" in
                        (self.request("route53", region, f"/2013-04-01/hostedzone/{zone}/rrset") or "")]
        raise ValueError(f"there is no rule to find {kind}")
