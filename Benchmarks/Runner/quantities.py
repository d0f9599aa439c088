"""Values as people read them: `3.52 M/s`, `16.0 GB/s`, `12.3 µs`."""

from __future__ import annotations

PREFIXES = [(1e9, "G"), (1e6, "M"), (1e3, "k")]


def number(value: float) -> str:
    """A number with three digits that say something, thousands apart."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return "0" if size == 0 else f"{value:.3f}" if size >= 0.0005 else f"{value:.1g}"


def trimmed(text: str) -> str:
    """Without zeros at the end of a fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def prefixed(value: float, unit: str) -> str:
    """A value with a decimal prefix: 16 GB, 3.52 M."""
    for factor, prefix in PREFIXES:
        if abs(value) >= factor:
            return f"{number(value / factor)} {prefix}{unit}"
    return f"{number(value)} {unit}".strip()


def quantity(value: float, unit: str) -> str:
    """A value with its unit."""
    if unit == "bytes/s":
        return prefixed(value, "B/s")
    if unit == "bytes":
        return prefixed(value, "B")
    if unit == "events/s":
        return f"{prefixed(value, '')} events/s".replace("  ", " ")
    if unit == "/s":
        return f"{number(value)} /s"
    if unit == "/event":
        return f"{number(value)}"
    if unit in ("ns", "ns/event", "µs", "µs/event", "ms") or unit.startswith(("ns", "µs", "ms")):
        return duration(value, unit)
    return f"{number(value)} {unit}".strip()


def duration(value: float, unit: str) -> str:
    """A time in the unit that suits its size; what stands after a slash stays."""
    steps = ["ns", "µs", "ms", "s"]
    base, slash, per = unit.partition("/")
    if base not in steps:
        return f"{number(value)} {unit}"
    index = steps.index(base)
    while abs(value) >= 1_000 and index < len(steps) - 1 and not slash:
        value, index = value / 1_000, index + 1
    return f"{number(value)} {steps[index]}{slash}{per}"


def short(value: float, unit: str) -> str:
    """A value for the tick of an axis: no more than its size."""
    is_large = unit in ("bytes/s", "bytes", "events/s") or abs(value) >= 10_000
    fitting = [item for item in PREFIXES if is_large and abs(value) >= item[0]]
    factor, prefix = fitting[0] if fitting else (1, "")
    text = trimmed(number(value / factor))
    end = "B" if unit in ("bytes/s", "bytes") else f" {unit}" if unit in ("ns", "µs", "ms") and not prefix else ""
    return f"{text} {prefix}{end.strip()}" if end else text + prefix


def times(ratio: float) -> str:
    """A ratio: 9.4 ×, 0.31 ×."""
    return f"{ratio:.2g} ×" if ratio < 0.1 else f"{ratio:.2f} ×" if ratio < 1 else f"{number(ratio)} ×"


def percent(share: float) -> str:
    """A share of one: 53 %, 0.5 %."""
    return f"{share * 100:.0f} %" if share >= 0.1 else f"{share * 100:.1f} %"


def listed(items: list[str]) -> str:
    """Words in a sentence: a, b and c."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else ""


def core(pace: float | None) -> str:
    """Which share of its speed a core had; empty where nobody has looked."""
    return percent(pace) if pace else ""
