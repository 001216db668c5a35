# SPDX-License-Identifier: Apache-2.0
"""The images of the real engine (vLLM's CPU build) and of the stand-in, in the lab's registry behind real indexes."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import build, layers, model, names, oci, rootfs, servers, state, wheels
from .rootfs import remove_tree
from .steps import say, step

if TYPE_CHECKING:
    import docker

    from .debian import Source
    from .oci import Layer
    from .registry_api import Registry

HERE = Path(__file__).parent
REAL = "vllm/vllm-openai"
STANDIN = "lab/vllm-standin"
VERSIONS = ("0.31.0", "0.32.0")
ENTRYPOINT = ["vllm", "serve"]
SHARED = HERE / "requirements-engine.txt"
LABEL_SHARED = f"{names.LABEL}.shared"


@dataclass(frozen=True)
class Wanted:
    """An image that the registry has to have: the recipe is the hash of all that goes into it."""

    repository: str
    tag: str
    recipe: str
    run: dict[str, Any] = field(default_factory=dict)
    family: int = oci.OCI

    def config(self) -> dict[str, Any]:
        labels = {names.LABEL: "1", names.LABEL_RECIPE: self.recipe}
        return {**self.run, "Labels": {**labels, **self.run.get("Labels", {})}}


def hash_of(*parts: bytes) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def label(config: dict[str, Any], name: str) -> str | None:
    """A label of an image configuration."""
    found = (config.get("config", {}).get("Labels") or {}).get(name)
    return str(found) if found is not None else None


def there(registry: Registry, wanted: Wanted) -> bool:
    """Whether the registry has this image, made by this recipe."""
    return label(registry.config(wanted.repository, wanted.tag), names.LABEL_RECIPE) == wanted.recipe


def publish(registry: Registry, wanted: Wanted, made: tuple[Layer, ...]) -> str:
    """Put manifests and index: one child that runs here, and one for the other architecture that nobody runs."""
    own = oci.MACHINES.get(platform.machine(), "amd64")
    children = {}
    for architecture in (own, *(other for other in oci.MACHINES.values() if other != own)):
        config = oci.image_config(made, wanted.config(), architecture, wanted.family)
        registry.put_bytes(wanted.repository, config.content)
        child = oci.image_manifest(made, config, wanted.family)
        registry.put_manifest(wanted.repository, child.digest, child.content, child.media_type)
        children[architecture] = child
    index = oci.image_index(children, wanted.family)
    digest = registry.put_manifest(wanted.repository, wanted.tag, index.content, index.media_type)
    say(f"{wanted.repository}:{wanted.tag} is {digest}")
    return digest


# ------------------------------------------------------------------------------------------------ the real engine


def _base_recipe(client: docker.DockerClient, source: Source) -> build.Recipe:
    return build.Recipe("engine-base", rootfs.ensure(client, rootfs.BOOKWORM, source), "bookworm")


def _own_requirements(version: str) -> Path:
    return HERE / f"requirements-engine-v{version}.txt"


def _shared_recipe(base: str) -> str:
    """What the layers are made of that the versions share."""
    return hash_of(base.encode(), SHARED.read_bytes(), model.SHARED_SCRIPT.encode())


def real(base: str, version: str) -> Wanted:
    """The image of a real engine under its production name."""
    run = {
        "Entrypoint": ENTRYPOINT,
        "WorkingDir": "/vllm-workspace",
        "Env": [
            *("PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", "VLLM_NO_USAGE_STATS=1"),
            # Without triton, 0.32.0 saves ahead-of-time code that it cannot load again: it would compile at each start.
            "VLLM_USE_AOT_COMPILE=0",
        ],
        "Labels": {LABEL_SHARED: _shared_recipe(base)},
    }
    own = _own_requirements(version).read_bytes()
    recipe = hash_of(_shared_recipe(base).encode(), own, model.OWN_SCRIPT.encode(), json.dumps(run).encode())
    return Wanted(REAL, f"v{version}", recipe, run)


def distribution_record(version: str) -> bytes:
    """The engine asks for its own distribution by the name `vllm`; without `+cpu` it does not find its platform."""
    return f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}+cpu\n".encode()


def _fetch_own(root: Path, version: str) -> None:
    wheels.fetch(_own_requirements(version), root)
    record = root / wheels.SITE / f"vllm-{version}+cpu.dist-info"
    record.mkdir(parents=True, exist_ok=True)
    (record / "METADATA").write_bytes(distribution_record(version))


def ensure_real(client: docker.DockerClient, source: Source, versions: tuple[str, ...]) -> None:
    """The real engines in the open registry; what they need is fetched and built only when one is missing."""
    recipe = _base_recipe(client, source)
    servers.ensure_registry(client, source)
    registry = servers.registry()
    missing = tuple(version for version in versions if not there(registry, real(recipe.tag, version)))
    if not missing and model.files():
        return
    base = build.ensure(client, recipe, source)
    work = state.folder("engine")
    try:
        shared = _shared_layers(registry, base) if model.files() else ()
        wanted = missing or versions[-1:]
        _fetch_owns(client, base, work, wanted)
        shared = shared or _make_shared(client, registry, base, work, wanted[0])
        for version in missing:
            with step(f"put {REAL}:v{version} into the lab's registry"):
                own = layers.from_folder(registry, REAL, work / version, f"vLLM {version}")
                publish(registry, real(base, version), (*shared, own))
    finally:
        remove_tree(work)


def _shared_layers(registry: Registry, base: str) -> tuple[Layer, ...]:
    """The layers that the versions share, from an image that the registry has already."""
    for version in VERSIONS:
        config = registry.config(REAL, f"v{version}")
        if label(config, LABEL_SHARED) == _shared_recipe(base):
            made = zip(registry.image(REAL, f"v{version}")["layers"], config["history"])
            return tuple(oci.Layer(one["digest"], one["size"], by["created_by"]) for one, by in made)[:-1]
    return ()


def _fetch_owns(client: docker.DockerClient, base: str, work: Path, versions: tuple[str, ...]) -> None:
    for version in versions:
        with step(f"fetch vLLM {version} (CPU build)"):
            _fetch_own(work / version, version)
            model.compile_own(client, base, work / version / wheels.SITE)


def _make_shared(
    client: docker.DockerClient, registry: Registry, base: str, work: Path, version: str
) -> tuple[Layer, ...]:
    with step(f"fetch the engine's Python packages ({SHARED.name}, about 500 MB)"):
        wheels.fetch(SHARED, work / "shared")
    with step("make the small model and the engine's byte code"):
        model.make(client, base, work / "shared" / wheels.SITE, work / version / wheels.SITE)
    with step(f"put what the engines share into the lab's registry as {REAL}"):
        ground = layers.from_image(client, registry, REAL, base)
        return (*ground, layers.from_folder(registry, REAL, work / "shared", "torch, transformers and the rest"))


# ------------------------------------------------------------------------------------------------- the stand-in


def _standin_files() -> dict[str, bytes]:
    folder = HERE / "standin"
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir()) if p.suffix == ".py" or p.name == "vllm"}


def standin(base: str, version: str, repository: str = STANDIN) -> Wanted:
    """The stand-in engine of a version."""
    content = [part for name, data in _standin_files().items() for part in (name.encode(), data)]
    hub = (HERE / "requirements-hub.txt").read_bytes()
    return Wanted(
        repository,
        f"v{version}",
        hash_of(base.encode(), version.encode(), hub, *content, b"1"),
        {
            "Entrypoint": ENTRYPOINT,
            "Env": ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8", f"STANDIN_VERSION={version}"],
            "Labels": {"org.opencontainers.image.title": "stand-in for vllm serve, for tests only"},
        },
        oci.DOCKER,
    )


def _standin_root(root: Path) -> None:
    target = root / "opt" / "standin"
    target.mkdir(parents=True)
    for name, content in _standin_files().items():
        (target / name).write_bytes(content)
    (target / "vllm").chmod(0o755)
    commands = root / "usr" / "local" / "bin"
    commands.mkdir(parents=True)
    (commands / "vllm").symlink_to("/opt/standin/vllm")
    shutil.copy(build.FOLDER / "engine-base" / "bin" / "hf", commands / "hf")
    (commands / "hf").chmod(0o755)


def ensure_standin(client: docker.DockerClient, registry: Registry, source: Source, repository: str = STANDIN) -> None:
    """The stand-in engine in a registry, as both versions."""
    base = rootfs.ensure(client, rootfs.BOOKWORM, source)
    missing = [version for version in VERSIONS if not there(registry, standin(base, version, repository))]
    if not missing:
        return
    with step(f"put the stand-in engine into {registry.url} as {repository}"):
        work = state.folder("tmp", uuid.uuid4().hex)
        try:
            _standin_root(work / "engine")
            wheels.fetch(HERE / "requirements-hub.txt", work / "hub")
            made = (
                *layers.from_image(client, registry, repository, base),
                layers.from_folder(registry, repository, work / "hub", "huggingface_hub"),
                layers.from_folder(registry, repository, work / "engine", "the stand-in engine"),
            )
        finally:
            remove_tree(work)
        for version in missing:
            publish(registry, standin(base, version, repository), made)
