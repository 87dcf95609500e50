"""Redis servers with TLS and users, and with replicas and Sentinels, for a stage."""
import re
import shutil
import subprocess

from stage import ROOT, Broken, Redis, answers, free_port, wait_until

# Files of certificates, made by openssl.
DAYS = "2"


def permissions(newest):
    """The rules for the user of a store, from the line in `docs/operate.md`. A server before 7.2 does not know
    `waitaof`."""
    text = (ROOT / "docs/operate.md").read_text()
    found = re.search(r"^ACL SETUSER weft (?:reset )?on >PASSWORD (.*?)\n```", text, re.M | re.S)
    if not found:
        raise Broken("docs/operate.md has no line ACL SETUSER weft")
    rules = found[1].replace("\\\n", " ").split()
    return " ".join(rule for rule in rules if newest or rule != "+waitaof")


def knows_waitaof():
    text = subprocess.run(["redis-server", "--version"], capture_output=True, text=True).stdout
    major, minor = re.search(r"v=(\d+)\.(\d+)", text).groups()
    return (int(major), int(minor)) >= (7, 2)


class Authority:
    """An authority in a folder, and certificates that it issues."""

    def __init__(self, folder, name="ca"):
        self.folder, self.name = folder, name
        folder.mkdir(parents=True, exist_ok=True)
        self.openssl("req", "-x509", *self.new(name), "-subj", f"/CN={name}", "-days", DAYS, "-out", f"{name}.crt")

    @staticmethod
    def there():
        return shutil.which("openssl") is not None

    @staticmethod
    def new(name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", f"{name}.key"]

    def openssl(self, *arguments):
        done = subprocess.run(["openssl", *arguments], cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise Broken(f"openssl {' '.join(arguments)}: {done.stderr}")

    def issue(self, name, names="DNS:localhost,IP:127.0.0.1", days=DAYS):
        """Makes NAME.crt and NAME.key."""
        self.openssl("req", *self.new(name), "-subj", f"/CN={name}", "-out", f"{name}.csr")
        (self.folder / f"{name}.ext").write_text(f"subjectAltName={names}\n")
        self.openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{self.name}.crt", "-CAkey", f"{self.name}.key",
                     "-CAcreateserial", "-days", days, "-extfile", f"{name}.ext", "-out", f"{name}.crt")


class TlsAccess:
    """Certificates and users for servers that speak TLS only. The user `weft` has the rights of `docs/operate.md`. The
    environment of the stage gets the variables for logging in."""

    PASSWORD = "pass-w0rd"

    def __init__(self, stage, name="redis-tls"):
        self.folder = stage.path / name
        self.authority = Authority(self.folder)
        self.authority.issue("server")
        users = self.folder / "users.acl"
        users.write_text("user default off resetpass ~* &* +@all\n"
                         f"user weft on >{self.PASSWORD} {permissions(knows_waitaof())}\n"
                         f"user mouse on >{self.PASSWORD} {permissions(knows_waitaof())} -hset\n"
                         f"user root on >{self.PASSWORD} ~* &* +@all\n")
        password = self.folder / "password"
        password.write_text(self.PASSWORD + "\n")
        self.tls = {"tls-cert-file": self.folder / "server.crt", "tls-key-file": self.folder / "server.key",
                    "tls-ca-cert-file": self.folder / "ca.crt", "tls-auth-clients": "no"}
        self.settings = dict(self.tls, aclfile=users)
        stage.env["WEFT_REDIS_CA_FILE"] = str(self.folder / "ca.crt")
        stage.env["WEFT_REDIS_PASSWORD_FILE"] = str(password)


class RedisTls(Redis):
    """A server that speaks TLS only."""

    def __init__(self, stage, settings=None, name="redis-tls", access=None):
        self.access = access or TlsAccess(stage, name)
        self.authority = self.access.authority
        super().__init__(stage, dict(self.access.settings, **(settings or {})), name)

    def arguments(self):
        return ["--port", "0", "--tls-port", str(self.port)]

    def url(self, state="chaos"):
        return f"rediss://weft@localhost:{self.port}/0?state={state}"

    def cli(self):
        """The command for `redis-cli` as `root`. It must also work while the server has a wrong certificate."""
        return f"redis-cli -p {self.port} --tls --insecure --user root --pass {TlsAccess.PASSWORD} --no-auth-warning"


class RedisSentinels:
    """A master, a replica, and three Sentinels that replace the master after a second of silence."""

    # The scheme of addresses, with the user.
    SCHEME = "redis+sentinel://"

    def __init__(self, stage):
        self.stage = stage
        self.master = self.server("redis-master")
        self.replica = self.server("redis-replica", {"replicaof": f"127.0.0.1 {self.master.port}"})
        self.ports = [free_port() for _ in range(3)]
        for number, port in enumerate(self.ports):
            config = stage.path / f"sentinel-{number}.conf"
            lines = [*self.listening(port), "bind 127.0.0.1", f"dir {stage.path}",
                     f"sentinel monitor main 127.0.0.1 {self.master.port} 2", *self.logging_in(),
                     "sentinel down-after-milliseconds main 1000", "sentinel failover-timeout main 4000"]
            config.write_text("".join(f"{line}\n" for line in lines))
            stage.start(f"sentinel-{number}", "redis-server", config, "--sentinel")
        for port in self.ports:
            wait_until("the start of a Sentinel", lambda port=port: answers(port))
        wait_until("the agreement of the Sentinels", self.agree, seconds=60, pause=0.2)

    def server(self, name, settings=None):
        return Redis(self.stage, settings, name)

    def listening(self, port):
        """The settings of a Sentinel about its port."""
        return [f"port {port}"]

    def logging_in(self):
        """The settings with which Sentinels log in."""
        return []

    def asking(self):
        """The options of `redis-cli` for a Sentinel."""
        return []

    def ask(self, port, *words):
        return subprocess.run(["redis-cli", "-p", str(port), *self.asking(), *words], capture_output=True, text=True).stdout

    def agree(self):
        """Whether each Sentinel knows the others and the replica."""
        return all(self.ask(port, "SENTINEL", "CKQUORUM", "main").startswith("OK 3")
                   and f":{self.replica.port}" in self.ask(port, "SENTINEL", "REPLICAS", "main").replace("\n", " ")
                   for port in self.ports)

    def url(self, state="chaos"):
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        return f"{self.SCHEME}{hosts}/main/0?state={state}"


class SecureSentinels(RedisSentinels):
    """The same with TLS everywhere. The servers have the users of `TlsAccess`, and the Sentinels a password of their
    own."""

    SCHEME = "rediss+sentinel://weft@"
    PASSWORD = "s3ntinel"

    def __init__(self, stage):
        self.access = TlsAccess(stage)
        password = self.access.folder / "sentinel-password"
        password.write_text(self.PASSWORD + "\n")
        stage.env["WEFT_REDIS_SENTINEL_PASSWORD_FILE"] = str(password)
        super().__init__(stage)

    def server(self, name, settings=None):
        replication = {"tls-replication": "yes", "masteruser": "root", "masterauth": TlsAccess.PASSWORD}
        return RedisTls(self.stage, dict(replication, **(settings or {})), name, self.access)

    def listening(self, port):
        tls = [f"{key} {value}" for key, value in self.access.tls.items()]
        return ["port 0", f"tls-port {port}", "tls-replication yes", f"requirepass {self.PASSWORD}", *tls]

    def logging_in(self):
        return ["sentinel auth-user main root", f"sentinel auth-pass main {TlsAccess.PASSWORD}",
                f"sentinel sentinel-pass {self.PASSWORD}"]

    def asking(self):
        return ["--tls", "--cacert", str(self.access.folder / "ca.crt"), "--pass", self.PASSWORD, "--no-auth-warning"]
