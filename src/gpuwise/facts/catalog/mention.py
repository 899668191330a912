"""Find which GPUs a text speaks of, and every variant that each spelling may mean.

A mention is a brand or none, a model ("A100", "RTX 6000 Ada"), and the words behind it that distinguish
variants ("(80GB SXM4)", "Laptop GPU"). The longest model wins. Words of one kind are
alternatives ("NVL / SXM"), words of several kinds narrow the choice; a word that fits no variant
("A100 24GB") is left outside the mention, so that it can be judged as a claim. A word that makes
another product of the model ("RTX 3080 Ti", "RTX 5090 Laptop") makes it a GPU outside the catalog.

Models are kept as a tree of their letters and numbers, so that the time grows with the text alone,
however many GPUs the catalog has.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

from gpuwise.facts.catalog import load

_PATTERNS: dict[str, re.Pattern[str]] = {}
for _name, _parts in tomllib.loads((load.DATA / "mentions.toml").read_text(encoding="utf-8")).items():
    _text = re.sub("<(end|word)>", lambda name: _PATTERNS[name[1]].pattern, "".join(_parts))
    _PATTERNS[_name] = re.compile(_text, re.IGNORECASE)
_GAP = frozenset(" \t\u00a0\u2122\u00ae_-(")
_WIDEST_GAP = 3
_BRANDS = {**load.VENDORS, "quadro": "NVIDIA", "firepro": "AMD", "firegl": "AMD", "apple": "Apple"}
"""Words before a model -> vendor. The FirePro M4000 is no Quadro M4000, the GeForce 6800 XT no Radeon."""
_ANOTHER = frozenset({"ti", "super", "laptop", "mobile", "maxq", "ada", "sff", "d", "xt", "xtx", "gre"})
"""Words that make another product of the model before them."""
_KINDS = (("gb", "memory"), ("hbm", "type"), ("ddr", "type"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """`text[start:end]` names a GPU; `gpu_ids` are all catalog entries that it may mean."""

    start: int
    end: int
    text: str
    gpu_ids: tuple[str, ...]  # In the order of the catalog; empty for a GPU outside it
    exact: bool = True
    """False where the words alone may also be a number or another thing: `4070`, `M4`, `t4`."""


_Variant = tuple[str | None, frozenset[str]]
"""(gpu_id, words that distinguish it from its sisters); no id for a GPU outside the catalog."""


@dataclass(slots=True)
class _Node:
    """A place in the tree of models; `glued` continues the same word, `spaced` a next one, too."""

    glued: dict[str, _Node] = field(default_factory=dict)
    spaced: dict[str, _Node] = field(default_factory=dict)
    model: str | None = None  # The model that is complete here, as a key of `_by_model`


_Atom = tuple[int, int, str]
"""(start, end, the letters or digits in lower case)"""


def mentions(text: str, *, unknown: bool = False, loose: bool = False) -> tuple[Mention, ...]:
    """Every GPU that `text` names, in order and without overlap. Linear in the length of the text.

    GPUs outside the catalog are left out unless `unknown`; they have no `gpu_ids`. With `loose`, words
    that may be something else ("4070", "M4") are mentions with `exact` False; the context must decide.
    """
    mentions = list(_models_in(text, loose))
    if unknown:
        # Both lists are in order, so that one walk finds what overlaps.
        taken = [(mention.start, mention.end) for mention in mentions]
        at = 0
        for match in _PATTERNS["elsewhere"].finditer(text):
            while at < len(taken) and taken[at][1] <= match.start():
                at += 1
            if at == len(taken) or match.end() <= taken[at][0]:
                mentions.append(Mention(start=match.start(), end=match.end(), text=match[0], gpu_ids=()))
        mentions.sort(key=lambda mention: mention.start)
    return tuple(mention for mention in mentions if unknown or mention.gpu_ids)


def _models_in(text: str, loose: bool) -> Iterator[Mention]:
    """Mentions of models that the catalog's files name, those outside it among them."""
    atoms = [(m.start(), m.end(), m[0].lower()) for m in _PATTERNS["atom"].finditer(text)]
    tree, numbers, weak = _tree()
    place = done = 0
    last: Mention | None = None
    while place < len(atoms):
        start, end, atom = atoms[place]
        model, count = None, 1
        if (atom in tree.spaced or atom in numbers) and start >= done and _begins(text, atoms, place):
            model, count = _longest(text, atoms, place, tree)
        exact = model is not None
        if model is None and atom in numbers and start >= done and _is_word(text, end):
            model, exact = f"rtx{atom}", _is_card(text, start, end, last)
        place += count
        if model is None:
            continue
        end = atoms[place - 1][1]
        first, branded = _with_brands(text, atoms, place - count)
        written = text[start:end]
        # Codes of two or three characters stand in capitals or behind a brand.
        # What is an ordinary word, too, is a GPU where it has a size or a power: "The A2 takes 60 W".
        named = model not in weak or _PATTERNS["sized"].match(text, end) is not None
        exact &= branded or ((len(written) > 3 or written.isupper()) and named)
        if exact or loose:
            last = _mention(text, first, end, model, exact=exact)
            done = last.end
            yield last


