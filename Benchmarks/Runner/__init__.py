"""Runs the benchmarks' programs and makes of their figures: results.json, a table, a report, tables of the READMEs."""
