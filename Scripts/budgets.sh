#!/usr/bin/env bash
# Builds what the budgets are about, and holds it against them: see Benchmarks/Runner/budgets.py.
# Usage: Scripts/budgets.sh [--accept] [NAME]...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly budgets=Benchmarks/budgets.tsv

if [[ $(uname -sm) != "Linux x86_64" ]]; then
    echo "budgets: skipped, they are counted on x86-64 Linux"
    exit 0
fi
SECONDS=0
mapfile -t products < <(grep -v -e '^#' -e '^$' "$budgets" | cut -f 2 | sort -u)
# What stands beside them.
products+=(stream-server)
for product in "${products[@]}"; do
    swift build --quiet --configuration release --package-path Benchmarks --product "$product"
done
folder=$(swift build --configuration release --package-path Benchmarks --show-bin-path)
built=$SECONDS
python3 Benchmarks/Runner/budgets.py "$folder" "$@"
echo "budgets: built in $built s, counted in $((SECONDS - built)) s"