def _begins(text: str, atoms: list[_Atom], place: int) -> bool:
    """A model begins a word, or stands behind a count: 8xA100. 0xA100 is a number."""
    start = atoms[place][0]
    if start == 0 or not (text[start - 1].isalnum() and text[start - 1].isascii()):
        return True
    counted = place >= 2 and atoms[place - 1][1:] == (start, "x") and atoms[place - 2][1] == start - 1
    return counted and atoms[place - 2][2].strip("0") != ""


def _longest(text: str, atoms: list[_Atom], place: int, tree: _Node) -> tuple[str | None, int]:
    """The longest model that begins at an atom, and its count of atoms; 1 where there is none."""
    node: _Node | None = tree.spaced.get(atoms[place][2])
    best, count, at = None, 1, place
    while node is not None:
        end = atoms[at][1]
        # Kept while the walk goes on: RTX 3060 stands until RTX 3060 Ti is complete.
        if node.model is not None and _is_word(text, end):
            best, count = node.model, at - place + 1
        at += 1
        if at == len(atoms):
            break
        start, _, word = atoms[at]
        glued = node.glued.get(word) if start == end else None
        near = start - end <= _WIDEST_GAP and _GAP.issuperset(text[end:start])
        node = glued or (node.spaced.get(word) if near else None)
    return best, count


def _is_word(text: str, end: int) -> bool:
    """A model ends with its word, which may be in the plural or the possessive."""
    plural = text[end : end + 1] in ("s", "S") and _PATTERNS["end"].match(text, end + 1) is not None
    return plural or _PATTERNS["end"].match(text, end) is not None


def _with_brands(text: str, atoms: list[_Atom], place: int) -> tuple[int, bool]:
    """Where up to three brands before a model begin, and True if there are any."""
    start = atoms[place][0]
    branded = False
    for before, end, brand in reversed(atoms[max(0, place - 3) : place]):
        near = start - end <= _WIDEST_GAP and _GAP.issuperset(text[end:start])
        if brand not in _BRANDS or not near or text[max(0, before - 1) : before].isalnum():
            break
        start, branded = before, True
    return start, branded


def _is_card(text: str, start: int, end: int, last: Mention | None) -> bool:
    """A bare number is a card's in a list of RTX cards, `RTX 4090 / 5090`, or as `the 4090`, `two 3060s`."""
    plain = text[start + 2 : end] != "00"
    if plain and (
        # "3070 8gb", "936 GB/s (3090)"
        _PATTERNS["figure"].match(text, end)
        or (text[end : end + 1] == ")" and _PATTERNS["behind"].search(text, max(0, start - 12), start))
    ):
        return True
    before = text[max(0, start - 7) : start]
    if _PATTERNS["has"].match(text, end) and plain and _PATTERNS["named"].search(before):
        # "4090: 24 GB", "and 3090 draws 350 W"
        return True
    if _PATTERNS["one"].search(text[max(0, start - 9) : start]):
        return _PATTERNS["unit"].match(text, end) is None
    if last is None or start - last.end > 20 or not ("RTX" in last.text.upper() or last.text[:4].isdigit()):
        return False
    return _PATTERNS["listed"].fullmatch(text, last.end, start) is not None


