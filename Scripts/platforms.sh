#!/usr/bin/env bash
# Runs this checkout on other platforms, each a root folder with a Debian of its own (debootstrap).
# Usage: Scripts/platforms.sh all | sample | PLATFORM...
#
#   all       every platform: the demonstration and the tests; where all pass, the table of README.md is written
#   sample    debian13 with what `make test` has built here: the demonstration and the tests of what uses the system's
#             libraries; left out without root, except in continuous integration (CI)
#   here      this machine, as it is
#   debian12  Debian 12 with this machine's Swift; no part of `all`
#   debian13  Debian 13 with this machine's Swift
#   unstable  Debian unstable with its own Swift
#   arm64     Debian unstable for arm64: cross-compiled, run by qemu's user emulation
#
# Roots are kept in CHAPPIE_PLATFORMS_DIR (default: ~/.cache/chappie-platforms).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=Scripts/roots.sh
source Scripts/roots.sh

# MARK: What is run

# A command of a platform, with what it prints in a log; "passed" or "FAILED", and how long it took.
run_step() {
    local platform=$1 name=$2 log=$folder/$1-$2.log start=$SECONDS
    shift 2
    if "$@" >"$log" 2>&1; then
        printf '%s: %s passed in %d s\n' "$platform" "$name" $((SECONDS - start)) >&2
        return 0
    fi
    printf '%s: %s FAILED after %d s; the end of %s:\n' "$platform" "$name" $((SECONDS - start)) "$log" >&2
    grep -E '^(✘|[^◇✔].*(error:|Fatal))' "$log" | head -n 20 >&2 || true
    tail -n 5 "$log" >&2
    return 1
}

# How many tests a log speaks of.
count_tests() {
    sed -nE 's/.*Test run with ([0-9]+) tests .*/\1/p' "$folder/$1-tests.log" | awk '{ sum += $1 } END { print sum }'
}

# The row of the table: a platform, what its `chappie --version` said, and results.
print_row() {
    local platform=$1 words=$2 text=$3 demo=$4 tests=$5 compiler library
    compiler=$(enter "$platform" 'swift --version 2>/dev/null')
    printf '| %s | %s' "$words" "$(sed -nE 's/.*Swift version ([0-9.]+).*/\1/p' <<<"$compiler" | head -n 1)"
    for library in libwebsockets simdjson OpenSSL; do
        printf ' | %s' "$(sed -nE "s/^$library (.*)/\1/p" <<<"$text")"
    done
    printf ' | %s | %s |\n' "$demo" "$tests"
}

# Runs a platform as a new user would; prints its row.
run_native() {
    local platform=$1 words=$2 demo=passed tests=FAILED text
    if [[ $platform != here ]]; then
        make_root "$platform"
        copy_checkout "$platform"
    fi
    run_step "$platform" demo enter "$platform" 'make demo' || demo=FAILED
    ! run_step "$platform" tests enter "$platform" 'make test' || tests="$(count_tests "$platform") passed"
    # shellcheck disable=SC2016 # The shell in the root expands it.
    text=$(enter "$platform" '"$(swift build --show-bin-path)/chappie" --version') || text=""
    print_row "$platform" "$words" "$text" "$demo" "$tests"
    [[ $demo$tests == passed*passed ]]
}

# The tests of LoopbackTests that are about libwebsockets, sockets and TLS, and some of whole responses. What is above
# the transport is the same on every system, and `make platforms` runs all of it.
readonly library_tests='LoopbackTests.(Transport|TLS|ServerName|Session|WebSocket|Proxy|SOCKSProxy|SecureProxy)'
readonly response_tests='LoopbackTests.(AddressRace|ServiceThread|UnreachableServer|Streaming|RawTurn|Cancellation|Scenario)'

