"""The contract is asserted in a module that is no test file itself."""

from __future__ import annotations

import pytest

for _name in ("asked", "contract", "contract_clusters", "contract_opening", "contract_probes", "contract_schemes"):
    pytest.register_assert_rewrite(f"tests.stores.{_name}")
