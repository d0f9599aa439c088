#!/usr/bin/env bash
# Draws a report and looks at it in Chromium, light and dark, wide and narrow; fails when text is cut, covered or pale.
# Usage: Scripts/report-screenshots.sh [RESULTS] [FOLDER]
#
# RESULTS is a results.json (the last one), FOLDER is where the pictures go (Benchmarks/.build/screenshots).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly results=${1:-Benchmarks/.build/results/results.json}
readonly folder=${2:-Benchmarks/.build/screenshots}

mkdir -p "$folder"
PYTHONPATH=Benchmarks python3 -m Runner report "$results" --output "$folder/report.html"
python3 Benchmarks/Runner/screenshots.py "$folder/report.html" "$folder"
