# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""What is read from a source distribution, and how it comes into the facts: on a small archive with every shape."""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

TOOLS = Path(__file__).parents[3] / "tools"
sys.path.insert(0, str(TOOLS))
import derive_facts
from derived.archive import Archive
from derived.merge import Merge, at, release_key, text_of
from derived.options import deprecated

SOURCES = {
    "envs.py": """
if TYPE_CHECKING:
    VLLM_PORT: int | None = None
    VLLM_SIZE: int = 16 * 1024
    VLLM_ROOT: str = os.path.expanduser("~")
environment_variables: dict[str, Callable[[], Any]] = {
    "VLLM_PORT": lambda: 1,
    "VLLM_SIZE": lambda: 2,
    "VLLM_ROOT": lambda: 3,
    "VLLM_LATE": lambda: 4,
}
""",
    "config/model.py": """
LIMIT = 7
Dtype = Literal["auto", "half"]
class Backend(Enum):
    FLASH = "vllm.attention.Flash"
class Format(str, Enum):
    HF = "hf"
    AUTO = "auto"
@config
class ModelConfig:
    dtype: Dtype | None = "auto"
    eager: bool = False
    "Deprecated: will be removed in v9."
    limit: int = LIMIT
    names: list[str] = field(default_factory=lambda: ["*"])
    extra: dict[str, Any] = Field(default_factory=dict)
    must: str = Field(...)
    backend: Backend | None = None
    style: Format = Format.AUTO.value
    other: Literal["x", "gone"] = "x"
""",
    "engine/arg_utils.py": """
class EngineArgs:
    top: int = 5
    def add_cli_args(parser):
        model_kwargs = get_kwargs(ModelConfig)
        model_kwargs["other"]["choices"].remove("gone")
        style_kwargs = model_kwargs["style"]
        group.add_argument("--dtype", **model_kwargs["dtype"])
        group.add_argument("--eager", "-e", **model_kwargs["eager"])
        group.add_argument("--limit", **{**model_kwargs["limit"], "default": None})
        group.add_argument("--plain-limit", **model_kwargs["limit"])
        group.add_argument("--names", **model_kwargs["names"])
        group.add_argument("--extra", **model_kwargs["extra"])
        group.add_argument("--must", **model_kwargs["must"])
        group.add_argument("--backend", **model_kwargs["backend"])
        group.add_argument("--style", **style_kwargs)
        group.add_argument("--other", **model_kwargs["other"])
        group.add_argument("--top", type=int, default=EngineArgs.top)
        group.add_argument("--switch", action="store_true")
        group.add_argument("--level", choices=get_args(Dtype), default=argparse.SUPPRESS)
        group.add_argument("--method", choices=["a", *["b", "c"], None])
""",
    "v1/metrics.py": """
RATE = "vllm:rate"
class Names:
    SPEED = "vllm:speed"
class Prom:
    def __init__(self):
        self._gauge_cls(name="vllm:running", documentation="vllm:not_this one")
        prometheus_client.Counter("vllm:tokens", "all of them")
        self._counter_cls(name="vllm:errors_total", documentation="")
        Histogram(name=RATE, documentation="")
    def loop(self):
        for name in ["vllm:drafts", "vllm:accepted"]:
            self._counter_cls(name=name, documentation="")
DEFINITIONS = {Names.SPEED: OffloadingGaugeMetadata(documentation="")}
logger.info("vllm:nothing")
""",
}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "vllm-0.2.0.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in SOURCES.items():
            member = tarfile.TarInfo(f"vllm-0.2.0/vllm/{name}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return path


def test_options_have_their_defaults_and_choices(archive: Path) -> None:
    found = derive_facts.derive(archive)["options"]
    assert {name: option["default"] for name, option in found.items()} == {
        "dtype": "auto",
        "eager": False,
        "limit": None,
        "plain-limit": 7,
        "names": ["*"],
        "extra": {},
        "must": None,
        "backend": None,
        "style": "auto",
        "other": "x",
        "top": 5,
        "switch": False,
        "level": {"code": "argparse.SUPPRESS"},
        "method": None,
    }
    assert {name: option["choices"] for name, option in found.items() if option["choices"]} == {
        "dtype": ["auto", "half"],
        "backend": ["FLASH"],
        "style": ["hf", "auto"],
        "other": ["x"],
        "level": ["auto", "half"],
        "method": ["a", "b", "c"],
    }
    assert (found["eager"]["kind"], found["eager"]["also"]) == ("flag", ["-e"])


def test_variables_and_metrics(archive: Path) -> None:
    found = derive_facts.derive(archive)
    assert {name: variable["default"] for name, variable in found["variables"].items()} == {
        "VLLM_PORT": None,
        "VLLM_SIZE": 16384,
        "VLLM_ROOT": {"code": "os.path.expanduser('~')"},
        "VLLM_LATE": {"code": "computed"},
    }
    assert {name: metric["type"] for name, metric in found["metrics"].items()} == {
        "vllm:running": "gauge",
        "vllm:tokens_total": "counter",
        "vllm:errors_total": "counter",
        "vllm:rate": "histogram",
        "vllm:speed": "gauge",
        "vllm:drafts_total": "counter",
        "vllm:accepted_total": "counter",
    }


def test_an_option_whose_text_says_so_is_deprecated(archive: Path) -> None:
    said = deprecated(Archive(archive))
    assert said == {"eager"}
    table = old_facts()
    assert derive_facts.unmarked(said, table, "0.2.0") == {"eager"}
    table["options"]["options"]["eager"]["deprecated"] = {"since": "0.2.0"}
    assert derive_facts.unmarked(said, table, "0.2.0") == set()
    assert derive_facts.unmarked(said, table, "0.1.0") == {"eager"}


def old_facts() -> dict[str, object]:
    return yaml.safe_load("""
options:
  releases: [0.1.0]
  options:
    dtype:
      {source: x, rows: [{kind: value}], defaults: {0.1.0: auto}, choices: {0.1.0: {all: [auto, float]}}, note: kept}
    eager: {source: x, rows: [{kind: switch}], defaults: {0.1.0: false}}
    gone: {source: x, rows: [{kind: value}], defaults: {0.1.0: null}}
    top: {source: x, rows: [{kind: value}], defaults: {0.1.0: 4}}
variables: {variables: {VLLM_OLD: {source: envs.py, rows: [{}], defaults: {0.1.0: 1}}}}
metrics: {metrics: {"vllm:running": {type: gauge, source: x, rows: [{}]}}}
""")


def test_a_release_comes_into_the_facts(archive: Path, tmp_path: Path) -> None:
    found, table = derive_facts.derive(archive), old_facts()
    merge = Merge(table, "0.2.0")
    for kind in derive_facts.KINDS:
        merge.add(kind, found[kind])
    options = table["options"]["options"]
    assert options["gone"]["rows"] == [{"kind": "value", "until": "0.2.0"}]
    assert options["eager"]["rows"] == [
        {"kind": "switch", "until": "0.2.0"},
        {"kind": "flag", "also": ["-e"], "negatable": True, "since": "0.2.0"},
    ]
    assert options["dtype"]["choices"]["0.2.0"] == {"add": ["half"], "remove": ["float"]}
    assert (options["dtype"]["rows"], options["dtype"]["note"]) == ([{"kind": "value"}], "kept")
    assert options["top"]["defaults"] == {"0.1.0": 4, "0.2.0": 5}
    assert options["switch"]["rows"] == [{"kind": "switch", "since": "0.2.0"}]
    assert table["variables"]["variables"]["VLLM_OLD"]["rows"] == [{"until": "0.2.0"}]
    assert list(derive_facts.differences(found, table, "0.2.0")) == []
    file = tmp_path / "options.yml"
    file.write_text("---\n# what it means\nold: true\n", encoding="utf-8")
    merge.write("options", file)
    assert file.read_text(encoding="utf-8").startswith("---\n# what it means\nreleases:")
    assert yaml.safe_load(file.read_text(encoding="utf-8")) == table["options"]


def test_differences_are_named(archive: Path) -> None:
    table = old_facts()
    table["options"]["releases"].append("0.2.0")
    lines = list(derive_facts.differences(derive_facts.derive(archive), table, "0.2.0"))
    assert "options gone: only in the facts" in lines
    assert "options switch: only in the source" in lines
    assert "options eager kind: the source says 'flag', the facts 'switch'" in lines
    assert "options top default: the source says 5, the facts 4" in lines


def test_only_a_newer_release_is_merged() -> None:
    with pytest.raises(SystemExit, match=r"0\.1\.0 is not newer"):
        Merge(old_facts(), "0.1.0")
    order = ["0.8.5rc1", "0.8.5", "0.8.5.post1", "0.8.6", "0.10.1", "0.10.1.1"]
    assert sorted(reversed(order), key=release_key) == order
    with pytest.raises(ValueError, match="not a release"):
        release_key("new")


def test_a_fact_at_a_release() -> None:
    fact = {"rows": [{"kind": "value", "until": "0.2.0"}], "choices": {"0.1.0": {"all": ["a"]}}}
    assert at(fact, "0.2.0", ["0.1.0", "0.2.0"]) is None
    found = at(fact, "0.1.0", ["0.1.0", "0.2.0"])
    assert found is not None
    assert (found["kind"], found["choices"], found["default"]) == ("value", ["a"], None)


def test_long_lists_are_written_an_item_a_line() -> None:
    assert text_of({"a": [1, 2]}) == "a: [1, 2]\n"
    assert text_of({"a": ["word" * 5] * 6}).count("\n") == 7
