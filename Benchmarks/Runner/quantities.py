"""Values with units as text: `3.52 M events/s`, `16.0 GB/s`, `12.3 µs`."""

from __future__ import annotations

PREFIXES = [(1e9, "G"), (1e6, "M"), (1e3, "k")]
TIMES = ["ns", "µs", "ms", "s"]


def number(value: float) -> str:
    """Formats a number with three significant digits and separators of thousands."""
    size = abs(value)
    if size >= 100:
        return f"{value:,.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 1:
        return f"{value:.2f}"
    return "0" if size == 0 else f"{value:.3f}" if size >= 0.0005 else f"{value:.1g}"


def quantity(value: float, unit: str) -> str:
    """Formats a value with its unit: bytes, events and messages with a decimal prefix, times in the one that suits."""
    base, slash, per = unit.partition("/")
    factor = scale(value, unit)
    if base in ("bytes", "events", "messages"):
        name = f"B{slash}{per}" if base == "bytes" else f" {unit}"
        prefix = dict(PREFIXES).get(factor, "")
        return f"{number(value / factor)} {prefix}{name}".replace("  ", " ")
    if base in TIMES and not slash:
        steps = len(f"{factor:.0f}") // 3
        return f"{number(value / factor)} {TIMES[TIMES.index(base) + steps]}"
    return number(value) if unit in ("", "/event") else f"{number(value)} {unit}"


def scale(value: float, unit: str) -> float:
    """Returns what `quantity` divides a value by before it formats it."""
    base, slash, _ = unit.partition("/")
    if base in ("bytes", "events", "messages"):
        return next((factor for factor, _ in PREFIXES if abs(value) >= factor), 1)
    if base not in TIMES or slash:
        return 1
    factor, last = 1, len(TIMES) - 1 - TIMES.index(base)
    while abs(value) >= 1_000 * factor and factor < 1_000 ** last:
        factor *= 1_000
    return factor


def times(ratio: float) -> str:
    """Formats a ratio: 9.40 ×, 0.031 ×."""
    return f"{ratio:.2g} ×" if ratio < 0.1 else f"{number(ratio) if ratio >= 1 else f'{ratio:.2f}'} ×"


def spread(share: float, count: int) -> str:
    """Formats the spread of `count` runs in percent; empty for a single run."""
    return f"{share * 100:.0f} %" if count > 1 else ""
