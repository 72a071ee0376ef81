"""Which Java is here, and whether the Spark that is installed takes it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib import metadata

# docs/how-to/spark.md says the same.
OF_SPARK = {3: (8, 11, 17), 4: (17, 21)}


def java() -> int:
    """The version of the Java that Spark would take; 0 for none."""
    home = os.environ.get("JAVA_HOME")
    found = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not found or not os.path.exists(found):
        return 0
    said = subprocess.run([found, "-version"], capture_output=True, text=True).stderr
    version = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(version[1]) if version else 0


def java_missing() -> str:
    """What the Spark that is installed needs and lacks; empty where it is here."""
    taken = OF_SPARK[int(metadata.version("pyspark").partition(".")[0])]
    here = java()
    return "" if here in taken else f"{' or '.join(map(str, taken))}, found {here or 'none'}"
