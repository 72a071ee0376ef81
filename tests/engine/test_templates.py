"""The files that an operator installs by hand hold what set-up creates."""

from __future__ import annotations

import json
from pathlib import Path

from indexer.engine.setup.provision import scheme_component
from indexer.schemes import registry

MAPPINGS = Path(__file__).resolve().parents[2] / "mappings"


def test_the_file_of_the_default_form_is_what_set_up_creates() -> None:
    name, wanted = scheme_component(registry.scheme("minhash").info)
    assert json.loads((MAPPINGS / "minhash-template.json").read_text("utf-8")) == wanted
    assert f"`{name}`" in (MAPPINGS / "README.md").read_text("utf-8")
