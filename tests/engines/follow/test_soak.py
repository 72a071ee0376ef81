"""A day in ten minutes: what `python -m tests.engines.soak` holds in an hour, and prints."""

from __future__ import annotations

import os

import pytest

from tests.engines.servers import Server
from tests.engines.soak import Soak


@pytest.mark.skipif(not os.environ.get("NEARDUP_ALL"), reason="takes ten minutes; make test-all")
def test_a_day_in_ten_minutes(own_server: Server) -> None:
    Soak(own_server, minutes=8, documents=12_000, may_restart=True).run()
