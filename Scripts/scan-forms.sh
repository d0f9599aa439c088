#!/usr/bin/env bash
# Compiles the search for line terminators in each of its forms, and holds every form against a plain loop.
# NEON needs a compiler and an emulator for arm64 (Debian: gcc-aarch64-linux-gnu, qemu-user), and is left out without.
# Usage: Scripts/scan-forms.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly include=Sources/C/CLineTerminatorScan/include test=Tests/Protocols/LineTerminatorScan/forms.c
readonly folder=.build/scan-forms
readonly warnings=(-std=c11 -O2 -Wall -Wextra -Wconversion -Werror)
mkdir -p "$folder"

# Runs one form: its name, and how it is compiled.
run() {
    local name=$1
    shift
    clang "${warnings[@]}" -fuse-ld=lld -fsanitize=address,undefined "$@" -I "$include" "$test" -o "$folder/$name"
    "$folder/$name" || {
        printf '%s: wrong\n' "$name" >&2
        exit 1
    }
    printf '%s: as a plain loop\n' "$name"
}

run words -DCLTS_PORTABLE
if [[ $(uname -m) == x86_64 ]]; then
    run sse2
    if grep -qw avx2 /proc/cpuinfo; then run avx2 -mavx2; fi
else
    run native
fi
if [[ $(uname -m) != aarch64 ]] && command -v aarch64-linux-gnu-gcc qemu-aarch64 >/dev/null; then
    aarch64-linux-gnu-gcc "${warnings[@]}" -static -I "$include" "$test" -o "$folder/neon"
    qemu-aarch64 "$folder/neon"
    printf 'neon: as a plain loop\n'
else
    printf 'neon: left out, there is no compiler or emulator for arm64\n'
fi
