"""Made texts of one template with other facts: invoices, logs, tables."""

from __future__ import annotations

import random


def invoices(count: int = 100) -> list[str]:
    """Bills of one firm to one customer for the same things: only numbers differ, and no two are the same."""
    draw = random.Random(1)
    made = []
    for _ in range(count):
        lines = [
            f"{draw.randint(1, 9)} {what}, {draw.uniform(5, 90):.2f} EUR each, {draw.uniform(50, 900):.2f} EUR"
            for what in (
                "hours of cleaning",
                "kilograms of coffee",
                "boxes of white paper",
                "cartridges of black toner",
            )
        ]
        made.append(
            f"Invoice number {draw.randint(1, 10**6)} of {draw.randint(1, 28)}.{draw.randint(1, 12)}.2024 to customer "
            f"{draw.randint(1, 10**5)}. We charge you for our deliveries and services as agreed in our contract:\n"
            + "\n".join(lines)
            + f"\nTotal {draw.uniform(200, 4000):.2f} EUR, {draw.uniform(30, 600):.2f} EUR of it value added tax. "
            f"Please pay within {draw.choice((14, 30))} days to account {draw.randint(10**9, 10**10)}. Goods remain "
            "our property until they are paid in full."
        )
    return made


def logs(count: int = 60, lines: int = 100) -> list[str]:
    """Days of a machine that does the same things in the same order every day, at other times and with other counts."""
    draw = random.Random(2)
    tasks = (
        "session opened for user root by uid {}",
        "backup of volume data finished in {} ms with status {}",
        "disk usage of volume data is {} percent of {} GB",
        "worker {} restarted after {} requests",
        "cache holds {} keys, {} were dropped",
    )
    return [
        "\n".join(
            f"{draw.randint(0, 23)}:{draw.randint(0, 59)}:{draw.randint(0, 59)} host app[{draw.randint(100, 9999)}]: "
            + tasks[line % len(tasks)].format(draw.randint(1, 9999), draw.randint(1, 9999))
            for line in range(lines)
        )
        for _ in range(count)
    ]


def tables(count: int = 60) -> list[str]:
    """Measurements at the same stations on other days."""
    draw = random.Random(3)
    stations = ("Hamburg", "Berlin", "Munich", "Cologne", "Bremen", "Dresden", "Leipzig", "Kiel")
    return [
        "station;temperature;pressure;humidity;wind\n"
        + "\n".join(
            f"{station};{draw.uniform(-10, 35):.1f};{draw.uniform(980, 1040):.1f};{draw.randint(20, 100)};"
            f"{draw.uniform(0, 30):.1f}"
            for station in stations * 6
        )
        for _ in range(count)
    ]
