"""A cluster whose coordinator listens on a TCP port, with mutual TLS between all of its processes."""
from stage import Broken, Cluster, answers, free_port, wait_until


class SecureCluster(Cluster):
    """A cluster with certificates of an authority of its own. Commands have the role `apply`."""

    ROLES = {"coordinator": ("-host", "127.0.0.1"), "worker": ("-role", "worker"), "command": ("-role", "apply")}

    def __init__(self, stage, redis, workers, **options):
        self.certificates = stage.path / "certificates"
        self.certificates.mkdir()
        stage.must(0, "certs", "init", "-domain", "weft.test", cwd=self.certificates)
        for name, roles in self.ROLES.items():
            stage.must(0, "certs", "issue", name, *roles, cwd=self.certificates)
        self.port = free_port()
        super().__init__(stage, redis, workers, **options)

    def identity(self, name):
        """The variables with the certificate of a process."""
        folder = self.certificates
        return {"WEFT_TLS_CA": str(folder / "ca.pem"), "WEFT_TLS_CERT": str(folder / f"{name}.pem"),
                "WEFT_TLS_KEY": str(folder / f"{name}-key.pem")}

    def start_coordinator(self):
        self.address = f"127.0.0.1:{self.port}"
        self.coordinator = self.stage.weft("coordinator", "coordinator", "-store", self.store, "-listen", self.address,
                                           env=self.identity("coordinator"))
        wait_until("the start of the coordinator", lambda: answers(self.port) or not self.coordinator.alive())
        if not self.coordinator.alive():
            raise Broken(f"the coordinator did not start:\n{self.coordinator.tail()}")

    def env(self):
        return {**super().env(), **self.identity("command")}