def _mention(text: str, start: int, end: int, model: str, *, exact: bool) -> Mention:
    glued = _PATTERNS["glued"].match(text, end)
    if glued is not None and model + glued[1].lower() in _by_model():
        model, end = model + glued[1].lower(), glued.end()
    plural = text[end : end + 1] == "s" and _PATTERNS["end"].match(text, end + 1) is not None
    possessive = text[end : end + 1] in ("'", "\u2019") and text[end + 1 : end + 2] == "s"
    if possessive and _PATTERNS["end"].match(text, end + 2):
        # What a possessive has ("the A4000's 16 GB") is a claim, no part of its name.
        tail, end = "", end + 2
    else:
        end += plural
        match = _PATTERNS["tail"].match(text, end)
        tail = match[0] if match else ""
    # `V100s` may be several V100 or the V100S.
    upper = any(char.isupper() for char in text[start:end])
    singular = model[:-1] if model.endswith("s") and text[end - 1] == "s" and upper and not plural else ""
    gpu_ids, used = _meaning(model, singular, tail)
    words = (atom[0].lower() for atom in _PATTERNS["atom"].finditer(text, start, end))
    if vendors := {_BRANDS[word] for word in words if word in _BRANDS}:
        gpu_ids = tuple(i for i in gpu_ids if load.get(i).vendor in vendors)
    end += used
    if "(" in text[start:end] and text[end : end + 1] == ")":
        end += 1
    return Mention(start=start, end=end, text=text[start:end], gpu_ids=gpu_ids, exact=exact)


@lru_cache(maxsize=4096)
def _meaning(model: str, singular: str, tail: str) -> tuple[tuple[str, ...], int]:
    """The ids that a model and the words behind it may mean, and how much of the words was used."""
    variants = _by_model()[model] + _by_model().get(singular, ())
    words_of: dict[str, set[str]] = {}
    kept, used = variants, 0
    for match in _PATTERNS["word"].finditer(tail):
        # `80 GiB` and `80 Go` -> `80gb`, `Max-Q` -> `maxq`, `PCIe Gen5` -> `pcie`.
        word = re.sub(r"^(\d+)(?:g[io]?b?)?$", r"\1gb", _plain(match[0]))
        word = "pcie" if word.startswith("pcie") else word
        kind = next((kind for part, kind in _KINDS if part in word), None)
        kind = kind or (word if word in ("edition", "gpu", "generation") else "form")
        trial = {gpu_id: set(words) for gpu_id, words in words_of.items()}
        trial.setdefault(kind, set()).add(word)
        fitting = tuple(
            v for v in variants if all(any(_says(v, word) for word in words) for words in trial.values())
        )
        if not fitting and word in _ANOTHER and tail[match.start() - 1 : match.start()] != "(":
            # Its words belong to the name of that other product, so that nothing is claimed of this one.
            return (), match.end()
        if not fitting or not any(_says(v, word) for v in variants):
            break
        words_of, kept, used = trial, fitting, match.end()
    ids = {gpu_id for gpu_id, _ in kept}
    return tuple(spec.id for spec in load.all_gpus() if spec.id in ids), used


def _says(variant: _Variant, word: str) -> bool:
    """`sxm` is said by `sxm4`, `hbm2` by `hbm2e`; a memory size only by itself."""
    return any(w == word or (not word[0].isdigit() and w.startswith(word)) for w in variant[1])


@cache
def _by_model() -> Mapping[str, tuple[_Variant, ...]]:
    """Models without spaces, in lower case, to their variants; gpu_id None is outside the catalog."""
    variants_of: dict[str, list[_Variant]] = {}
    # "L4 (Ada)" is the L4; of no other architecture the name is a part of product names.
    ada = {spec.id for spec in load.all_gpus() if str(spec.text("architecture")).startswith("Ada")}
    for gpu_id, models, words in load.models():
        said = frozenset(words) | ({"ada"} if gpu_id in ada else set())
        for model in models:
            variants_of.setdefault(_plain(model), []).append((gpu_id, said))
    return {key: tuple(variants) for key, variants in variants_of.items()}


def _plain(model: str) -> str:
    return re.sub(r"[^a-z0-9]", "", model.lower())


@cache
def _tree() -> tuple[_Node, frozenset[str], frozenset[str]]:
    """The tree of all models, the numbers of RTX cards that lists write alone, and the models that are
    ordinary words or numbers, too."""
    root = _Node()
    numbers, weak = set(), set()
    for model in {model for _, models, _ in load.models() for model in models}:
        node = root
        for word in re.findall(r"[A-Za-z]+\d+[A-Za-z]*|\d+[A-Za-z]*|[A-Za-z]+", model):
            # A code such as A100 is written in one, while RTX 4090 may have a gap or none.
            for place, atom in enumerate(_PATTERNS["atom"].findall(word.lower())):
                edges = node.glued if place else node.spaced
                node = edges.setdefault(atom, _Node())
        node.model = _plain(model)
        if model[0] == "?":
            weak.add(node.model)
        if re.fullmatch(r"RTX \d{4}", model):
            numbers.add(model[4:])
    return root, frozenset(numbers), frozenset(weak)