# Debian 13 with what was built here: only what depends on the system's headers is built again.
run_sample() {
    make_root debian13
    copy_checkout debian13
    rm -rf "$folder/debian13.checkout/.build"
    # The other builds of `make check` are of no use there, and have two gigabytes.
    [[ ! -d .build ]] || {
        mkdir "$folder/debian13.checkout/.build"
        tar --create --directory .build --exclude=./{tsan,asan,quick,benchmarks,fuzz,fuzz-targets,fuzz-corpus,documentation,release-static,deb,dependency} . |
            tar --extract --directory "$folder/debian13.checkout/.build"
    }
    run_step debian13 demo enter debian13 'make demo'
    run_step debian13 tests enter debian13 "make test TESTS='$library_tests|$response_tests'"
    # Its libwebsockets closes connections of its own when a default route goes.
    run_step debian13 routes enter debian13 'make routes'
    printf 'Debian 13: the demonstration and %s tests of sockets passed\n' "$(count_tests debian13)"
}

# MARK: arm64

# Makes the root that programs of arm64 are linked with: packages are unpacked, and none of their scripts is run.
make_arm_root() {
    local root=$folder/arm64 archive
    [[ ! -e $root.complete ]] || return 0
    printf 'Making the root of arm64\n' >&2
    rm -rf "$root"
    debootstrap --foreign --arch=arm64 --variant=minbase "--include=$(arm_packages)" sid "$root" "$mirror" \
        >"$root.log" 2>&1 || fail "debootstrap failed; its log is $root.log"
    for archive in "$root"/var/cache/apt/archives/*.deb; do
        dpkg-deb --fsys-tarfile "$archive" | tar --extract --directory "$root" --keep-directory-symlink
    done
    touch "$root.complete"
}

arm_packages() {
    local packages=swiftlang,libswiftlang,libwebsockets-dev,libsimdjson-dev,libsqlite3-dev,libssl-dev
    echo "$packages,zlib1g-dev,libc6-dev,libstdc++-15-dev,ca-certificates"
}

# Compiles for arm64 in the root of unstable, with arguments of `swift build`. The package manager would link with files
# of the machine that compiles; its linker is replaced by `true`, and `arm_link` links afterwards. Optimised, because
# tests of every byte take long otherwise, and with the inputs of a debug build.
arm_compile() {
    # The shell in the root expands these.
    # shellcheck disable=SC2016
    enter unstable 'gcc=/arm64/usr/lib/gcc/aarch64-linux-gnu/15
        export PKG_CONFIG_SYSROOT_DIR=/arm64
        export PKG_CONFIG_LIBDIR=/arm64/usr/lib/aarch64-linux-gnu/pkgconfig:/arm64/usr/share/pkgconfig
        export CHAPPIE_TEST_TARGETS="'"${pure_tests[*]}"'"
        swift build --scratch-path .build/arm64 -c release -Xswiftc -enable-testing -Xswiftc -DDEBUG '"$*"' \
            --triple aarch64-unknown-linux-gnu --sdk /arm64 \
            -Xswiftc -sdk -Xswiftc /arm64 -Xswiftc -resource-dir -Xswiftc /arm64/usr/lib/swift \
            -Xswiftc -Xfrontend -Xswiftc -disable-cross-import-overlays \
            -Xswiftc -ld-path=/usr/bin/true -Xcc --sysroot=/arm64 -Xswiftc -Xcc -Xswiftc --sysroot=/arm64 \
            -Xcxx --sysroot=/arm64 \
            -Xcxx "--gcc-install-dir=$gcc" -Xcxx -isystem/arm64/usr/include/c++/15 \
            -Xcxx -isystem/arm64/usr/include/aarch64-linux-gnu/c++/15' "$folder/arm64"
}

# Links the objects of a product, with arguments for the linker; they are not there where something did not compile.
arm_link() {
    local product=$1 output=$2
    shift 2
    # shellcheck disable=SC2016
    enter unstable 'cd .build/arm64/aarch64-unknown-linux-gnu/release
        gcc=/arm64/usr/lib/gcc/aarch64-linux-gnu/15
        swiftc -target aarch64-unknown-linux-gnu -sdk /arm64 -resource-dir /arm64/usr/lib/swift -use-ld=lld \
            -emit-executable -o "'"$output"'" "@'"$product"'.product/Objects.LinkFileList" \
            -Xclang-linker --target=aarch64-linux-gnu -Xclang-linker --sysroot=/arm64 \
            -Xclang-linker "--gcc-install-dir=$gcc" -L/arm64/usr/lib/aarch64-linux-gnu \
            -lwebsockets -lsimdjson -lz -lssl -lcrypto -lstdc++ '"$*" "$folder/arm64"
}

# Runs a program of arm64 here.
arm_run() {
    local program=$folder/unstable.checkout/.build/arm64/aarch64-unknown-linux-gnu/release/$1
    shift
    qemu-aarch64-static -L "$folder/arm64" -E "LD_LIBRARY_PATH=$folder/arm64/usr/libexec/swift/lib/swift/linux" \
        "$program" "$@"
}

arm_demo() {
    arm_compile --product chappie || true
    arm_link chappie chappie -Xlinker --defsym=main=ChappieCommand_main
    arm_run chappie demo
}

# The tests of the modules without sockets: those with sockets have time limits that an emulated machine passes.
arm_tests() {
    arm_compile --build-tests || true
    arm_link chappie-transportPackageTests tests -L/arm64/usr/lib/swift/linux -lTesting -lXCTest
    arm_run tests --testing-library swift-testing --no-parallel
}

readonly pure_tests=(
    ServerSentEventsTests HTTPProtocolTests WebSocketProtocolTests DeflateTests ResponseEventsTests
    StreamTransportTests StreamSessionTests PathDiagnosisTests
)

run_arm64() {
    local words=$1 demo=passed tests=FAILED
    make_root unstable
    make_arm_root
    copy_checkout unstable
    enter unstable 'make install' >/dev/null
    run_step arm64 demo arm_demo || demo=FAILED
    ! run_step arm64 tests arm_tests || tests="$(count_tests arm64) passed, of the modules without sockets"
    print_row unstable "$words" "$(arm_run chappie --version)" "$demo" "$tests"
    [[ $demo$tests == passed*passed* ]]
}

# MARK: What is asked for

# Runs the platforms that are named, and puts their rows into a file; fails when one of them does.
run_all() {
    local status=0 platform rows=$folder/rows
    : >"$rows"
    for platform in "$@"; do
        case $platform in
            here) run_native here "$(release_of_here PRETTY_NAME), $(uname --machine)" >>"$rows" || status=1 ;;
            debian12) run_native debian12 'Debian 12, x86_64' >>"$rows" || status=1 ;;
            debian13) run_native debian13 'Debian 13, x86_64' >>"$rows" || status=1 ;;
            unstable) run_native unstable 'Debian unstable, x86_64' >>"$rows" || status=1 ;;
            arm64) run_arm64 'Debian unstable, aarch64 (qemu)' >>"$rows" || status=1 ;;
            *) fail "unknown platform '$platform': see Scripts/platforms.sh --help" ;;
        esac
    done
    cat "$rows"
    return "$status"
}

# Writes the rows of the last run into README.md.
write_table() {
    python3 - "$folder/rows" "$(date --utc +%F)" <<'PYTHON'
import sys
rows = open(sys.argv[1]).read()
table = (
    f"Verified on {sys.argv[2]} by `make platforms`:\n\n"
    "| platform | Swift | libwebsockets | simdjson | OpenSSL | `make demo` | `make test` |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n" + rows)
marks = ("<!-- platforms: begin -->\n", "<!-- platforms: end -->")
text = open("README.md").read()
before, rest = text.split(marks[0])
after = rest.split(marks[1])[1]
open("README.md", "w").write(before + marks[0] + table + marks[1] + after)
PYTHON
}

case ${1:-} in
    '' | -*) sed -n '2,14s/^# \{0,1\}//p' "$0" ;;
    sample)
        if ((EUID != 0)) && [[ -z ${CI:-} ]]; then
            echo 'platforms.sh: Debian 13 is left out, because root folders need root' >&2
            exit 0
        fi
        require platforms
        run_sample
        ;;
    all)
        require platforms
        run_all here debian13 unstable arm64
        write_table
        ;;
    *)
        require platforms
        run_all "$@"
        ;;
esac
