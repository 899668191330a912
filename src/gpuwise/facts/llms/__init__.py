"""Language models by name, and those of a user: a `config.json` or the header of a GGUF file. No weights.

`data/models.json` holds each model's configuration in the words of its `config.json`, the published count of
its parameters (`exact` where it is more than a round number) and its source; the tests hold what is counted
here against it. To add a model, add its line.
"""

from __future__ import annotations

import difflib
import json
import re
import struct
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import chain, combinations
from math import log, prod
from pathlib import Path
from typing import Any, BinaryIO

from gpuwise import store
from gpuwise.errors import InputError, guess
from gpuwise.model.llm import LanguageModel, from_config
from gpuwise.model.precision import GGUF, Precision

_DATA = Path(__file__).with_name("data")
# What publishers add to names, how they call formats, and what a size alone means.
_NAMES: dict[str, Any] = tomllib.loads((_DATA / "names.toml").read_text(encoding="utf-8"))
_ADDED = re.compile("|".join(_NAMES["added"]))
_FORMATS = {Precision(kind): words for kind, words in _NAMES["formats"].items()}
_FORMATS |= {each: each.value for each in GGUF}  # llama.cpp's have their own names
USUAL: Mapping[str, str] = _NAMES["usual"]
_PARTS = re.compile(r"[a-z]{2,}(?=\d)|[\d.]+(?=[a-z]{2})|.+")  # "phi4", "2.5vl"
_SIZE = re.compile(r"\d+(\.\d+)?[bm]")
_SIZED = re.compile(r"(\d+x)?\d+(\.\d+)?[bm]|a\d+(\.\d+)?b")  # "8x7b", "30b-a3b"
# Longest text in the header of a GGUF file that is believed; vocabularies have a million entries at most.
_LONGEST, _MOST = 2**20, 2**22
# Bytes of a config.json and of the header of a GGUF file.
_LARGEST, _LARGEST_HEADER = 2**24, 2**26
# Tensors of a layer, at least; and how far what is counted may be off what a file holds.
_FEWEST, ALIKE = 5, 0.03
# Billions of parameters of the model that most people run, where only its family is named.
USUAL_SIZE = 8
# How far the size in a name may be from the count; "e2b" has twice as many as it computes with.
_ROUNDED = 1.4
_MOST_ADDED = 6  # Words of a name that are left out
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}


@cache
def published() -> Mapping[str, dict[str, Any]]:
    """Every line of the table, by name: published count, source, configuration."""
    models: dict[str, dict[str, Any]] = json.loads((_DATA / "models.json").read_text(encoding="utf-8"))
    return models


def names() -> tuple[str, ...]:
    """Names of all models, families together."""
    return tuple(published())


@cache
def _aliases() -> Mapping[tuple[str, ...], str]:
    """Words of every name, and which line of the table it means."""
    lines = published().items()
    return {_words(alias): name for name, row in lines for alias in (name, *row.get("aliases", ()))}


@lru_cache(maxsize=512)
def _words(name: str) -> tuple[str, ...]:
    """Words of a name however it is spelt: `qwen2.5vl:7b` and `Qwen2.5-VL-7B` are qwen, 2.5, vl, 7b."""
    plain = re.sub(r"(?<=\d)_(?=\d)", ".", name)  # "Llama-3_3"
    plain = re.sub(r"[-:.]i?q\d[_.]\w+$", "", plain.split("/")[-1].casefold().strip())  # "-q4_K_M"
    plain = re.sub(r"[\s_:]+", "-", plain)  # "llama3:8b"
    plain = re.sub(r"^(meta|nvidia|c4ai)-(?=[a-z])", "", plain)
    plain = re.sub(r"(?<=\d)\.0(?![.\d])", "", plain)  # "granite-4.0"
    # "17B-16E" are the active parameters and experts of Llama 4.
    plain = re.sub(r"-\d+b-\d+e(?=-|$)", "", plain)
    apart = ([word] if _ADDED.fullmatch(word) else _PARTS.findall(word) for word in plain.split("-"))
    return tuple(chain.from_iterable(apart))


def is_added(word: str) -> bool:
    """Whether publishers add a word to names, so that none begins with it."""
    return _ADDED.fullmatch(word) is not None


@lru_cache(maxsize=512)
def _exact(name: str) -> str | None:
    """The line of the table that a name means, with or without what publishers add to it."""
    words = _words(name)
    added = [i for i in range(1, len(words)) if _ADDED.fullmatch(words[i])]
    if len(added) > _MOST_ADDED:
        return None  # Not a name; to try every part of it would take hours.
    shorter = [
        tuple(word for i, word in enumerate(words) if i not in left_out)
        for count in range(len(added) + 1)
        for left_out in combinations(added, count)
    ]
    tails = []
    if "/" in name:  # Tuned by others, who put their own name before it: "hermes-3-llama-3.1-8b".
        tails = [each[i:] for each in shorter for i in range(1, len(each) - 1) if _SIZE.fullmatch(each[-1])]
    return next((_aliases()[each] for each in (*shorter, *tails) if each in _aliases()), None)


