# SPDX-License-Identifier: Apache-2.0
"""The lab's small model: made once with the engine's own libraries, then copied to hosts and served by the hub."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import docker

from . import hosts, names, state
from .steps import LabError, say

if TYPE_CHECKING:
    from docker.models.containers import Container

MAKER = Path(__file__).with_name("make_model.py")
# What a start of the engine imports; each import leaves its byte code beside the source.
WARM_UP = """
import vllm.entrypoints.cli.main, vllm.entrypoints.cli.serve, vllm.entrypoints.openai.api_server
import vllm.v1.engine.async_llm, vllm.v1.engine.core, vllm.v1.worker.cpu_worker, vllm.v1.executor.multiproc_executor
import vllm.model_executor.models.registry, vllm.model_executor.models.llama, transformers.models.llama.modeling_llama
import torch._inductor.compile_fx, torch._dynamo
"""


def make(client: docker.DockerClient, image: str, shared: Path, own: Path) -> None:
    """Make the model when it is missing, and import the engine that lies in these two folders."""
    target = state.model_folder()
    target.mkdir(parents=True, exist_ok=True)
    script = f"import runpy, sys; sys.argv = ['make_model.py', '/model']\nrunpy.run_path('/make_model.py', run_name='__main__')\n{WARM_UP}"
    mounts = {
        str(shared): {"bind": "/shared", "mode": "rw"},
        str(own): {"bind": "/own", "mode": "rw"},
        str(target): {"bind": "/model", "mode": "rw"},
        str(MAKER): {"bind": "/make_model.py", "mode": "ro"},
    }
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
    """The model as it lies on a host."""
    found = sorted(path for path in state.model_folder().glob("*") if path.is_file())
    return {f"{names.MODEL_PATH}/{path.name}": (0o644, path.read_bytes()) for path in found}


def place(container: Container, name: str) -> None:
    """Put the model on a host that lacks it, and into what `reset` restores."""
    if container.exec_run(["test", "-e", f"/usr/local/lab{names.MODEL_PATH}/config.json"]).exit_code == 0:
        return
    found = files()
    if not found:
        return
    hosts.put(container, found)
    hosts.put(container, {f"/usr/local/lab{path}": content for path, content in found.items()})
    say(f"host {name}: the small model lies in {names.MODEL_PATH}")
