# SPDX-License-Identifier: Apache-2.0
"""The lab's small model: made once with the engine's own libraries, then copied to hosts and served by the hub."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import docker

from . import hosts, names, state
from .steps import LabError, say

if TYPE_CHECKING:
    from docker.models.containers import Container

MAKER = Path(__file__).with_name("make_model.py")
RECIPE = "recipe.sha256"  # make_model.py writes it beside the model: the hash of that program
# What a start of the engine imports; each import leaves its byte code beside the source. Without it every start, which
# is a new container, would compile it again. Small packages are compiled whole: importing all their parts takes longer.
SHARED_SCRIPT = """
import compileall, runpy, sys
sys.argv = ["make_model.py", "/model"]
runpy.run_path("/make_model.py", run_name="__main__")
import torch._inductor.compile_fx, torch._dynamo, transformers.models.llama.modeling_llama
import vllm.entrypoints.cli.main, vllm.entrypoints.cli.serve, vllm.entrypoints.openai.api_server
import vllm.v1.engine.async_llm, vllm.v1.engine.core, vllm.v1.worker.cpu_worker, vllm.v1.executor.multiproc_executor
import vllm.model_executor.models.registry, vllm.model_executor.models.llama
small = "uvicorn websockets loguru httptools jmespath compressed_tensors pydantic fastapi starlette prometheus_client"
for name in (*small.split(), "prometheus_fastapi_instrumentator", "model_hosting_container_standards"):
    compileall.compile_dir(f"/shared/{name}", quiet=2)
"""
OWN_SCRIPT = 'import compileall; compileall.compile_dir("/own/vllm", quiet=2)'


def recipe() -> str:
    """What the model is made by, as a hash."""
    return hashlib.sha256(MAKER.read_bytes()).hexdigest()


def make(client: docker.DockerClient, image: str, shared: Path, own: Path) -> None:
    """Make the model when it is missing, and the byte code of what an engine's start imports."""
    target = state.model_folder()
    target.mkdir(parents=True, exist_ok=True)
    mounts = {
        str(shared): {"bind": "/shared", "mode": "rw"},
        str(own): {"bind": "/own", "mode": "rw"},
        str(target): {"bind": "/model", "mode": "rw"},
        str(MAKER): {"bind": "/make_model.py", "mode": "ro"},
    }
    _run(client, image, SHARED_SCRIPT, mounts)


def compile_own(client: docker.DockerClient, image: str, own: Path) -> None:
    """The byte code of one vLLM alone."""
    _run(client, image, OWN_SCRIPT, {str(own): {"bind": "/own", "mode": "rw"}})


def _run(client: docker.DockerClient, image: str, script: str, mounts: dict[str, dict[str, str]]) -> None:
    try:
        client.containers.run(
            image,
            ["python3", "-c", script],
            volumes=mounts,
            environment={"PYTHONPATH": "/own:/shared", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"},
            labels={names.LABEL: "1"},
            network_mode="none",
            remove=True,
            stderr=True,
        )
    except docker.errors.ContainerError as error:
        said = (error.stderr or b"").decode(errors="replace").strip().splitlines()[-3:]
        message = f"the engine's packages do not import ({' | '.join(said)}); see {state.folder() / 'pip.log'}"
        raise LabError(message) from error


def files() -> dict[str, tuple[int, bytes]]:
    """The model as it lies on a host; nothing when it is not there, or was made by another recipe."""
    made_by = state.model_folder() / RECIPE
    if not made_by.exists() or made_by.read_text(encoding="ascii") != recipe():
        return {}
    found = sorted(path for path in state.model_folder().glob("*") if path.is_file())
    return {f"{names.MODEL_PATH}/{path.name}": (0o644, path.read_bytes()) for path in found}


def place(container: Container, name: str) -> None:
    """Put the model on a host that lacks it, and into what `reset` restores."""
    there = container.exec_run(["cat", f"/usr/local/lab{names.MODEL_PATH}/{RECIPE}"])
    if there.exit_code == 0 and there.output.decode("ascii", "replace") == recipe():
        return
    found = files()
    if not found:
        return
    hosts.put(container, found)
    hosts.put(container, {f"/usr/local/lab{path}": content for path, content in found.items()})
    say(f"host {name}: the small model lies in {names.MODEL_PATH}")
