"""Find out what sentences say that a GPU can do or has: "The T4 has no FP8", "MIG is on the A100"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from gpuwise.judge.audit.cells import Reading
from gpuwise.judge.audit.grid import claim_of, subject
from gpuwise.judge.audit.words import ABILITIES, CUES, Token, cue_before
from gpuwise.model.judgement import Claim

# The words for abilities.
NAMED = re.compile(
    r"(?<![A-Za-z0-9])(?:" + "|".join(ABILITIES.values()) + r")(?![A-Za-z0-9]"
    r"|-(?!capable|ready|enabled|anschluss|unterst|verbindung|br))",
    re.IGNORECASE,
)
# Things that a list behind a GPU names before the last one, which may be denied.
_LIST_OF = re.compile(
    r"(?P<has>(?:has|with|offers|supports|features|comes with|combines|packs|draws|carries) (?:its )?)?"
    r"(?:(?P<not>(?:no|without) )?(?:(?:" + "|".join(ABILITIES.values()) + r")(?: support)?"
    r"|[\d.,]{1,8} ?(?:[GT]B(?:/s)?|W|TFLOPS|(?:CUDA |tensor |RT )?cores)(?: (?!and )(?:of )?\w{1,10}){0,2}"
    r"|(?:HBM|G?DDR)\w{1,3}"
    r"|(?-i:[A-Z]{2,5}[ -]?\d{1,2}))"
    r"(?:\s?[,;/+]\s?(?:and |but )?|\sand ))+",
    re.IGNORECASE,
)
_ABLE = ("able_not", "able_verb", "able_weak", "able_turn", "able_filler")


def abilities(
    sentence: str, gpus: Sequence[Token], block: int,
    abilities: Sequence[tuple[str, re.Match[str]]], before: str | None = None,
) -> Iterator[Claim]:  # fmt: skip
    """What a GPU can do: "The T4 supports FP8", "the RTX 4090 has no NVLink", "FP8 is not on it".

    Each claim has for its line the place in the sentence where it ends. `abilities`: those that it names;
    `before`: the one that the sentence before names, of which this one may go on: "The A10 does not."
    """
    if not (gpus and (abilities or before)):
        return
    # What a sentence is about is not in its asides: "The T4, unlike the A100, has no bf16".
    aside = ("by_the_way", "likened")
    named = [g for g in gpus if not any(cue_before(cue, sentence, g.start) for cue in aside)]
    for one, other in pairwise(gpus):
        # "Unlike the A100 and H100, the T4 ...": all that it is unlike.
        both = re.fullmatch(r" (?:and|or) (?:the |an? )?| ?/ ?", sentence[one.end : other.start])
        named = [g for g in named if not (g is other and both and one not in named)]
    found: list[tuple[str, list[Token], int, int, str]] = []
    # Who has no FP8 tensor cores may have others.
    of_format = [
        m for f, m in abilities if f == "matrix_units" and CUES["of_format"].search(sentence, 0, m.start())
    ]
    for field, match in abilities:
        lead = sentence[: match.start()]
        first = next((n for n in range(len(named), 0, -1) if named[n - 1].end <= match.start()), 0)
        after = named[first] if first < len(named) else None
        natively = field[:7] != "matrix_" or CUES["natively"].match(sentence, match.end()) is not None
        clause = re.split(r"[.;,]|\sif\s", sentence[match.end() :], maxsplit=1)[0]
        said, owners, start = None, named[:0], 0
        if first:
            # All GPUs of a list have what the last one has.
            from_ = first - 1
            while from_ and CUES["list"].fullmatch(sentence, named[from_ - 1].end, named[from_].start):
                from_ -= 1
            owners, start = named[from_:first], named[first - 1].end
            words = CUES["unlike_aside"].sub(" ", lead[start:]).lstrip(" :*(\u2013\u2014-")
            # "Limitations: no TF32"
            words = re.sub(r"^\w{4,16}: (?=\w)", "", words) if not start else words
            listed = _LIST_OF.match(words)
            if listed and (CUES["behind_name"].match(lead, start) or listed["has"]):
                # "A100: 80 GB, NVLink, no FP8, MIG": each thing of a list is said by itself.
                if listed["not"] and not words[listed.end() :].strip() and not re.search(r"\bn?or\b", clause):
                    continue
                words = words[listed.end() :]
            if ";" in words and not listed:
                # "It supports FP8; FP4 is missing"
                start = lead.rfind(";") + 1
                words = lead[start:]
            said = _answer(words, natively)
            goes_on = re.match(r"\s?(?!(?:and|or|support|for|links?|interconnect)\b)\w", clause)
            if listed and not words.strip() and not goes_on:
                said, words = "yes", "listed"
            if said is None and (further := CUES["does_also"].fullmatch(words)) is not None:
                # "The L40S draws 350 W and supports NVLink."
                said = _answer(further["does"], natively)
            fillers = [CUES["able_filler"].fullmatch(word) for word in words.strip(" ,").split()]
            if all(fillers):
                # "RTX 4090: NVLink", "On the RTX 5090, FP4 is supported", "And MIG is on board".
                few = len(fillers) < 2 and lead[start:].strip() not in ("", ",")
                bare = "yes" if few and not re.match(r"\s?\w", clause) else ""
                shown = "yes" if clause[:6] in (" with ", " into ") else None  # "MIG into 7 parts"
                said = _answer(clause, natively) or bare or shown
            if re.match(r"\s(?:(?:is |are )?(?:unsupported|not supported)\b|not(?: natively)?\s*$)", clause):
                # "The RTX 4090 has NVLink unsupported", as Japanese says it; "supports BF16 not", as German.
                said = "no"
            if answer := re.fullmatch(r":?\s(yes|no)\W*", clause):
                # "FP8 no, BF16 yes", "FP8: no": each answer is of the ability before it.
                said = answer[1]
            said = "yes" if CUES["units_support"].match(sentence, match.end()) else said
            if field == "link" and (linked := CUES["linkable"].search(lead)):
                # "You can pair two of them over NVLink"
                said = "no" if linked["not"] else "yes"
            denied = re.search(
                r"\b(?:neither|nor|none of)\b[^.;,]*$", sentence[: owners[0].start], re.IGNORECASE
            )
            said = {"yes": "no", "no": None, None: None}[said] if denied else said
        if said is None and after is not None:
            # "FP8 is not supported on the A100", "You cannot use FP8 on an A100", "With its FP8, the A100".
            start = max(start, *(lead.rfind(mark) + 1 for mark in ",;:"))
            between = sentence[match.end() : after.start]
            given = CUES["given"].search(lead) and re.fullmatch(
                r"(?: support| tensor cores)?,? (?:the |an? )?", between
            )
            if not re.search(rf",\s(?:{CUES['able_turn'].pattern})\b", between):
                said = _answer(f"{lead[start:]} {between}", natively) or _answer(between, natively)
            if re.match(r"\s*without\b", lead[start:], re.IGNORECASE):
                # "Without tensor cores the H100 reaches 67 TFLOPS" denies nothing.
                continue
            if re.search(r"\b(?:which|that) (?:the |an? )?$", between):
                # "It adds FP4, which the H100 lacks"
                said = _answer(re.split(r"[.;,]", sentence[after.end :], maxsplit=1)[0], natively)
            said, owners = "yes" if given else said, [after]
            for one, other in pairwise(named[first:]):
                # "MIG is available on the A100, A30 and L40S."
                if not CUES["list"].fullmatch(sentence, one.end, other.start) or (
                    # "It is missing on the T4, the A10 has it."
                    re.match(r" (?:still )?(?:has|have|does|can|supports)\b", sentence[other.end :])
                ):
                    break
                owners.append(other)
        if said is not None and not (said == "no" and match in of_format):
            found.append((field, owners, start, match.end(), said))
    for gpu in named:
        # "The A10 does not.", "FP8: L4 yes, A10 no".
        again = CUES["does_too"].match(sentence, gpu.end)
        ability = next(
            (f for f, m in reversed(abilities) if m.end() <= gpu.start and m not in of_format), before
        )
        if again and ability and not any(gpu in owners and f == ability for f, owners, *_ in found):
            said = "no" if again["no"] or again["not"] or again["none"] else "yes"
            found.append((ability, [gpu], gpu.start, again.end(), said))
    for field, owners, start, end, said in found:
        follows = CUES["not_an_ability"].match(sentence, end)
        # What runs in software, or of stored weights alone, is no ability of the chip.
        clause = re.split(r"[,;]", sentence[end:], maxsplit=1)[0]
        doubt = follows or CUES["in_software"].search(sentence[:end] + clause) or sentence.endswith("?")
        # Two cards of different names cannot be linked, whether or not each has NVLink.
        several = len({g.gpu_ids for g in named}) > 1 and CUES["linking"].search(sentence)
        mixed = field == "link" and said == "no" and several
        for gpu in owners:
            owner = subject([gpu])
            stated = sentence[min(start, end) : end].strip(" ,:'\u2019")
            token = Token(kind="name", start=start, end=end, text=stated)
            reading = Reading(field=field, values=(said,), token=token)
            if owner is not None:
                sure = (owner.count == 1 or field == "link") and not (doubt or mixed)
                yield claim_of(reading, replace(owner, count=1), end - 1, block, sure)


def _answer(words: str, natively: bool) -> str | None:
    """Whether words between a GPU and an ability say "yes" or "no"; None where one of them may say more."""
    kinds: list[str] = []
    words = re.sub(r"\bon[- ]?board\b", "available", NAMED.sub(" ", words).lower())
    for word in re.findall(r"[^\W_][\w'\u2019-]*|['\u2019]s|[,;:().!?]", words):
        kind = next((k for k in _ABLE if CUES[k].fullmatch(word)), "" if word in (",", "(", ")") else None)
        if kind is None:
            return None
        kinds.append(kind)
    if re.search(r"\b(?:or|and|/) ?without\b", words):
        return None
    # What stands last before the ability says it; behind a turn the contrary of what was said before.
    told = [kind for kind in kinds if kind not in ("able_filler", "")]
    if not told or (told[-1] == "able_weak" and not natively and "able_not" not in told[-2:]):
        return None
    negated = told[-1] == "able_not" or (
        told[-1] in ("able_verb", "able_weak") and told[-2:-1] == ["able_not"]
    )
    if told[-1] == "able_turn":
        negated = "able_not" not in told
    return "no" if negated else "yes"
