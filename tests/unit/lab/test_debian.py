# SPDX-License-Identifier: Apache-2.0
"""Where the lab's hosts get Debian from."""

from __future__ import annotations

from tests.lab.debian import Source, mirror_in, proxies_in

DEB822 = """\
Types: deb
# http://archive.example/old/debian
URIs: https://mirror.example/debian/
Suites: trixie trixie-updates
"""


def test_the_mirror_of_a_deb822_file_is_found_and_comments_are_not() -> None:
    assert mirror_in([DEB822]) == "https://mirror.example/debian"


def test_the_mirror_of_a_one_line_file_is_found_among_others() -> None:
    other = "deb https://packages.example/apt stable main\n"
    text = "deb [signed-by=/k.gpg] http://mirror.example/debian bookworm main\n"
    assert mirror_in([other, text]) == "http://mirror.example/debian"


def test_security_archives_are_no_mirror_of_debian() -> None:
    assert mirror_in(["deb http://mirror.example/debian-security bookworm-security main\n"]) is None
    assert mirror_in(["deb http://archive.ubuntu.com/ubuntu noble main\n"]) is None


def test_proxies_of_apt_are_read_and_direct_is_none() -> None:
    dump = 'Acquire "";\nAcquire::http::Proxy "http://proxy.example:3128";\nAcquire::https::Proxy "DIRECT";\n'
    assert proxies_in(dump) == (("http", "http://proxy.example:3128"),)


def test_a_source_speaks_for_apt_and_for_other_programs() -> None:
    source = Source("http://mirror.example/debian", (("http", "http://proxy.example:3128"),))
    assert source.sources_list("trixie").splitlines() == [
        "deb http://mirror.example/debian trixie main",
        "deb http://mirror.example/debian trixie-updates main",
    ]
    assert source.environment == {"http_proxy": "http://proxy.example:3128"}
    assert source.apt_conf() == 'Acquire::http::Proxy "http://proxy.example:3128";\n'
