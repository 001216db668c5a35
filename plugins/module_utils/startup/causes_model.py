# Copyright (c) the gpuhosts.vllm authors
# SPDX-License-Identifier: Apache-2.0
"""Causes: the model, its files and tokenizer, the options, the libraries, the network.

Private to the collection.
"""

from __future__ import annotations

from .cause import GENERAL, kind

_OPTION_ERRORS = (
    r"error: unrecognized arguments?: (?P<argument>.+?)\s*$",
    r"error: argument (?P<argument2>\S+?): .+",
    r"error: ambiguous option: (?P<argument3>\S+)",
    r"error: the following arguments are required: (?P<argument4>.+?)\s*$",
    r"(?:EngineArgs|\w*Config)(?:\.__init__\(\)|\.__new__\(\)"
    r"|\(\))? got an unexpected keyword argument '(?P<argument5>\w+)'",
    r"No such (?:option|command):? '?(?P<argument6>[\w-]+)",
    r"[Uu]nexpected keyword argument \[type=unexpected_keyword_argument",
)

KINDS = (
    kind("unrecognized_arguments", *_OPTION_ERRORS, raw=True),
    kind(
        "trust_remote_code_required",
        r"trust_remote_code=True|--trust-remote-code|requires you to execute the \w+ file in that repo"
        r"|contains custom code which must be executed",
    ),
    kind(
        "port_in_use",
        r"\('[^']*', (?P<port>\d+)\).*[Aa]ddress already in use",
        r"server socket has failed to listen.*?(?:port: (?P<port3>\d+))",
        r"(?:[Aa]ddress already in use|EADDRINUSE|errno: 98|\[Errno 98\])(?:.*?(?:port[: =]+|:)(?P<port2>\d{2,5})\b)?",
        r"Bind for \S+?:(?P<port5>\d+) failed: port is already allocated",
        r"[Pp]ort (?P<port4>\d+) is already (?:in use|allocated)",
    ),
    kind(
        "gated_model_auth",
        r"\b40[13] Client Error|\b403 Forbidden|GatedRepo|gated repo|Access to model .* is restricted"
        r"|Invalid username or password",
        r"[Uu]ser [Aa]ccess [Tt]oken .* expired|Invalid user token|must have access to it and be authenticated",
    ),
    kind(
        "max_model_len_exceeds_model",
        r"max_model_len \((?P<max_model_len>\d+)\) is greater than the derived max_model_len"
        r" \(\w+=(?P<derived_max_model_len>\d+)(?:\.0\b)?",
        r"max_model_len.{0,80}is (?:greater|larger) than .{0,60}(?:max_position_embeddings|model's|supported|derived)",
    ),
    kind(
        "tp_size_invalid",
        r"[Tt]otal number of attention heads \((?P<heads>\d+)\) must be divisible by tensor parallel size"
        r" \((?P<tp>\d+)\)",
        r"World size \((?P<tp2>\d+)\) is larger than the number of available \w+ \((?P<gpus>\d+)\)",
        r"(?P<dividend>\d+) is not divisible by (?P<tp3>\d+)",
        r"(?:must be|is not|are not|not|isn't) divisible by",
        r"invalid device ordinal",
    ),
    kind(
        "weights_corrupt",
        r"SafetensorError|[Ee]rror while deserializing header|HeaderTooLarge|MetadataIncompleteBuffer|InvalidHeader"
        r"|header too large",
        r"PytorchStreamReader failed|invalid load key|UnpicklingError|unexpected EOF, expected \d+ more bytes"
        r"|file is truncated|not a valid safetensors",
    ),
    kind(
        "tokenizer_error",
        r"Tokenizer class (?P<tokenizer_class>\w+) does not exist",
        r"(?:[Cc]an't|[Uu]nable to|[Cc]ouldn't|[Cc]annot|[Ff]ailed to) (?:load|build|find|instantiate|initialize"
        r"|get|create)(?: the)?(?: backend)? tokenizer",
        r"Converting from (?:SentencePiece|Tiktoken|tiktoken)|untagged enum \w*(?:ModelWrapper|PreTokenizer"
        r"|Normalizer)",
        r"No tokenizer file found|[Tt]okenizer .{0,60}(?:not found|missing|does not exist|is not (?:supported"
        r"|recognized))|tokenizer's vocabulary",
    ),
    kind(
        "chat_template_missing",
        r"default chat template is no longer allowed|chat_template is not set|must provide a chat template"
        r"|does not have a (?:default )?chat template",
        r"no chat template (?:is |was )?(?:defined|found|provided|set)",
        raw=True,
    ),
    kind(
        "model_arch_unsupported",
        r"Model architectures? \[?'?(?P<architecture>\w+).*? (?:is|are) not supported",
        r"model type [`'\"]?(?P<model_type>[\w.-]+)[`'\"]? but|does not recognize this architecture",
        r"[Uu]nrecognized (?:configuration class|model in)|has no vLLM implementation|Cannot find model module"
        r"|No module named 'vllm\.model_executor\.models",
        r"should have a .?model_type.? key|[Uu]nknown quantization method|[Uu]nsupported (?:model|architecture)"
        r"|Unknown (?:model )?architecture",
    ),
    kind("model_arch_unsupported", r"Model architectures? .* failed to be inspected", strength=GENERAL),
    kind(
        "weights_mismatch",
        r"size mismatch for (?P<weight>[\w.]+)|[Ss]hape mismatch"
        r"|There is no module or parameter named '?(?P<weight2>[\w.]+)",
        r"KeyError: '(?P<weight3>[\w.]*\.(?:weight|bias|weight_scale\w*|qweight|scales|g_idx|input_scale"
        r"|experts)[\w.]*)'",
        r"KeyError: '(?P<weight4>(?:model|layers|language_model|lm_head|visual|blk|transformer|vision_\w+)\.[\w.]+)'",
        r"Tried to load weights? of size",
        r"[Ff]ollowing weights were not (?:initialized|loaded)|Attempted to load weight|(?:param"
        r"|loaded_weight)[\w.]*(?:\.shape|\.size\(\))? ==",
        r"[Ww]eight \S+ (?:not found|is not|does not)|[Mm]issing (?:key|weight)s?\b.*state_dict"
        r"|[Uu]nexpected key\(s\) in state_dict",
        r"The size of tensor a \(\d+\) must match|exceeds dimension size|shape .{0,40}(?:is invalid|does not match"
        r"|doesn't match)",
    ),
    kind(
        "model_not_found",
        r"is not a local folder and is not a valid model identifier|[Rr]epo id must (?:be in the form"
        r"|use alphanumeric)|HFValidationError",
        r"RepositoryNotFound|RevisionNotFound|\b404 Client Error|EntryNotFoundError|Cannot find any model weights"
        r"|LocalEntryNotFound|OfflineModeIsEnabled",
        r"[Cc]ouldn't connect to .?https://|[Cc]annot find the requested files in the (?:disk|local) cache"
        r"|does not appear to have a file named|is not a valid model identifier",
        r"Invalid repository ID or local directory|[Cc]an't load the (?:configuration|model) (?:of|for)"
        r"|No such file or directory: '[^']*config\.json",
    ),
    kind(
        "dependency_error",
        r"version `(?P<missing>GLIBC\w*_[\d.]+)' not found",
        r"No module named '(?P<missing2>[\w.]+)'",
        r"(?P<missing3>[\w.+-]+\.so[\w.]*): (?:cannot open shared object|undefined symbol|cannot enable)",
        r"cannot import name '(?P<missing4>\w+)'",
        r"undefined symbol: (?P<missing5>\w+)",
        r"(?P<missing6>PackageNotFoundError)|No package metadata was found",
        r"\bImportError\b|ModuleNotFoundError|DLL load failed|multiarray failed to import|binary incompatibility",
        r"is already used by a Transformers config",
        r"Failed to find C compiler|Could not find (?:nvcc|CUDA_HOME|any CUDA)|Ninja is required|is required (?:to"
        r"|for|but)\b.*(?:install|version)|[Pp]lease (?:install|upgrade|update)\b",
        r"Support for Transformers v4 is deprecated and was removed|pip install",
    ),
    kind(
        "dependency_error",
        r"^(?:\w+\.)*TypeError: .*(?:unexpected keyword argument|takes \d+ positional|missing \d+ required"
        r"|incompatible (?:constructor|function) arguments)",
        r"^(?:\w+\.)*AttributeError: module '[\w.]+' has no attribute|has no attribute '\w+'\. Did you mean"
        r"|partially initialized module",
        strength=GENERAL,
    ),
)
