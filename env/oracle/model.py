"""Finding and loading the language model: hub name, local folder or GGUF file, and what identifies it."""

from __future__ import annotations

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from env.errors import UserError, first_line

MODEL = "Qwen/Qwen2.5-3B-Instruct"
REVISION = "aa8e72537993ba99e69dfaafa59ed015b17504d1"
"""The official model, and the revision passed to tokenizer and model alike."""

DTYPES = ("auto", "bfloat16", "float16", "float32")


@dataclass(frozen=True)
class Source:
    """Where a model comes from, and the settings that its answers depend on."""

    name: str
    """What provenance calls it: the hub's name, or the folder's or file's."""
    revision: str
    """The hub's revision; for local files `sha256:` and the digest of what the weights and tokenizer are read from."""
    dtype: str
    device: str
    place: str
    """First argument of `from_pretrained`."""
    options: dict[str, Any]
    """Its further arguments, for tokenizer and model alike."""
    gpus: int = 1
    """GPUs that the model is spread over, layer by layer."""


def find_source(
    model: str, revision: str | None, gguf: Path | None, dtype: str, device: str, gpus: int = 1
) -> Source:  # fmt: skip
    """Settle name, revision, dtype and device; nothing is loaded, local files are digested.

    dtype `auto` is bfloat16 on a GPU and float32 on a CPU, as the official code has it. `gpus` more than 1 spread the
    model over that many where it runs on GPUs. Raises UserError for missing libraries, files, devices or unknown choices.
    """
    missing = [name for name in ("transformers", "accelerate", "gguf") if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"{' and '.join(missing)} missing, needed to run a model; pip install 'wilkins[oracle]'")
    import torch

    if dtype not in DTYPES:
        raise UserError(f"unknown dtype {dtype!r}; choose one of {', '.join(DTYPES)}")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise UserError(f"device {device!r} cannot be used: {first_line(error)}; choose cpu, or auto") from None
    if gpus != 1 and (device != "cuda" or not 1 <= gpus <= torch.cuda.device_count()):
        raise UserError(
            f"--gpus {gpus}: {torch.cuda.device_count()} are here and --device is {device}; without the flag the model "
            f"goes on one device"
        )
    if dtype == "auto":
        dtype = "bfloat16" if device.startswith("cuda") else "float32"
    if gguf is not None:
        if not gguf.is_file():
            raise UserError(f"no GGUF file {gguf}; give the path of a model in GGUF form")
        options = {"gguf_file": gguf.name, "local_files_only": True}
        return Source(gguf.stem, f"sha256:{_digest([gguf])}", dtype, device, str(gguf.parent), options, gpus)
    folder = Path(model)
    if folder.is_dir():
        files = sorted(path for path in folder.iterdir() if path.suffix in (".json", ".safetensors", ".bin", ".jinja"))
        _check_folder(folder, {path.name for path in files})
        place, options = str(folder), {"local_files_only": True}
        return Source(folder.resolve().name, f"sha256:{_digest(files)}", dtype, device, place, options, gpus)
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise UserError(f"no model folder {model}; give a folder, a hub name such as {MODEL}, or --gguf FILE")
    revision = revision or (REVISION if model == MODEL else "main")
    return Source(model, revision, dtype, device, model, {"revision": revision}, gpus)


def _check_folder(folder: Path, names: set[str]) -> None:
    wanted = {
        "config.json": {"config.json"},
        "tokenizer.json (or vocab.json)": {"tokenizer.json", "vocab.json"},
        "tokenizer_config.json": {"tokenizer_config.json"},
        "model.safetensors (or its parts with model.safetensors.index.json)": {
            "model.safetensors",
            "model.safetensors.index.json",
            "pytorch_model.bin",
            "pytorch_model.bin.index.json",
        },
    }
    missing = [what for what, any_of in wanted.items() if not any_of & names]
    if missing:
        raise UserError(f"model folder {folder} lacks {', '.join(missing)}; copy the whole model there")


def _digest(files: list[Path]) -> str:
    """SHA-256 of one file, or of the names and digests of several."""
    digests = []
    for path in files:
        try:
            with path.open("rb") as stream:
                digests.append(hashlib.file_digest(stream, "sha256").hexdigest())
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror or error}") from None
    if len(files) == 1:
        return digests[0]
    listing = "".join(f"{path.name} {digest}\n" for path, digest in zip(files, digests, strict=True))
    return hashlib.sha256(listing.encode()).hexdigest()


def load_tokenizer(source: Source) -> Any:
    """The model's tokenizer; raises UserError that says what is missing and how to point at a local copy."""
    from transformers import AutoTokenizer

    return _load(AutoTokenizer, source)


def load_model(source: Source, attention: str | None = None) -> Any:
    """The model in evaluation mode on its device; raises UserError likewise.

    `attention` is `sdpa` or `eager`; None is what the library takes for this model, as the official code does.
    """
    import torch
    import transformers
    from transformers import AutoModelForCausalLM

    options: dict[str, Any] = {"dtype": getattr(torch, source.dtype)}
    if attention is not None:
        options["attn_implementation"] = attention
    # Later versions may keep a GGUF file's weights packed and compute in float32, whatever dtype was asked for.
    if "gguf_file" in source.options and hasattr(transformers, "GgufConfig"):
        options["quantization_config"] = transformers.GgufConfig(dequantize=True)
    if source.gpus > 1:
        return _load(AutoModelForCausalLM, source, **options, **spread(source.gpus)).eval()
    return _load(AutoModelForCausalLM, source, **options).to(source.device).eval()


def spread(gpus: int) -> dict[str, Any]:
    """Arguments of `from_pretrained` that have accelerate put layers on the first `gpus` devices, and in memory what is left."""
    from accelerate.utils import get_max_memory

    memory = {place: size for place, size in get_max_memory().items() if not isinstance(place, int) or place < gpus}
    return {"device_map": "auto", "max_memory": memory}


def _load(loader: Any, source: Source, **options: Any) -> Any:
    from transformers.utils import logging

    logging.disable_progress_bar()
    try:
        return loader.from_pretrained(source.place, **source.options, **options)
    # Loaders of many formats meet here, each with exceptions of its own; none of them is worth a traceback.
    except Exception as error:
        said = first_line(error)
        if "Unrecognized configuration class" in said:
            said = "it is not a language model that writes text from left to right"
        wanted = "config.json, generation_config.json, tokenizer.json, tokenizer_config.json and model*.safetensors"
        hint = (
            "the file may be damaged or of an architecture that transformers cannot read"
            if source.options.get("local_files_only")
            else f"without network, copy {wanted} of that revision into a folder and give --model FOLDER, or --gguf FILE"
        )
        raise UserError(f"cannot load {source.name} ({source.revision}): {said}; {hint}") from None
