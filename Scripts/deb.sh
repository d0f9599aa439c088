#!/usr/bin/env bash
# Builds the Debian package of the command line: the program, its manual page, the completions of bash, zsh and fish,
# and a service for the relay that does not run unless it is enabled.
# Usage: Scripts/deb.sh [build|check]      (default: build)
#
#   build   builds the program with Swift's libraries inside, packs it and runs lintian; the package is in .build/deb
#   check   installs that package in a Debian of this machine's release that has nothing else, runs the demonstration,
#           looks at the files, and removes it again; as root
#
# The package fits the release of Debian or Ubuntu that it was built on: the names of its libraries have their versions.
# DEBFULLNAME and DEBEMAIL are the maintainer in it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# shellcheck source=Scripts/roots.sh
source Scripts/roots.sh

readonly work=.build/deb
maintainer="${DEBFULLNAME:-chappie-transport} <${DEBEMAIL:-maintainers@chappie-transport.invalid}>"
readonly maintainer

package_file() { echo "$work/chappie_$(python3 Scripts/release.py version)-1_$(dpkg --print-architecture).deb"; }

# MARK: Building

build_program() {
    local build=(swift build -c release --static-swift-stdlib --product chappie --scratch-path .build/release-static)
    "${build[@]}"
    program=$("${build[@]}" --show-bin-path)/chappie
}

# The files of the package, below a folder.
lay_out() {
    local root=$1 version=$2 share=$1/usr/share
    install -D --mode 755 "$program" "$root/usr/bin/chappie"
    strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/chappie"
    # The package manager lets programs look for libraries beside themselves.
    chrpath --delete "$root/usr/bin/chappie" >/dev/null
    mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
    mkdir -p "$share"/{doc/chappie,lintian/overrides}
    "$program" man | gzip -9n >"$share/man/man1/chappie.1.gz"
    "$program" completion bash >"$share/bash-completion/completions/chappie"
    "$program" completion zsh >"$share/zsh/vendor-completions/_chappie"
    "$program" completion fish >"$share/fish/vendor_completions.d/chappie.fish"
    install -D --mode 644 Deployment/debian/chappie-relay.service "$root/usr/lib/systemd/system/chappie-relay.service"
    cp Deployment/debian/copyright "$share/doc/chappie/copyright"
    cp Deployment/debian/lintian-overrides "$share/lintian/overrides/chappie"
    gzip -9n <CHANGELOG.md >"$share/doc/chappie/changelog.gz"
    debian_changelog "$version" | gzip -9n >"$share/doc/chappie/changelog.Debian.gz"
    chmod -R u=rwX,go=rX "$root"
}

# The day of the version is in the changelog, so that the package does not change with the day of its build.
debian_changelog() {
    local day
    day=$(sed -nE "s/^## \[$1\] - (.*)/\1/p" CHANGELOG.md)
    [[ -n $day ]] || fail "CHANGELOG.md has no day for $1"
    printf 'chappie (%s-1) unstable; urgency=medium\n\n  * Version %s; its changes are in changelog.gz.\n\n' "$1" "$1"
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date --utc --date="$day" --rfc-email)"
}

# The libraries that the program is linked with, by the names of their packages; not every one of them is called.
library_packages() {
    mkdir -p "$work/shlibdeps/debian"
    printf 'Source: chappie\n\nPackage: chappie\nArchitecture: any\n' >"$work/shlibdeps/debian/control"
    (cd "$work/shlibdeps" && dpkg-shlibdeps -O "$checkout/$1" 2>shlibdeps.log) | sed -n 's/^shlibs:Depends=//p'
}

write_control() {
    local root=$1 version=$2 libraries
    libraries=$(library_packages "$root/usr/bin/chappie")
    [[ -n $libraries ]] || fail "dpkg-shlibdeps found no libraries: $work/shlibdeps/shlibdeps.log"
    mkdir "$root/DEBIAN"
    cat >"$root/DEBIAN/control" <<EOF
Package: chappie
Version: $version-1
Section: net
Priority: optional
Architecture: $(dpkg --print-architecture)
Maintainer: $maintainer
Installed-Size: $(du --summarize --apparent-size --block-size=1024 "$root/usr" | cut -f 1)
Depends: $libraries, ca-certificates
Description: stream the answers of large language models
 chappie sends a prompt to a server of the OpenAI Responses API and prints the
 answer while it arrives. It opens a WebSocket first and uses an HTTP event
 stream when that fails. No piece of text comes twice and none is left out,
 whatever the network does; where that cannot be kept, it fails.
 .
 It also has a relay that keeps answers for readers that come again, a test
 server that breaks on purpose, a reader of any event stream, and a
 demonstration that needs neither a key nor a network.
EOF
    (cd "$root" && find usr -type f -print0 | sort --zero-terminated | xargs --null md5sum >DEBIAN/md5sums)
}

build() {
    local version root=$work/root file
    Scripts/install.sh build deb
    version=$(python3 Scripts/release.py version)
    file=$(package_file)
    build_program
    rm -rf "$work"
    mkdir -p "$work"
    lay_out "$root" "$version"
    write_control "$root" "$version"
    dpkg-deb --root-owner-group -Zxz --build "$root" "$file" >/dev/null
    lintian --allow-root --fail-on error,warning "$file"
    dpkg-deb --field "$file" Depends
    printf '%s: %d MB, installed %d MB\n' "$file" \
        $(($(stat --format %s "$file") / 1000000)) $(($(dpkg-deb --field "$file" Installed-Size) * 1024 / 1000000))
}

# MARK: Checking

check() {
    local file root
    file=$(package_file)
    [[ -f $file ]] || fail "$file is not there: Scripts/deb.sh build"
    [[ $(release_of_here ID) == debian ]] || fail "only packages of Debian can be checked here"
    root=bare-$(release_of_here VERSION_CODENAME)
    require roots
    make_root "$root"
    mkdir -p "$folder/$root.checkout"
    cp "$file" "$folder/$root.checkout/chappie.deb"
    # The shell in the root expands these.
    # shellcheck disable=SC2016
    enter "$root" '
        export DEBIAN_FRONTEND=noninteractive DEBCONF_NOWARNINGS=yes
        remove() { apt-get -qq purge --auto-remove chappie >/dev/null; }
        ! dpkg --status chappie >/dev/null 2>&1 || remove
        # The libraries come with the package, or not at all.
        test -z "$(ldconfig -p | grep -E "libwebsockets|libsimdjson")"
        apt-get -qq update
        apt-get -qq --no-install-recommends --option Dpkg::Use-Pty=0 install ./chappie.deb >/dev/null
        dpkg --verify chappie
        chappie --version
        chappie demo
        for file in man/man1/chappie.1.gz bash-completion/completions/chappie zsh/vendor-completions/_chappie \
            fish/vendor_completions.d/chappie.fish doc/chappie/copyright; do
            test -s "/usr/share/$file"
        done
        test -s /usr/lib/systemd/system/chappie-relay.service
        bash -c "source /usr/share/bash-completion/completions/chappie && complete -p chappie"
        remove
        test ! -e /usr/bin/chappie
        test ! -e /usr/share/doc/chappie
    '
    echo "deb: the package installs, runs and goes away in $root"
}

case ${1:-build} in
    build) build ;;
    check) check ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "$0" ;;
esac
