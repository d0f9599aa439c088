#!/usr/bin/env bash
# Builds a package that stands beside the main one, such as Benchmarks or Fuzz; says so when there is none.
# Usage: Scripts/build-package.sh FOLDER [swift build options]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if (($# == 0)); then
    sed -n '3s/^# //p' "${BASH_SOURCE[0]}" >&2
    exit 64
fi
folder=$1
shift
if [[ ! -f $folder/Package.swift ]]; then
    printf '%s: not there, nothing to build\n' "$folder"
    exit 0
fi
swift build --package-path "$folder" "$@"
