"""The examination of a store."""

from __future__ import annotations

import os
from collections.abc import Callable

from indexer.doctor import examination
from indexer.errors import StoreError
from indexer.library.outcomes import Examination
from indexer.stores.findings import Finding
from indexer.text.hiding import shown_name


def examine(
    store: str | os.PathLike[str], *, texts: bool = False, told: Callable[[Finding], object] | None = None
) -> Examination:
    """The findings about what is wrong with a store, or soon will be, as `neardup doctor`; nothing is changed.

    With `texts` every document is read again, to find those that have changed. `told` is called with each finding as
    it is made. Where the store can't be opened, the findings before that are there, and the `error`.
    """
    findings: list[Finding] = []
    failed: StoreError | None = None
    name = os.fspath(store)
    try:
        for finding in examination.examine(name, texts=texts):
            findings.append(finding)
            if told:
                told(finding)
    except StoreError as error:
        failed = error
    healthy = failed is None and all(finding.level == "ok" for finding in findings)
    return Examination(shown_name(name), healthy, tuple(findings), failed)
