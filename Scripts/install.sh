#!/usr/bin/env bash
# Installs what the Makefile's targets need from the system's package manager, and only what is missing.
# Usage: Scripts/install.sh [build|test|check|docs|budgets|bench|bench-peers|browser|routes|doctor-faults|crashes|
#        http-oracle|interop|autobahn|model|platforms|roots|deb]...      (default: build)
#
# On Debian and Ubuntu it installs. Elsewhere it says what is missing, and the command that should install it.
set -euo pipefail

readonly minimum_swift=6.2

usage() {
    sed -n '2,6s/^# \{0,1\}//p' "$0"
}

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

# Debian and Ubuntu package names for one purpose.
debian_packages() {
    case $1 in
        build)
            # Swift compiles C++ with the headers of the system's compiler.
            echo libwebsockets-dev libsimdjson-dev zlib1g-dev libssl-dev libsqlite3-dev pkg-config g++ make ca-certificates
            ;;
        check) echo shellcheck python3 ;;
        docs) echo python3 mandoc zsh fish ;;
        # redis-tools has the server's program as well; the package redis-server would start a service.
        test) echo tinyproxy-bin microsocks stunnel4 curl openssl procps gcc libc6-dev redis-tools ;;
        budgets) echo python3 valgrind binutils ;;
        bench) echo python3 ;;
        bench-peers)
            echo python3 python3-venv curl ca-certificates util-linux g++ libboost-dev libcurl4-openssl-dev cargo \
                golang-go golang-github-gorilla-websocket-dev
            ;;
        browser) echo python3 chromium fonts-dejavu-core ;;
        routes) echo python3 iproute2 util-linux ;;
        doctor-faults)
            echo python3 python3-venv ca-certificates openssl squid tinyproxy-bin dante-server nginx-light haproxy faketime \
                iproute2 util-linux mount
            ;;
        crashes) echo python3 strace ;;
        http-oracle) echo python3 python3-venv ca-certificates ;;
        interop)
            echo python3 python3-venv curl ca-certificates nodejs node-ws openssl squid haproxy dante-server util-linux mount \
                chromium fonts-dejavu-core
            ;;
        autobahn) echo python3 python3-venv gcc libc6-dev ca-certificates debian-archive-keyring openssl ;;
        model) echo spin gcc libc6-dev ;;
        platforms) echo debootstrap qemu-user-static util-linux python3 ;;
        roots) echo debootstrap util-linux python3 ;;
        dependency) echo python3 git ;;
        deb) echo python3 dpkg-dev binutils chrpath lintian ;;
        *) fail "unknown purpose '$1': see Scripts/install.sh --help" ;;
    esac
}

# The build's packages elsewhere, as one command. None of these has been tried.
command_elsewhere() {
    local manager
    for manager in dnf zypper pacman apk brew; do
        command -v "$manager" >/dev/null && break
    done
    case $manager in
        dnf) echo 'dnf install libwebsockets-devel simdjson-devel zlib-devel openssl-devel pkgconf-pkg-config gcc-c++ make ca-certificates' ;;
        zypper) echo 'zypper install libwebsockets-devel simdjson-devel zlib-devel libopenssl-devel pkg-config gcc-c++ make ca-certificates' ;;
        pacman) echo 'pacman -S libwebsockets simdjson zlib openssl pkgconf gcc make ca-certificates' ;;
        apk) echo 'apk add libwebsockets-dev simdjson-dev zlib-dev openssl-dev pkgconf g++ make ca-certificates' ;;
        brew) command -v brew >/dev/null || return 0
            echo 'brew install libwebsockets simdjson zlib openssl@3 pkgconf' ;;
    esac
}

# Advice for systems without apt-get; silent where the libraries are installed.
advise_elsewhere() {
    local advice purpose
    for purpose in "$@"; do
        if [[ $purpose != build ]]; then
            printf "install.sh: '%s' uses the equivalents of Debian's %s\n" "$purpose" "$(debian_packages "$purpose")" >&2
        elif ! pkg-config --exists 'libwebsockets >= 4.1' simdjson zlib openssl 2>/dev/null; then
            advice=$(command_elsewhere)
            fail "libwebsockets, simdjson, zlib or OpenSSL is missing: ${advice:-install the equivalents of $(debian_packages build)} (untried)"
        fi
    done
}

