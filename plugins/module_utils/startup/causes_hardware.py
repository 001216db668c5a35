# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Causes: the GPU, its driver, its kernels, several of them, and the compiler.

Private to the collection.
"""

from __future__ import annotations

from .cause import GENERAL, kind

KINDS = (
    kind(
        "cuda_forward_compat_unsupported",
        r"Error 804|forward compatibility was attempted on non supported HW|cudaErrorCompatNotSupportedOnDevice",
    ),
    kind(
        "driver_too_old_for_cuda",
        r"unsatisfied condition: cuda ?>= ?(?P<needs_cuda>[\d.]+\d)",
        r"NVIDIA driver on your system is too old \(found version (?P<driver_cuda_code>\d+)\)",
        r"CUDA driver version is insufficient for CUDA runtime version",
        r"PTX was compiled with an unsupported toolchain",
        r"system has unsupported display driver",
        raw=True,
    ),
    kind(
        "ray_not_enough_gpus",
        r"Ray does not allocate any \w+ on the driver node",
        r"number of required \w+ exceeds the total number of available \w+",
        r"Cannot provide a placement group",
        r"Current node has no \w+ available",
        r"No available node types can fulfill",
        r"placement group.{0,80}(?:timed? ?out|not (?:be )?(?:ready|scheduled|created|fulfilled)|infeasible)",
    ),
    kind(
        "ray_not_enough_gpus",
        r"number of required \w+ exceeds the total number of available \w+"
        r"|Waiting for creating a placement group of specs",
        r"No available node types can fulfill",
        raw=True,
        soft=True,
    ),
    kind(
        "no_accelerator_detected",
        r"Failed to infer device type",
        r"No CUDA GPUs are available",
        r"Found no NVIDIA driver on your system",
        r"no CUDA-capable device is detected|CUDA_ERROR_NO_DEVICE|no ROCm-capable device is detected"
        r"|No HIP GPUs are available",
        r"could not select device driver",
        r"unresolvable CDI devices",
        r"nvidia-container-cli: (?:initialization error|device error|detection error)",
        r"Torch not compiled with CUDA enabled",
        r"NVML Shared Library Not Found|NVMLError_LibraryNotFound|NVMLError_DriverNotLoaded",
        r"[Nn]o (?:GPU|accelerator|TPU|XPU|device)s? (?:is |are |was |were )?(?:found|detected|available|visible)",
    ),
    kind(
        "dtype_unsupported_on_gpu",
        r"(?P<dtype>Bfloat16|bfloat16|BFloat16|float16|FP8"
        r"|fp8\w*) is only supported on GPUs with compute capability of at least "
        r"(?P<capability_needed>\d+\.\d+)(?:.*?compute capability (?P<capability_found>\d+\.\d+))?",
        r"(?:type )?(?P<dtype2>bf16|float8\w*|bfloat16) (?:is )?not supported (?:in|on|by) (?:this|your"
        r"|the current) (?:architecture|GPU|device)",
        r"quantization method (?P<method>\S+) is not supported for the current GPU\. Minimum capability:"
        r" (?P<capability_needed2>\d+)\. "
        r"Current capability: (?P<capability_found2>\d+)",
        r"(?:data )?type torch\.(?P<dtype3>\w+) is not supported (?:on|by|for) ",
        r"[Bb]float16 is not supported|[Dd]oesn't support bfloat16",
    ),
    kind(
        "gpu_arch_unsupported",
        r"no kernel image is available|device kernel image is invalid|invalid device function|hipErrorNoBinaryForGpu",
        r"[Uu]nsupported (?:gpu|GPU) architecture|LLVM ERROR: Cannot select",
        r"Value 'sm_\w+' is not defined for option 'gpu-name'|PassManager::run failed|failed to legalize operation",
        r"invalid cubin|cudaErrorInvalidKernelImage|cudaErrorNoKernelImageForDevice|not compiled for (?:SM|sm_)\d+",
        r"type fp8\w+ not supported in this architecture",
        r"requires? (?:a )?(?:GPU with )?compute capability",
        raw=True,
    ),
    kind(
        "attention_backend_unsupported",
        r"No valid attention backend",
        r"Selected backend \S+ is not valid for this configuration",
        r"Invalid attention backend",
        r"[Aa]ttention backend \S*(?P<backend>[A-Z][A-Z_0-9]+)\S* (?:is not|does not|not) ",
        r"attention backend .{0,60}not (?:supported|available|compatible)",
        r"Head size \d+ is not supported by|head_size .{0,40}not supported",
        r"FlashAttention only supports|FlashMLA .{0,40}not supported",
    ),
    kind(
        "cuda_kernel_fault",
        r"illegal memory access|device-side assert|unspecified launch failure|misaligned address"
        r"|illegal instruction was encountered",
        r"(?:CUDA|HIP) error: invalid (?:argument|configuration argument|resource handle)"
        r"|failed with error invalid argument",
        r"(?:CUDA|HIP) error: (?:the launch timed out|unknown error|operation not permitted|unspecified|uncorrectable)",
        r"Memory access fault by GPU|HSA_STATUS_ERROR\w*|hipErrorIllegalAddress|hipErrorLaunchFailure",
        r"CUBLAS_STATUS_(?!ALLOC)\w+|CUDNN_STATUS_\w+|cudaErrorIllegalAddress|cudaErrorLaunchFailure",
        raw=True,
    ),
    kind("accelerator_runtime_error", r"\bNRT:\w+ .*[Ff]ail|\bnrt_\w+ .*[Ff]ail", raw=True),
    kind(
        "accelerator_runtime_error",
        r"\b(?:NRT|nrt)_\w+|\bNEURON\w*:? .*(?:ERROR|[Ff]ail)|Neuron [Rr]untime",
        r"\bUR_RESULT_ERROR_(?!OUT_OF)\w+|\bZE_RESULT_ERROR\w+|\bPI_ERROR\w*|level_zero backend failed",
        r"\bsyn(?:Status)?Fail\w*|Habana .*(?:error|fail)|TPU initialization failed|libtpu.* (?:error|failed)"
        r"|\bACL(?:NN)? error|aclrt\w+ failed",
    ),
    kind(
        "driver_too_old_for_cuda",
        r"driver on your system is too old",
        raw=True,
        soft=True,
    ),
    kind("cuda_forward_compat_unsupported", r"Warning: .*Error 804", raw=True, soft=True),
    kind(
        "worker_segfault",
        r"SIGSEGV|[Ss]egmentation fault|\b[Ss]egfault\b|exit ?code:? -11\b|Failed core proc\(s\): \{[^}]*: -11\b",
        raw=True,
    ),
    kind(
        "killed_sigkill",
        r"\bSIGKILL\b|exit ?code:? -9\b|Failed core proc\(s\): \{[^}]*: -9\b|exit(?:ed)? (?:with )?(?:code"
        r"|status):? 137\b|OOM[- ]?[Kk]ill|oom-kill|Out of memory: Killed process",
        raw=True,
        strength=GENERAL,
    ),
    kind(
        "nccl_error",
        r"\b[NR]CCL error|nccl(?:Unhandled|System|Internal|Invalid|Remote)\w+|DistBackendError"
        r"|Failed to load [NR]CCL library",
        r"Watchdog caught collective operation timeout",
        r"NCCL WARN (?!.*(?:fallback|deprecat))",
        strength=GENERAL,
        raw=True,
    ),
    kind(
        "compile_error",
        r"ConstraintViolationError|torch\.fx\.|InductorError|BackendCompilerFailed|torch\._dynamo\.exc\."
        r"|vLLM failed to compile the model"
        r"|CppCompileError|C\+\+ compile error",
        r"triton\.compiler\.errors\.|CompilationError|ptxas (?:fatal|error)|NoTritonConfigsError|LoweringException",
        strength=GENERAL,
    ),
)
