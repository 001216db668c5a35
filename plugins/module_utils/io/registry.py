# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Ask image registries over HTTP, with the inventory's CA and proxy. No decisions.

Private to the collection.
"""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from email.message import Message
from urllib.parse import urlsplit

from ..host.refusal import refusal
from ..registry.resolve import Answer, Get
from ..registry.settings import RegistrySettings

_MAX_BYTES = 8 << 20


def getter(settings: RegistrySettings, timeout: float = 20.0) -> Get:
    """Make the function that asks; without a proxy in the settings the environment's one is used."""
    https = urllib.request.HTTPSHandler(context=_context(settings))
    proxies = {"http": settings.proxy, "https": settings.proxy} if settings.proxy else None
    through = urllib.request.build_opener(https, urllib.request.ProxyHandler(proxies))
    direct = urllib.request.build_opener(https, urllib.request.ProxyHandler({}))

    def get(url: str, headers: dict[str, str]) -> Answer:
        opener = direct if _bypassed(urlsplit(url).hostname or "", settings.no_proxy) else through
        return _ask(opener, url, headers, timeout)

    return get


def _context(settings: RegistrySettings) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if settings.ca_cert:
        try:
            # Added: with an own CA, what the system trusts stays trusted.
            context.load_verify_locations(cadata=settings.ca_cert)
        except (ssl.SSLError, ValueError) as error:
            raise refusal(
                "registry_ca",
                "vllm_registry.ca_cert",
                f"this is not the text of a certificate ({error})",
                "give the PEM text itself, with a lookup of the file for instance",
            ) from error
    return context


def _bypassed(host: str, no_proxy: tuple[str, ...]) -> bool:
    return any(host == each.lstrip(".") or host.endswith("." + each.lstrip(".")) for each in no_proxy)


def _ask(opener: urllib.request.OpenerDirector, url: str, headers: dict[str, str], timeout: float) -> Answer:
    request = urllib.request.Request(url)
    for name, value in headers.items():
        # Unredirected: a login is for the server that was asked, not for where it sends us.
        request.add_unredirected_header(name, value)
    try:
        with opener.open(request, timeout=timeout) as reply:
            return Answer(reply.status, _lower(reply.headers), reply.read(_MAX_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, _lower(error.headers), error.read(_MAX_BYTES))
    except (OSError, ValueError, http.client.HTTPException) as error:
        return Answer(0, {}, b"", _why(getattr(error, "reason", error)))


def _why(error: object) -> str:
    """The system's words without its number."""
    return str(getattr(error, "strerror", None) or error) or type(error).__name__


def _lower(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