@lru_cache(maxsize=512)
def _meant(name: str) -> tuple[str, ...]:
    """Models that a shorter name can mean ("mixtral", "qwen 32b"), the one that most people run first: of
    those near the usual size the newest, else the one next to it."""
    words = _words(name)
    if words and all(map(_SIZED.fullmatch, words)):
        usual = [USUAL[words[0]]] if words[0] in USUAL and len(words) == 1 else []
        having = (full for alias, full in _aliases().items() if {*words} <= {*alias})
        return tuple(dict.fromkeys((*usual, *having)))
    # A version says another shape ("deepseek-v4"), what it was tuned for does not.
    for asked in (words, tuple(word for word in words if not _ADDED.fullmatch(word) or word[:1] == "v")):
        found: dict[str, tuple[bool, float, float]] = {}
        for alias, full in _aliases().items():
            left = iter(alias)
            if asked and alias[0] == asked[0] and all(word in left for word in asked):
                off = abs(log(find(full).parameters / (USUAL_SIZE * 1e9)))
                version = next((float(word) for word in alias if re.fullmatch(r"\d+(\.\d+)?", word)), 0.0)
                found[full] = min(found.get(full, (True, 0.0, off)), (off > log(2), -version, off))
        if found:
            return tuple(sorted(found, key=lambda full: found[full]))
    return ()


def known(name: str) -> bool:
    """True if the table has a model of that name, or of that family and size ("llama 70b")."""
    words = _words(name)
    sized = any(map(_SIZE.fullmatch, words)) and not all(map(_SIZED.fullmatch, words))
    return _exact(name) is not None or (sized and bool(_meant(name)))


def newest(name: str) -> str:
    """Of a family and a size with no version ("qwen 7b") the newest model of that size; other names as they
    are."""
    words = _words(name)
    if len(words) != 2 or not _SIZE.fullmatch(words[1]) or _exact(name) is None:
        return name
    size = float(words[1][:-1]) * {"m": 1e6, "b": 1e9}[words[1][-1]]
    alike = (full for full in _meant(name) if abs(log(find(full).parameters / size)) < log(_ROUNDED))
    return next(alike, name)


def note(name: str) -> str:
    """What a name of several models is taken as, and what else it can mean; empty for other names."""
    if is_file(name) or _exact(name) is not None or not (meant := _meant(name)):
        return ""
    others = f"; it can also mean {', '.join(meant[1:5])}" if meant[1:] else ""
    return f"{name!r} is taken as {meant[0]}{others}"


def is_file(name: str) -> bool:
    """True if it means a file of the user rather than a name of the table."""
    path = name.removeprefix("hf:")
    return path.endswith((".json", ".gguf")) or (path != name and Path(path).is_dir())


@cache
def find(name: str) -> LanguageModel:
    """The model of a name (`llama-3.1-8b`, `meta-llama/Llama-3.1-8B-Instruct`), of a `config.json`
    (`hf:./config.json`, or its folder) or of a GGUF file. Raises InputError with the nearest names."""
    if is_file(name):
        path = Path(name.removeprefix("hf:"))
        path = path / "config.json" if path.suffix not in (".json", ".gguf") else path
        try:
            if path.suffix == ".gguf":
                with path.open("rb") as file:
                    config, held = _gguf(file, path.name)
                model = from_config(path.name, config)
                if held and abs(model.parameters / held - 1) > ALIKE:
                    counted = f"{model.parameters:,} are counted of its header"
                    problem = f"{path.name} holds {held:,} parameters, {counted}"
                    raise InputError(problem, hint="give the config.json of the model: hf:./config.json")
                return model
            config = json.loads(store.read(path, largest=_LARGEST))
        except OSError as error:
            hint = "give the path of its config.json or .gguf file, or a name such as llama-3.1-8b"
            why = "there is no such file" if isinstance(error, FileNotFoundError) else error.strerror
            raise InputError(f"cannot read {path}: {why}", hint=hint) from None
        except (UnicodeDecodeError, ValueError, RecursionError) as error:
            raise InputError(f"{path.name} is not a config.json: {error}") from None
        if not isinstance(config, dict):
            raise InputError(f"{path.name} is not the configuration of a model")
        return from_config(path.name, config)
    if full := _exact(name) or next(iter(_meant(name)), None):
        return from_config(full, published()[full]["config"])
    raise InputError(
        f"no language model is called {name!r}{guess(nearest(name, 0.5))}",
        hint="a name such as llama-3.1-8b, hf:./config.json of any other, or its .gguf file",
    )


