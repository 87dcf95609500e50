"""Clusters whose processes use mutual TLS, with certificates that weft issues."""
from stage import Broken, Cluster, answers, free_port, wait_until


class Certificates:
    """Certificates of an authority of their own. `options` has the options of `weft certs issue` for each name."""

    def __init__(self, stage, folder, options):
        self.folder = folder
        folder.mkdir()
        stage.must(0, "certs", "init", "-domain", "weft.test", cwd=folder)
        for name, words in options.items():
            stage.must(0, "certs", "issue", name, *words, cwd=folder)

    def identity(self, name):
        """The variables with the certificate of a process."""
        return {"WEFT_TLS_CA": str(self.folder / "ca.pem"), "WEFT_TLS_CERT": str(self.folder / f"{name}.pem"),
                "WEFT_TLS_KEY": str(self.folder / f"{name}-key.pem")}


class SecureCluster(Cluster):
    """A cluster whose coordinator listens on a TCP port. Commands have the role `apply`."""

    OPTIONS = {"coordinator": ["-host", "127.0.0.1"], "worker": ["-role", "worker"], "command": ["-role", "apply"]}

    def __init__(self, stage, redis, workers, **options):
        self.certificates = Certificates(stage, stage.path / "certificates", self.OPTIONS)
        self.port = free_port()
        super().__init__(stage, redis, workers, **options)

    def identity(self, name):
        return self.certificates.identity(name)

    def start_coordinator(self):
        self.address = f"127.0.0.1:{self.port}"
        self.coordinator = self.stage.weft("coordinator", "coordinator", "-store", self.store, "-listen", self.address,
                                           env=self.identity("coordinator"))
        wait_until("the start of the coordinator", lambda: answers(self.port) or not self.coordinator.alive())
        if not self.coordinator.alive():
            raise Broken(f"the coordinator did not start:\n{self.coordinator.tail()}")

    def env(self):
        return {**super().env(), **self.identity("command")}
