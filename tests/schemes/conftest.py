"""The contract is asserted in a module that is no test file itself."""

from __future__ import annotations

import pytest

pytest.register_assert_rewrite("indexer.testing")