def nearest(name: str, cutoff: float = 0.75) -> list[str]:
    """Names of models that hold what was typed, else those written like it."""
    plain, named = "-".join(_words(name)), {"-".join(alias): full for alias, full in _aliases().items()}
    holding = [full for alias, full in named.items() if plain and plain in alias]
    close = holding or [named[each] for each in difflib.get_close_matches(plain, named, n=5, cutoff=cutoff)]
    return list(dict.fromkeys(close))[:3]


def named_format(name: str) -> Precision | None:
    """The format of weights that a name says (`Qwen2.5-7B-Instruct-AWQ`, `llama-3.1-8b.Q4_K_M.gguf`)."""
    text = name.casefold().split("/")[-1]
    return next(
        (p for p, words in _FORMATS.items() if re.search(rf"[-_.:]({words})(?![a-z0-9_])", text)), None
    )


def stored(model: LanguageModel, name: str = "") -> Precision | None:
    """The format that a name of the model says, else that of its publisher where that is not 16 bits."""
    if named := named_format(name):
        return named
    kind = published().get(model.name, {}).get("stored")
    return Precision(kind) if kind else None


def weight_bytes(model: LanguageModel, precision: Precision) -> float:
    """Bytes of all weights. Embedding and head have the format's own width; MXFP4 is of experts alone, the
    way gpt-oss is published, where there are experts."""
    experts = model.expert_layers * model.experts * model.expert
    shared = 2.0 if precision == Precision.MXFP4 and experts else precision.weight_bytes
    outer = ((1 if model.tied else 2) * model.embedding + model.table) * precision.head_bytes
    return model.shared * shared + experts * precision.weight_bytes + outer


def stored_bytes(model: LanguageModel, precision: Precision) -> float:
    """The same with what reads images, which stays in 16 bits."""
    return weight_bytes(model, precision) + 2.0 * model.tower


def _gguf(file: BinaryIO, name: str) -> tuple[dict[str, Any], int]:
    """The header of a GGUF file (version 2 or 3) in the words of a `config.json`, and the parameters in its
    tensors; 0 where others are in further files."""

    def read(form: str) -> Any:
        size = struct.calcsize("<" + form)
        data = file.read(size)
        if len(data) < size or file.tell() > _LARGEST_HEADER:
            raise InputError(f"{name} ends within its header")
        return struct.unpack("<" + form, data)[0]

    def text() -> str:
        length = read("Q")
        if length > _LONGEST:
            raise InputError(f"{name} is damaged: a text of {length} bytes in its header")
        return file.read(length).decode(errors="replace")

    def value(kind: int) -> Any:
        if kind == 8:
            return text()
        if kind == 9:
            inner, length = read("I"), read("Q")
            if length > _MOST or inner == 9:
                raise InputError(f"{name} is damaged: a list of {length} entries in its header")
            return [value(inner) for _ in range(length)]
        if kind not in _SCALARS:
            raise InputError(f"{name} is damaged: no value has the type {kind}")
        return read(_SCALARS[kind])

    if file.read(4) != b"GGUF" or read("I") not in (2, 3):
        raise InputError(f"{name} is not a GGUF file of version 2 or 3")
    tensors, pairs = read("Q"), read("Q")
    if pairs > _MOST or tensors > _MOST:
        raise InputError(f"{name} is damaged: {pairs} entries and {tensors} tensors in its header")
    header = {text(): value(read("I")) for _ in range(pairs)}
    sizes = {}
    for _ in range(tensors):
        tensor = text()
        sizes[tensor] = prod(read("Q") for _ in range(read("I")))
        read("I"), read("Q")

    def number(key: str) -> int:
        if not isinstance(stated := header.get(key, 0), int):
            raise InputError(f"{name} is damaged: {key} is a whole number, not {stated!r:.20}")
        return stated

    kind = str(header.get("general.architecture", ""))
    table = tomllib.loads((_DATA / "gguf.toml").read_text(encoding="utf-8"))
    named = ((ours, f"{kind}.{theirs}") for ours, theirs in table["words"].items())
    config = {ours: header[theirs] for ours, theirs in named if theirs in header}
    if "kv_lora_rank" in config:
        # Of latent attention newer files state what is kept, and the heads beside it.
        parts = (f"{kind}.attention.{part}_length" for part in ("key", "value"))
        wide, narrow = (number(f"{part}_mla") or number(part) for part in parts)
        config |= {"qk_nope_head_dim": wide - number(f"{kind}.rope.dimension_count"), "v_head_dim": narrow}
    tokens = header.get("tokenizer.ggml.tokens")
    config.setdefault("vocab_size", len(tokens) if isinstance(tokens, list) else 0)
    config["model_type"] = table["families"].get(kind, kind)
    config["tie_word_embeddings"] = "output.weight" not in sizes
    config["attention_bias"] = "blk.0.attn_q.bias" in sizes
    if config["model_type"] == "gemma3_text":
        config["sliding_window_pattern"] = 6
    whole = number("split.count") <= 1 and len(sizes) > _FEWEST * number(f"{kind}.block_count")
    return config, sum(sizes.values()) if whole else 0
