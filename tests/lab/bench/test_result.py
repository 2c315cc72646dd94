"""What a result says about the machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from thisthat_lab.bench.result import processor

ARM = "processor : 0\nFeatures : fp asimd\nCPU implementer : {}\nCPU part : {}\n"


@pytest.mark.parametrize(
    ("told", "name"),
    [
        (
            "vendor_id : Maker\nmodel name : Some Processor: fast\nflags : fpu\n",
            "Some Processor: fast",
        ),
        (ARM.format("0x41", "0xd0c"), "Neoverse-N1"),
        (ARM.format("0x61", "0x022"), "ARM implementer 0x61, part 0x022"),
        ("hart : 0\n", "another"),
    ],
)
def test_a_processor_is_named_as_the_system_tells_it(
    told: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.processor", lambda: "another")
    info = tmp_path / "cpuinfo"
    info.write_text(told)
    assert processor(info) == name
    assert processor(tmp_path / "nowhere") == "another"
