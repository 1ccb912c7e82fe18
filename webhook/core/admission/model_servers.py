"""How to recognize a container that plainly runs a model server, as data: its image or its command line.

An image is compared without its registry, tag and digest; a mirror keeps the last parts of its path.
"""

import re
from typing import NamedTuple


class ModelServer(NamedTuple):
    """One model server."""

    name: str
    images: str
    """Regular expression for the end of the image's path: whole path components. Empty if other containers share it."""
    commands: tuple[str, ...]
    """What occurs in its command line as whole words; a `.` at the end stands for the names within a module."""
    source: str
    """Documentation of the image and of the command."""


MODEL_SERVERS = (
    ModelServer(
        "vLLM",
        r"vllm(-(openai|ascend|tpu|rocm|xpu|gaudi|neuron|cpu|arm64))*",
        ("vllm serve", "vllm.entrypoints."),
        "https://docs.vllm.ai/en/latest/deployment/docker.html",
    ),
    ModelServer(
        "llm-d",
        r"llm-d(-(cuda|gb200|aws|gke|rocm|xpu|hpu|tpu|cpu|dev))*",
        (),
        "https://github.com/llm-d/llm-d/tree/main/docker",
    ),
    ModelServer(
        # Its images are those of the front end too.
        "Dynamo",
        "",
        ("dynamo.vllm", "dynamo.sglang", "dynamo.trtllm"),
        "https://github.com/ai-dynamo/dynamo/tree/main/components",
    ),
    ModelServer(
        "Text Generation Inference",
        r"text-generation-inference|tgi(-(gaudi|neuron|tpu))?",
        ("text-generation-launcher", "text-generation-server"),
        "https://huggingface.co/docs/text-generation-inference/quicktour",
    ),
    ModelServer(
        "Text Embeddings Inference",
        "text-embeddings-inference",
        ("text-embeddings-router",),
        "https://huggingface.co/docs/text-embeddings-inference/quick_tour",
    ),
    ModelServer(
        "SGLang",
        r"sglang(-(rocm|ascend|xpu))?",
        ("sglang.launch_server", "sglang serve"),
        "https://docs.sglang.ai/get_started/install.html",
    ),
    ModelServer(
        "llama.cpp",
        r"llama\.cpp|llama-cpp-python",
        ("llama-server", "llama_cpp.server"),
        "https://github.com/ggml-org/llama.cpp/blob/master/docs/docker.md",
    ),
    ModelServer("Ollama", "ollama", ("ollama serve",), "https://docs.ollama.com/docker"),
    ModelServer(
        "TensorRT-LLM",
        r"tensorrt-llm(/release)?|tensorrt_llm",
        ("trtllm-serve",),
        "https://nvidia.github.io/TensorRT-LLM/commands/trtllm-serve/trtllm-serve.html",
    ),
    ModelServer("NIM", r"nim/[^/]+/[^/]+", (), "https://docs.nvidia.com/nim/large-language-models/latest/"),
    ModelServer(
        "Triton Inference Server",
        "tritonserver",
        ("tritonserver",),
        "https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/",
    ),
    ModelServer(
        "KServe's Hugging Face server",
        r"huggingfaceserver(-(cpu|gpu))?",
        ("huggingfaceserver",),
        "https://github.com/kserve/kserve/tree/master/python/huggingfaceserver",
    ),
    ModelServer("LMDeploy", "lmdeploy", ("lmdeploy serve",), "https://lmdeploy.readthedocs.io/en/latest/"),
    ModelServer(
        "Ray",
        r"ray(-(llm|ml))?",
        ("ray start", "serve run"),
        "https://docs.ray.io/en/latest/cluster/kubernetes/index.html",
    ),
)

MAIN_CONTAINERS = {"kserve-container": "https://github.com/kserve/kserve/blob/master/pkg/constants/constants.go"}
"""Names that a serving system reserves for the container of the model server, and where it does."""

MAX_IMAGE = 1024
"""Characters of an image that is compared; longer ones are no valid names."""

_IMAGES = re.compile("|".join(rf"(?:.*/)?(?:{server.images})" for server in MODEL_SERVERS if server.images))
_COMMANDS = tuple(command for server in MODEL_SERVERS for command in server.commands)


def is_server_image(name: str, image: str) -> bool:
    """Whether the container's name or image is that of a model server."""
    return name in MAIN_CONTAINERS or (len(image) <= MAX_IMAGE and _IMAGES.fullmatch(_path(image)) is not None)


def is_server_command(command_line: str) -> bool:
    """Whether the command line starts a model server. It has command and arguments, with one space between words."""
    # Faster than one regular expression: a peer may send many long command lines.
    return any(command in command_line and _has_words(command_line, command) for command in _COMMANDS)


def _has_words(command_line: str, command: str) -> bool:
    end = "" if command.endswith(".") else r"(?!\w)"
    return re.search(rf"(?<!\w){re.escape(command)}{end}", command_line) is not None


def _path(image: str) -> str:
    """The image without tag and digest."""
    repository, slash, last = image.partition("@")[0].rpartition("/")
    return f"{repository}{slash}{last.partition(':')[0]}"