is_installed_on_debian() {
    # A package that another one only names is `not-installed`.
    dpkg-query --show --showformat '${db:Status-Status}\n' "$1" 2>/dev/null | grep --quiet --line-regexp installed
}

# A program that came another way, such as a Node from its maker, is as good as the package.
is_available_on_debian() {
    case $1 in
        g++ | gcc | make | curl | python3 | shellcheck | mandoc | zsh | fish | spin | strace | valgrind | debootstrap | cargo) command -v "$1" >/dev/null || is_installed_on_debian "$1" ;;
        tinyproxy-bin) command -v tinyproxy >/dev/null || is_installed_on_debian "$1" ;;
        dante-server) command -v danted >/dev/null || is_installed_on_debian "$1" ;;
        stunnel4) command -v stunnel >/dev/null || is_installed_on_debian "$1" ;;
        openssl) command -v openssl >/dev/null || is_installed_on_debian "$1" ;;
        golang-go) command -v go >/dev/null || is_installed_on_debian "$1" ;;
        nodejs) command -v node >/dev/null || is_installed_on_debian "$1" ;;
        pkg-config) command -v pkg-config >/dev/null ;;
        python3-venv) python3 -c 'import ensurepip, venv' 2>/dev/null ;;
        *) is_installed_on_debian "$1" ;;
    esac
}

# Sets `as_root` to the command that gives root's rights; fails, with what to do, where there is none.
become_root() {
    as_root=()
    ((EUID != 0)) || return 0
    command -v sudo >/dev/null || fail "needs $*: run 'apt-get install $*' as root, or install sudo"
    as_root=(sudo)
}

install_packages() {
    local as_root
    become_root "$@"
    # Targets that are made at the same time install one after another.
    exec 9<"${BASH_SOURCE[0]}"
    flock 9
    printf 'Installing %s\n' "$*" >&2
    # A daemon that a package starts does not inherit the lock.
    "${as_root[@]}" apt-get -qq update 9<&-
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes \
        apt-get -qq --no-install-recommends --option Dpkg::Use-Pty=0 install "$@" >/dev/null 9<&-
    exec 9<&-
}

install_on_debian() {
    local missing=() name purpose packages
    for purpose in "$@"; do
        packages=$(debian_packages "$purpose")
        for name in $packages; do
            is_available_on_debian "$name" || missing+=("$name")
        done
    done
    ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
    # Behind the others, because the lists of packages are up to date then.
    for purpose in "$@"; do
        if [[ $purpose == build ]] && ! command -v swift >/dev/null && has_recent_swiftlang; then
            install_packages swiftlang
        fi
    done
}

is_recent() {
    [[ $(printf '%s\n' "$minimum_swift" "$1" | sort --version-sort | head -n 1) == "$minimum_swift" ]]
}

# Succeeds where the distribution has a Swift that is new enough.
has_recent_swiftlang() {
    local candidate
    candidate=$(apt-cache policy swiftlang 2>/dev/null | sed -nE 's/^ *Candidate: ([0-9][0-9.]*).*/\1/p')
    [[ -n $candidate ]] && is_recent "$candidate"
}

check_swift() {
    local advice="install Swift $minimum_swift or newer from https://www.swift.org/install and put its 'swift' on PATH"
    command -v swift >/dev/null || fail "no 'swift' found: $advice"
    local version
    version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
    [[ -n $version ]] || fail "'swift --version' gave no version: $advice"
    is_recent "$version" || fail "found Swift $version: $advice"
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

if command -v apt-get >/dev/null; then
    install_on_debian "${purposes[@]}"
else
    advise_elsewhere "${purposes[@]}"
fi
for purpose in "${purposes[@]}"; do
    if [[ $purpose == build ]]; then check_swift; fi
done
