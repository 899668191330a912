"""What is printed is what was found."""

from __future__ import annotations

import pytest

from gpuwise.cli import print as printer
from gpuwise.report.table import Table


@pytest.mark.parametrize("text", ["resnet50:train:fp32", "[bold]x[/bold]", "a [link", "\\[x]"])
def test_every_text_of_a_table_is_shown_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    printer.table(Table(title=text, columns=(text,), rows=((text,),), before=(text,), notes=(text,)))
    assert capsys.readouterr().out.count(text) == 5


def test_a_table_without_rows_is_its_notes(capsys: pytest.CaptureFixture[str]) -> None:
    printer.table(Table(columns=("where", "why"), rows=(), notes=("nothing found",)))
    assert capsys.readouterr().out == "  nothing found\n"
    printer.table(Table(columns=("where", "why"), rows=()))
    assert "where" in capsys.readouterr().out
