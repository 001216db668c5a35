# SPDX-License-Identifier: Apache-2.0
"""Where this machine gets Debian from, so that the lab's hosts use the same mirror, proxy and certificates."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

PUBLIC_MIRROR = "http://deb.debian.org/debian"
_URI = re.compile(r"https?://\S+")
_PROXY = re.compile(r'^Acquire::(http|https)::Proxy "([^"]+)";$', re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """A Debian mirror and how to reach it."""

    mirror: str
    proxies: tuple[tuple[str, str], ...] = ()  # (http|https, url)

    @property
    def environment(self) -> dict[str, str]:
        """For programs that do not read apt's configuration."""
        return {f"{scheme}_proxy": url for scheme, url in self.proxies}

    def sources_list(self, suite: str) -> str:
        """An apt sources.list of the suite with its updates."""
        lines = (f"deb {self.mirror} {name} main" for name in (suite, f"{suite}-updates"))
        return "\n".join(lines) + "\n"

    def apt_conf(self) -> str:
        """apt.conf lines for a host of the lab."""
        return "".join(f'Acquire::{scheme}::Proxy "{url}";\n' for scheme, url in self.proxies)


def mirror_in(texts: list[str]) -> str | None:
    """The first mirror of Debian's main archive that apt's source files name; their comments do not count."""
    for text in texts:
        for line in text.splitlines():
            for uri in _URI.findall(line.partition("#")[0]):
                if uri.rstrip("/").endswith("/debian"):
                    return uri.rstrip("/")
    return None


def proxies_in(dump: str) -> tuple[tuple[str, str], ...]:
    """The proxies in the output of `apt-config dump`."""
    return tuple((scheme, url) for scheme, url in _PROXY.findall(dump) if url.upper() != "DIRECT")


def of_this_machine() -> Source:
    """The mirror of this machine when it runs Debian, else the public one; the environment may name another."""
    folder = Path("/etc/apt")
    files = [folder / "sources.list", *sorted(folder.glob("sources.list.d/*"))]
    texts = [path.read_text(encoding="utf-8", errors="replace") for path in files if path.is_file()]
    mirror = os.environ.get("GPUHOSTS_LAB_DEBIAN_MIRROR") or mirror_in(texts) or PUBLIC_MIRROR
    dump = subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=False).stdout
    return Source(mirror, proxies_in(dump))
