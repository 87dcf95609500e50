"""An SSH server on a stage, in which the user of this process may log in with keys, certificates and an agent."""
import getpass
import os
import shutil
import subprocess
from pathlib import Path

from stage import Broken, answers, free_port, wait_until


class Sshd:
    """A server of OpenSSH with its own keys. `folder` has the files of its users:

    user, user_rsa, user_ecdsa  private keys that it accepts, with `.pub` beside them
    signed, signed-cert.pub     a key that it accepts only with this certificate
    stranger                    a key that it does not accept
    host.pub, other.pub         its own public key, and another public key
    """

    def __init__(self, stage, name="sshd", port=0):
        self.port, self.folder = port or free_port(), stage.path / "ssh"
        if not self.folder.exists():
            self.make_keys()
        if os.getuid() == 0:
            # sshd insists on this empty folder.
            Path("/run/sshd").mkdir(exist_ok=True)
        config = self.folder / "sshd_config"
        config.write_text("\n".join([
            f"Port {self.port}", "ListenAddress 127.0.0.1", f"HostKey {self.folder}/host", "PidFile none", "UsePAM no",
            f"AuthorizedKeysFile {self.folder}/authorized_keys", f"TrustedUserCAKeys {self.folder}/authority.pub",
            "StrictModes no", "PermitRootLogin yes", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
            "AllowTcpForwarding yes", "MaxStartups 100", "LogLevel VERBOSE", ""]))
        self.process = stage.start(name, self.program(), "-D", "-e", "-f", config)
        wait_until("the start of sshd", lambda: answers(self.port) or not self.process.alive())
        if not self.process.alive():
            raise Broken(f"sshd did not start:\n{self.process.tail()}")

    def make_keys(self):
        self.folder.mkdir()
        kinds = {"user_rsa": ["rsa", "-b", "2048"], "user_ecdsa": ["ecdsa"]}
        for name in ("host", "other", "authority", "user", "user_rsa", "user_ecdsa", "signed", "stranger"):
            self.keygen("-q", "-N", "", "-C", name, "-f", self.folder / name, "-t", *kinds.get(name, ["ed25519"]))
        self.keygen("-q", "-s", self.folder / "authority", "-I", "signed", "-n", getpass.getuser(),
                    self.folder / "signed.pub")
        accepted = ("user", "user_rsa", "user_ecdsa")
        (self.folder / "authorized_keys").write_text("".join((self.folder / f"{n}.pub").read_text() for n in accepted))

    @staticmethod
    def keygen(*arguments):
        subprocess.run(["ssh-keygen", *map(str, arguments)], check=True, capture_output=True)

    @staticmethod
    def program():
        """The path of sshd, which must be started with its full name."""
        return shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")

    @staticmethod
    def there():
        return Sshd.program() is not None and shutil.which("ssh-keygen") is not None
