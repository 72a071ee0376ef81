"""Starts each engine that is at hand and measures it: `python -m tests.engines.bench [OPTION]...`.

`--engine NAME` measures that one only (it can be repeated); other options are those of `tests.benchmarks.engines`, or
of `large`, `at_once`, `price`, `long` and `commands` there with `--large`, `--at-once`, `--price`, `--long` and
`--commands`.
"""

from __future__ import annotations

import argparse

from tests.benchmarks import at_once, commands, engines, large, long, price
from tests.engines.downloads import MissingError
from tests.engines.servers import Elasticsearch, KnnOpenSearch, Server

ENGINES: dict[str, type[Server]] = {"elasticsearch": Elasticsearch, "opensearch": KnnOpenSearch}


def main() -> None:
    """Measure the engines asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", action="append", choices=list(ENGINES))
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--at-once", action="store_true")
    parser.add_argument("--price", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--commands", action="store_true")
    asked, options = parser.parse_known_args()
    for name in asked.engine or ENGINES:
        try:
            server = ENGINES[name]()
        except MissingError as error:
            print(f"{name}: not measured: {error}")
            continue
        try:
            server.launch()
            server.ready()
            print(f"== {name}", flush=True)
            if asked.large:
                large.main(["--store", f"{server.url}/large", *options])
            elif asked.at_once:
                at_once.main(["--store", f"{server.url}/at-once", *options])
            elif asked.price:
                price.main(["--cluster", server.url, *options])
            elif asked.long:
                long.main(["--cluster", server.url, *options])
            elif asked.commands:
                commands.main(["--cluster", server.url, *options])
            else:
                engines.main(["--cluster", server.url, *options])
        finally:
            server.stop()


if __name__ == "__main__":
    main()
