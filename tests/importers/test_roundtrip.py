# SPDX-License-Identifier: MIT
"""The table of what goes in and comes out, and its larger runs at a small size."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.roundtrip.__main__ import rows
from bench.roundtrip.large import SHAPES, measure

from .samples import SAMPLES, Sample


def test_nothing_is_lost_invented_or_doubled_in_a_sample() -> None:
    chosen = [(name, SAMPLES[name]) for name in ("ChatGPT", "agent log", "llm")]
    for row, (name, sample) in zip(rows(chosen), chosen, strict=True):
        assert (row.shape, row.format) == (name, sample.format)
        assert (row.conversations, row.messages) == (1, 4)
        assert (row.lost, row.invented, row.again) == (0, 0, 0)


def test_the_table_sees_a_loss_and_an_invention() -> None:
    sample: Sample = SAMPLES["agent log"]
    (less,) = rows([("less", replace(sample, said=(*sample.said, ("user", "and back"))))])
    assert (less.lost, less.invented) == (1, 0)
    (more,) = rows([("more", replace(sample, said=sample.said[1:]))])
    assert (more.lost, more.invented) == (0, 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_goes_into_a_generated_file_comes_out(shape: str) -> None:
    run = measure(shape, 200_000)
    assert run.same
    assert run.messages == run.exported > 40
