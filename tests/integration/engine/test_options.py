"""The table of options against the real engine: what `vllm serve --help=all` of the lab's CPU images says itself."""

from __future__ import annotations

import ast
import json

import pytest

from ansible_collections.gpuhosts.vllm.plugins.module_utils.audit.help import read_help, without_space
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config import history
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config._options import OPTIONS
from ansible_collections.gpuhosts.vllm.plugins.module_utils.config.options import option
from ansible_collections.gpuhosts.vllm.plugins.module_utils.versions import parse_version
from tests.integration.conformance import REAL, VERSIONS, Engine
from tests.integration.lab_host import LabHost

HOST = "gpu2"
# What the help prints in its own way: the member of an enumeration, configurations that are maps to the user, and a
# variable's value.
PRINTED = {
    "--log-error-stack": "False",
    "--mamba-backend": "MambaBackendEnum.TRITON",
    "--limit-mm-per-prompt": "{}",
    "--compilation-config": "{'mode': None,",
}
# The list depends on the platform on which the help is printed.
BY_PLATFORM = {"--mm-processor-device"}


@pytest.fixture(scope="module")
def printed():
    """Give what each image prints, on a host that pulls from the lab's registry and is put back afterwards."""
    host = LabHost(HOST)
    host.reset()
    settings = json.loads(host.run("cat /etc/docker/daemon.json"))
    mirror = {**settings, "registry-mirrors": ["http://10.212.0.2:5000"]}
    host.run(f"cat > /etc/docker/daemon.json <<'E'\n{json.dumps(mirror)}\nE\nsystemctl reload docker")
    try:
        images = {version: Engine.fetch(host, REAL, version).image for version in VERSIONS}
        run = "docker run --rm --network none --entrypoint vllm"
        yield {version: read_help(host.run(f"{run} {image} serve --help=all")) for version, image in images.items()}
    finally:
        host.reset()


@pytest.fixture(params=VERSIONS)
def version(request):
    """Give each version."""
    return request.param


@pytest.fixture
def pairs(printed, version):
    """Give each option as the engine prints it, with its history."""
    found = []
    for said in printed[version].options:
        known = history.flag(said.name)
        if known is not None:
            found.append((said, known))
    return found


def test_the_options_are_those_of_the_engine(printed, version):
    said = {name for name in printed[version].names if name.startswith("--")} - {"--help"}
    assert said == set(history.flags(parse_version(version)))
    assert len(said) > 300


def test_each_takes_its_value_and_has_its_names_as_the_engine_says(pairs, version):
    for said, _known in pairs:
        found = option(said.name.removeprefix("--"), parse_version(version))
        assert (found.kind == "flag") == said.negatable, said
        assert (found.kind in {"flag", "switch"}) == (said.metavar is None), said
        assert (found.kind == "list") == said.takes_many, said
        others = set(said.names) - {said.name, f"--no-{said.name[2:]}"}
        assert others == set(names_in(found.name, version)), said


def names_in(name, version):
    """Give the other names that the table has for an option in a release."""
    release = parse_version(version)
    for _kind, since, until, also in OPTIONS[name]:
        if (since is None or parse_version(since) <= release) and (until is None or release < parse_version(until)):
            return also
    return ()


def test_each_has_the_choices_that_the_engine_names(pairs, version):
    compared = 0
    for said, known in pairs:
        choices = allowed(said)
        if choices is not None and said.name not in BY_PLATFORM:
            compared += 1
            assert choices == set(known.choices(parse_version(version)) or ()), said.name
    assert compared > 35


def allowed(said):
    """Give the choices that the parser enforces, or those that it only names: the metavar is a list of them then."""
    if said.choices is not None:
        return set(said.choices) - {"None"}
    return {str(item) for item in ast.literal_eval(said.metavar)} if (said.metavar or "").startswith("['") else None


def test_no_other_option_has_choices_in_the_table_but_those_that_the_parser_leaves_to_the_engine(pairs, version):
    free = {said.name for said, known in pairs if known.choices(parse_version(version)) and allowed(said) is None}
    assert free == {
        "--attention-backend",
        "--load-format",
        "--mamba-backend",
        "--mm-encoder-attn-backend",
        "--optimization-level",
        "--quantization",
    }


def test_each_default_is_the_one_that_the_engine_prints(pairs, version):
    compared = 0
    for said, known in pairs:
        if said.default is not None:  # the options of the HTTP half print none
            compared += 1
            default = known.default(parse_version(version))
            assert without_space(said.default).startswith(without_space(as_printed(said.name, default))), said.name
    assert compared > 240


def as_printed(name, default):
    """Give Python's text of a value; of one that is made by a class, its beginning."""
    if name in PRINTED:
        return PRINTED[name]
    text = str(default.value)
    return text.removesuffix(")") if default.dynamic and text != "set()" else text
