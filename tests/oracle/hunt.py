# SPDX-License-Identifier: Apache-2.0
"""The secret hunt: plant secrets, do something, search everything that may not hold them.

    with Hunt(host, secrets, folder) as hunt:
        hunt.hear("deploy -vvv", play.text)
        assert hunt.search() == []

From the first line of the block on, the command lines of all processes are sampled, on the host and here. `search`
looks into every file of the host that was changed meanwhile, its journal, what Docker and systemd say, what was heard,
and the folder in which Ansible keeps its caches, logs and temporary files; in every spelling in which programs write a
value. `controls.py` plants a secret of its own in each class of places, to prove that the hunt finds it there.
"""

from __future__ import annotations

import base64
import json
import secrets as randomness
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, quote_plus

GUEST = Path(__file__).with_name("guest")
OWN = "/run/lab-hunt"
LONGEST = 900  # seconds that a hunt may last
# The one place for secrets: read by its container's user alone. While that container runs, newer ones lie beside them.
ALLOWED = (r"/etc/gpuhosts-vllm/[a-z0-9-]+/secrets", r"/etc/gpuhosts-vllm/[a-z0-9-]+/secrets\.before")
# What programs escape: quotes, dollar, backslash, percent, space, a letter outside of ASCII.
ODD = "q'uo\"te $HOME ${x} back\\slash %s 100% `id` {brace} sp ace ä€ #;&|<>*?!"
ODD_IN_HEADER = "k'e\"y$HOME${x}\\n%s%20`id`&;|#=+/"


def marked(text: str = "") -> str:
    """Give a secret that nothing else can have, with these characters in it."""
    return f"mk{randomness.token_hex(8)}{text}{randomness.token_hex(4)}km"


def forms(value: str) -> set[str]:
    """Every spelling of a value that would give it away."""
    raw = value.encode()
    go = json.dumps(value, ensure_ascii=False)[1:-1]
    for sign in "<>&":
        go = go.replace(sign, f"\\u{ord(sign):04x}")
    return {
        value,
        base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="),
        quote(value, safe=""),
        quote(value),
        quote_plus(value),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        go,
        repr(value)[1:-1],
        shlex.quote(value),
        value.replace("'", "''"),
        value.replace("%", "%%"),
        value.replace("$", "$$"),
        value.replace("\\", "\\\\"),
    }


@dataclass(frozen=True)
class Trace:
    """A secret where none may be."""

    place: str
    where: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        """Say it without the value."""
        return f"{self.place}: {self.where}: {', '.join(self.names)}"


class Hunt:
    """One hunt on one host of the lab, and on this machine as its controller."""

    def __init__(self, container: str, secrets: Mapping[str, str], folder: Path) -> None:
        """Take the host as the container that it is, the secrets by name, and a folder for Ansible's own files."""
        self.container = container
        self.folder = folder
        self._forms = {name: sorted(forms(value)) for name, value in secrets.items()}
        self._heard: list[tuple[str, str]] = []
        self._since = 0
        self._sampler: subprocess.Popen[bytes] | None = None
        self.files_searched = 0

    def __enter__(self) -> Hunt:
        """Begin to sample."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._since = int(time.time())
        program = (GUEST / "sample.py").read_text(encoding="utf-8")
        self._do(["sh", "-c", f"rm -rf {OWN}; mkdir -m 700 {OWN}; cat >{OWN}/sample.py"], program)
        sampler = ["python3", f"{OWN}/sample.py", f"{OWN}/argv", str(LONGEST)]
        self._do(["systemd-run", "--quiet", "--collect", "--unit=lab-hunt", *sampler])
        self._do(["sh", "-c", f"for _ in $(seq 100); do [ -s {OWN}/argv ] && exit 0; sleep 0.05; done; exit 1"])
        self._sampler = subprocess.Popen(
            [sys.executable, str(GUEST / "sample.py"), str(self._own / "argv"), str(LONGEST)], stdin=subprocess.DEVNULL
        )
        return self

    def __exit__(self, *_: object) -> None:
        """End all of it."""
        if self._sampler is not None:
            self._sampler.kill()
            self._sampler.wait()
        self._do(["sh", "-c", f"systemctl stop lab-hunt; rm -rf {OWN}"])

    @property
    def _own(self) -> Path:
        own = self.folder.with_name(f"{self.folder.name}-hunt")
        own.mkdir(exist_ok=True)
        return own

    def environment(self) -> dict[str, str]:
        """The environment that lets Ansible keep everything it can keep, in our folder."""
        for name in ("facts", "retry", "home", "tmp"):
            (self.folder / name).mkdir(exist_ok=True)
        return {
            "ANSIBLE_CACHE_PLUGIN": "ansible.builtin.jsonfile",
            "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(self.folder / "facts"),
            "ANSIBLE_RETRY_FILES_ENABLED": "1",
            "ANSIBLE_RETRY_FILES_SAVE_PATH": str(self.folder / "retry"),
            "ANSIBLE_LOG_PATH": str(self.folder / "ansible.log"),
            "ANSIBLE_HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
        }

    def hear(self, who: str, text: str) -> None:
        """Take what a command printed."""
        self._heard.append((who, text))

    def search(self) -> list[Trace]:
        """Search everything; the places where a secret is and may not be."""
        return sorted({*self._on_host(), *self._here()}, key=str)

    def _on_host(self) -> Iterator[Trace]:
        coded = {
            name: [base64.b64encode(form.encode()).decode() for form in each] for name, each in self._forms.items()
        }
        asked = json.dumps({"secrets": coded, "since": self._since, "allowed": ALLOWED})
        program = (GUEST / "search.py").read_text(encoding="utf-8")
        self._do(["sh", "-c", f"cat >{OWN}/search.py"], program)
        answer = json.loads(self._do(["python3", f"{OWN}/search.py"], asked))
        self.files_searched = answer["files"]
        for place, where, names in answer["found"]:
            yield Trace(place, where, tuple(names))

    def _here(self) -> Iterator[Trace]:
        sampled = (self._own / "argv").read_bytes()
        yield from self._judge("controller argv", "sampled command lines", sampled)
        for who, text in self._heard:
            yield from self._judge("output", who, text.encode())
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                yield from self._judge("controller files", str(path.relative_to(self.folder)), path.read_bytes())

    def _judge(self, place: str, where: str, data: bytes) -> Iterator[Trace]:
        names = tuple(name for name, each in self._forms.items() if any(form.encode() in data for form in each))
        if names:
            yield Trace(place, where, names)

    def _do(self, argv: list[str], text: str = "") -> str:
        """Run a command on the host; what it reads is no argument, so that it shows nowhere."""
        words = ["docker", "exec", "-i", self.container, *argv]
        done = subprocess.run(words, input=text, capture_output=True, encoding="utf-8", timeout=400, check=False)
        assert done.returncode == 0, f"{' '.join(argv)[:80]}: {done.stderr[-2000:]}"
        return done.stdout
