# shellcheck shell=bash
# Root folders with a Debian of their own (debootstrap), for scripts that source this file; the folder is the checkout.
#
# Roots are kept in CHAPPIE_PLATFORMS_DIR (default: ~/.cache/chappie-platforms). What is mounted for a run is mounted in
# a namespace of its own, which ends with it.

checkout=$PWD
folder=${CHAPPIE_PLATFORMS_DIR:-$HOME/.cache/chappie-platforms}
readonly checkout folder
readonly mirror=http://deb.debian.org/debian

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# A member of the description of this machine's system (os-release).
release_of_here() { sed -nE "s/^$1=\"?([^\"]*)\"?/\1/p" /etc/os-release; }

suite_of() {
    case $1 in
        bare-*) echo "${1#bare-}" ;;
        debian12) echo bookworm ;;
        debian13) echo trixie ;;
        unstable) echo sid ;;
    esac
}

# The folder above usr/bin/swift, for the roots that use this machine's Swift; nothing for the others.
toolchain_of() {
    case $1 in
        debian12 | debian13) realpath "$(dirname "$(realpath "$(command -v swift)")")/../.." ;;
    esac
}

# Makes the root of a platform, unless it is there. Everything else that it needs is installed by the checkout itself.
make_root() {
    local root=$folder/$1 packages=--include=ca-certificates,make,git
    [[ $(toolchain_of "$1") != / ]] ||
        fail "Swift is in /usr, which would cover that of the root folder: unpack it elsewhere, such as /opt/swift"
    [[ ! -e $root.complete ]] || return 0
    # Swift's own archive needs these beside the packages of the build (swift.org's list for Debian).
    [[ -z $(toolchain_of "$1") ]] || packages+=,binutils,libc6-dev,libncurses6,tzdata,libsqlite3-0,libedit2,libxml2,curl
    # These have nothing but the packages that every Debian has.
    [[ $1 != bare-* ]] || packages=
    printf 'Making the root of %s\n' "$1" >&2
    rm -rf "$root"
    mkdir -p "$folder"
    debootstrap --variant=minbase ${packages:+"$packages"} "$(suite_of "$1")" "$root" "$mirror" >"$root.log" 2>&1 ||
        fail "debootstrap failed; its log is $root.log"
    # The index of unstable may be older than it says it is good for.
    echo 'Acquire::Check-Valid-Until "false";' >"$root/etc/apt/apt.conf.d/99valid"
    printf '127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
    touch "$root.complete"
}

# Runs a command of the shell in a root, in the checkout's folder.
enter() {
    if [[ $1 == here ]]; then
        bash -euc "$2"
        return
    fi
    local root=$folder/$1 toolchain
    cp --remove-destination --dereference /etc/resolv.conf "$root/etc/resolv.conf"
    toolchain=$(toolchain_of "$1")
    # The inner shell expands these.
    # shellcheck disable=SC2016
    unshare --mount --propagation private bash -euc '
        root=$1 toolchain=$2 checkout=$3 command=$4 arm=$5
        bind() {
            mkdir -p "$2"
            mount --bind "$1" "$2"
        }
        for name in proc dev sys; do mount --rbind "/$name" "$root/$name"; done
        # At the paths they have here, which are in everything that is built.
        bind "$root.checkout" "$root$checkout"
        [[ -z $toolchain ]] || bind "$toolchain" "$root$toolchain"
        [[ -z $arm ]] || bind "$arm" "$root/arm64"
        path=${toolchain:+$toolchain/usr/bin:}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
        exec chroot "$root" /usr/bin/env --ignore-environment HOME=/root LANG=C.UTF-8 "PATH=$path" \
            SWIFT_BACKTRACE=enable=no ${CHAPPIE_WARNINGS_AS_ERRORS:+CHAPPIE_WARNINGS_AS_ERRORS=1} \
            bash -euc "cd \"\$1\" && eval \"\$2\"" - "$checkout" "$command"
    ' - "$root" "$toolchain" "$checkout" "$2" "${3:-}"
}

# Lays the checkout's files into a root, with the times they have here; what was built there stays, unless another
# checkout has built it, as the files of a build hold its path.
copy_checkout() {
    local target=$folder/$1.checkout
    mkdir -p "$target"
    [[ $(cat "$target.path" 2>/dev/null) == "$checkout" ]] || rm -rf "$target/.build"
    printf '%s\n' "$checkout" >"$target.path"
    find "$target" -mindepth 1 -maxdepth 1 ! -name .build -exec rm -rf {} +
    git ls-files -z --cached --others --exclude-standard | xargs --null --no-run-if-empty ls -d 2>/dev/null |
        tar --create --files-from - | tar --extract --directory "$target"
}

# Fails where no roots can be made.
require() {
    ((EUID == 0)) || fail "making root folders and mounting need root: run it as root, or leave it out"
    Scripts/install.sh "$@"
    unshare --mount true 2>/dev/null || fail "mounting is not permitted here: run it where 'unshare --mount true' works"
}
