# SPDX-License-Identifier: Apache-2.0
"""The private registry's certificate authority and certificate, made with openssl and kept in the state folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import names, state
from .shell import run
from .steps import step

if TYPE_CHECKING:
    from pathlib import Path

DAYS = "3650"


def folder() -> Path:
    return state.folder("pki")


def ca_file() -> Path:
    """What a client has to trust."""
    return folder() / "ca.crt"


def ensure() -> None:
    """CA and server certificate, made once."""
    if (folder() / "server.crt").exists():
        return
    with step("make the private registry's certificates"):
        _make(folder())


def _make(where: Path) -> None:
    key_words = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    ca = [
        *("openssl", "req", "-x509", *key_words, "-days", DAYS, "-subj", "/CN=gpuhosts lab CA"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        *("-keyout", str(where / "ca.key"), "-out", str(ca_file())),
    ]
    run(ca, what="making the lab's CA")
    request = [
        *("openssl", "req", *key_words, "-subj", "/CN=private", "-keyout", str(where / "server.key")),
        *("-out", str(where / "server.csr")),
    ]
    run(request, what="asking for the private registry's certificate")
    extensions = (
        "extendedKeyUsage=serverAuth",
        "keyUsage=critical,digitalSignature",
        f"subjectAltName=IP:{names.PRIVATE.address},IP:127.0.0.1,DNS:private,DNS:{names.PRIVATE.container}",
    )
    (where / "server.ext").write_text("\n".join(extensions) + "\n", encoding="ascii")
    sign = [
        *("openssl", "x509", "-req", "-in", str(where / "server.csr"), "-CA", str(ca_file())),
        *("-CAkey", str(where / "ca.key"), "-CAcreateserial", "-days", DAYS),
        *("-extfile", str(where / "server.ext"), "-out", str(where / "server.crt")),
    ]
    run(sign, what="signing the private registry's certificate")
