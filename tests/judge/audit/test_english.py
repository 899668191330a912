"""Function words of other languages are read as English ones; names, figures and units stay."""

from __future__ import annotations

import pytest

from gpuwise.judge.audit.english import in_english, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Die Karte hat mehr als die andere", "de"), ("La carte a plus de mémoire que les autres", "fr"),
        ("La tarjeta tiene más memoria que la otra", "es"), ("La scheda ha più memoria delle altre", "it"),
        ("A placa tem mais do que as outras", "pt"), ("The card has more memory than the other", "en"),
        ("Видеокарта имеет больше памяти чем другая", "ru"), ("De kaart heeft meer dan de andere", "nl"),
        ("Kart daha fazla bellek ve bant genişliği sunuyor", "tr"), ("显卡配备更大的显存", "zh"),
        ("このカードは多くのメモリを搭載", "ja"), ("이 카드는 더 많은 메모리", "ko"),
        # One word is not enough, and two languages that lead together are none.
        ("RTX 4090 ma 32 GB", "en"), ("la de", "en"), ("", "en"),
    ],
)  # fmt: skip
def test_language(text: str, language: str) -> None:
    assert language_of([text]) == language


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("Die T4 hat 16 GB", "The T4 has 16 GB"),
        ("l'A100 et l'H100", "the A100 and the H100"),
        ("16.384 núcleos de trazado de rayos", "16.384 RT cores"),
        # Letters that no spaces part: one space, not a gap between columns.
        ("显卡RTX 4060 配备 8GB显存和TDP为115W", "显卡RTX 4060 has 8GB显存 and TDP为115W"),
        ("до 8 ГБ или тензорных ядер", "to 8 ГБ or tensor cores"),
        # A capital within a sentence is part of a name.
        ("mit Radeon Pro und Titan", "with Radeon Pro and Titan"),
        ("RTX PRO 6000 mit 96 GB", "RTX PRO 6000 with 96 GB"),
    ],
)
def test_words(text: str, english: str) -> None:
    language = language_of([text])
    assert (
        in_english(
            text, {"l": "fr", "1": "es", "д": "ru"}.get(text[0], "de") if language == "en" else language
        )
        == english
    )
