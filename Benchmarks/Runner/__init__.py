"""Runs the benchmarks' programs, and makes results.json, a table, a report and the README's tables of their figures."""
