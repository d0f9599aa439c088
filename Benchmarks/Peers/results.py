"""Figures as ../RESULTS.md has them, appended to a file while they are measured."""

import json
import statistics


class Results:
    """A file of lines, and a table on the terminal. Without a file there is only the table."""

    def __init__(self, path):
        self.path = path

    def append(self, line):
        if self.path:
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False, sort_keys=True) + "\n")

    def figure(self, *, version=None, decodes=None, amount=None, work=None, **members):
        """Appends a figure; what is None is left out."""
        optional = {"version": version or None, "decodes": decodes, "amount": amount, "work": work}
        self.append({**members, **{name: value for name, value in optional.items() if value is not None}})

    def missing(self, subject, why):
        """Names what has no figure, and why."""
        why = " ".join(why.split())[:300]
        self.append({"missing": {"subject": subject, "why": why}})
        print(f"  {subject}: MISSING: {why}", flush=True)


def last_line(text):
    """What a program said last: its error."""
    lines = [line for line in (text or "").strip().splitlines() if line.strip()]
    return lines[-1] if lines else "no answer"


def scaled(value):
    """A value with as many digits as say something."""
    if value >= 1e6:
        return f"{value / 1e6:,.2f} M"
    if value >= 1e4:
        return f"{value / 1e3:,.1f} k"
    return f"{value:,.1f}" if value >= 10 else f"{value:.2f}"


def spread(runs):
    """The median, and the range behind it."""
    return f"{scaled(statistics.median(runs)):>10}  ({scaled(min(runs))} to {scaled(max(runs))})"
