#!/usr/bin/env bash
# Installs what the Makefile's targets need from the system's package manager, and only what is missing.
# Usage: Scripts/install.sh [build|check|docs|proxy|budgets|bench|bench-peers|report|crashes|interop|autobahn|model]...
#        (default: build)
set -euo pipefail

readonly minimum_swift=6.2

usage() {
    sed -n '2,4s/^# //p' "$0"
}

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

# Debian and Ubuntu package names for one purpose.
debian_packages() {
    case $1 in
        build)
            echo libwebsockets-dev libsimdjson-dev zlib1g-dev libev-dev libssl-dev pkg-config make ca-certificates
            ;;
        check) echo shellcheck python3 ;;
        docs) echo python3 ;;
        proxy) echo tinyproxy-bin ;;
        budgets | bench) echo python3 valgrind binutils ;;
        bench-peers) echo python3 python3-venv curl ca-certificates util-linux ;;
        report) echo python3 chromium fonts-dejavu-core ;;
        crashes) echo python3 strace ;;
        interop) echo python3 python3-venv curl ca-certificates nodejs node-ws openssl squid ;;
        autobahn) echo python3 python3-venv gcc libc6-dev ca-certificates debian-archive-keyring openssl ;;
        model) echo spin gcc libc6-dev ;;
        *) fail "unknown purpose '$1' (build, check, docs, proxy, budgets, bench, bench-peers, report, crashes, interop, autobahn or model)" ;;
    esac
}

# Homebrew formulae for one purpose. Nobody has tried this branch on a Mac yet.
homebrew_formulae() {
    case $1 in
        build) echo libwebsockets simdjson zlib libev openssl@3 pkg-config ;;
        check) echo shellcheck python ;;
        docs) echo python ;;
        proxy) echo tinyproxy ;;
        budgets) ;; # They are counted on Linux only.
        bench) echo python ;; # Without valgrind: instructions are counted on Linux only.
        report) fail "the report is looked at in Debian's Chromium; run it on Linux" ;;
        crashes) fail "processes are killed at their system calls by strace; run it on Linux" ;;
        interop) echo python node squid ;;
        autobahn) fail "the Autobahn suite is set up from Debian packages; run it on Linux" ;;
        model) echo spin ;;
        bench-peers) fail "the peers are measured on Linux only" ;;
        *) fail "unknown purpose '$1' (build, check, docs, proxy, budgets, bench, bench-peers, report, crashes, interop, autobahn or model)" ;;
    esac
}

is_installed_on_debian() {
    # A package that another one only names is `not-installed`.
    dpkg-query --show --showformat '${db:Status-Status}\n' "$1" 2>/dev/null | grep --quiet --line-regexp installed
}

# A program that came another way, such as a Node from its maker, is as good as the package.
is_available_on_debian() {
    case $1 in
        gcc | make | curl | python3 | shellcheck | spin | strace | valgrind) command -v "$1" >/dev/null || is_installed_on_debian "$1" ;;
        tinyproxy-bin) command -v tinyproxy >/dev/null || is_installed_on_debian "$1" ;;
        openssl) command -v openssl >/dev/null || is_installed_on_debian "$1" ;;
        nodejs) command -v node >/dev/null || is_installed_on_debian "$1" ;;
        pkg-config) command -v pkg-config >/dev/null ;;
        python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        *) is_installed_on_debian "$1" ;;
    esac
}

install_on_debian() {
    local missing=() name purpose packages
    for purpose in "$@"; do
        packages=$(debian_packages "$purpose")
        for name in $packages; do
            is_available_on_debian "$name" || missing+=("$name")
        done
    done
    ((${#missing[@]} > 0)) || return 0

    local as_root=()
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            fail "needs ${missing[*]}: run 'apt-get install ${missing[*]}' as root, or install sudo"
        as_root=(sudo)
    fi
    printf 'Installing %s\n' "${missing[*]}" >&2
    "${as_root[@]}" apt-get -qq update
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes \
        apt-get -qq --no-install-recommends --option Dpkg::Use-Pty=0 install "${missing[@]}" >/dev/null
}

install_on_macos() {
    command -v brew >/dev/null || fail "needs Homebrew: see https://brew.sh"
    local purpose missing=() name formulae
    for purpose in "$@"; do
        formulae=$(homebrew_formulae "$purpose")
        for name in $formulae; do
            brew list --formula "$name" >/dev/null 2>&1 || missing+=("$name")
        done
    done
    ((${#missing[@]} > 0)) || return 0
    brew install --quiet "${missing[@]}"
}

check_swift() {
    local advice="install Swift $minimum_swift or newer from https://www.swift.org/install and put its 'swift' on PATH"
    command -v swift >/dev/null || fail "no 'swift' found: $advice"
    local version
    version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
    [[ -n $version ]] || fail "'swift --version' gave no version: $advice"
    if [[ $(printf '%s\n' "$minimum_swift" "$version" | sort --version-sort | head -n 1) != "$minimum_swift" ]]; then
        fail "found Swift $version: $advice"
    fi
}

purposes=()
for argument in "$@"; do
    case $argument in
        -h | --help)
            usage
            exit 0
            ;;
        *) purposes+=("$argument") ;;
    esac
done
((${#purposes[@]} > 0)) || purposes=(build)

case $(uname -s) in
    Darwin) install_on_macos "${purposes[@]}" ;;
    Linux)
        command -v apt-get >/dev/null ||
            fail "knows apt-get only: install the equivalents of $(debian_packages build) yourself"
        install_on_debian "${purposes[@]}"
        ;;
    *) fail "runs on Linux and macOS only" ;;
esac
for purpose in "${purposes[@]}"; do
    if [[ $purpose == build ]]; then check_swift; fi
done
