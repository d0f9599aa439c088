#!/usr/bin/env bash
# Draws a report and looks at it in Chromium, light and dark, wide and narrow; fails when text is cut, covered or pale.
# Usage: Scripts/report-screenshots.sh [RESULTS] [FOLDER]
#
# RESULTS is a results.json (the last one), FOLDER is where the pictures go (Benchmarks/.build/screenshots).
set -euo pipefail
results=${1:+$(realpath --canonicalize-missing "$1")}
folder=${2:+$(realpath --canonicalize-missing "$2")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

results=${results:-Benchmarks/.build/results/results.json}
folder=${folder:-Benchmarks/.build/screenshots}

mkdir -p "$folder"
PYTHONPATH=Benchmarks python3 -m Runner report "$results" --output "$folder/report.html"
python3 Benchmarks/Runner/screenshots.py "$folder/report.html" "$folder"
