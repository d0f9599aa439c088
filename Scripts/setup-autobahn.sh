#!/usr/bin/env bash
# Installs the Autobahn test suite into FOLDER, with the Python 2.7 it needs, and nothing outside of FOLDER.
# Usage: Scripts/setup-autobahn.sh FOLDER
#
# The suite runs on Python 2.7 only. Debian 11 was the last to have that, and its packages still run when they are
# unpacked without being installed. FOLDER/environment.sh then says where their libraries are.
set -euo pipefail

readonly suite_version=25.10.1
readonly python_packages=(
    python2.7 python2.7-minimal python2.7-dev
    libpython2.7 libpython2.7-minimal libpython2.7-stdlib libpython2.7-dev
    libffi7 libssl1.1
)

if (($# != 1)) || [[ $1 == -* ]]; then
    sed -n '2,3s/^# //p' "$0" >&2
    exit 64
fi
if [[ -e $1/complete-$suite_version ]]; then exit 0; fi
rm -rf "$1"
mkdir -p "$1"
folder=$(realpath "$1")
cd "$folder"
log=$folder/setup.log
: >"$log"
trap 'tail -n 20 "$log" >&2; printf "setup-autobahn.sh: failed; the whole log is %s\n" "$log" >&2' ERR

# Where this machine gets its Debian packages from, or the public mirror when it is not a Debian.
debian_mirror() {
    local mirror=""
    # apt-get expands this, not the shell.
    # shellcheck disable=SC2016
    if grep --quiet '^ID=debian' /etc/os-release; then
        mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -v security | sed -n 1p)
    fi
    printf '%s\n' "${mirror:-http://deb.debian.org/debian}"
}

# Unpacks Debian 11's Python 2.7 below ./python without telling the system's package manager.
unpack_python() {
    mkdir -p apt/state/lists/partial apt/cache/archives/partial packages python
    : >apt/status
    printf 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s bullseye main\n' "$(debian_mirror)" \
        >apt/sources.list
    local apt=(
        apt-get -qq
        --option "Dir::Etc::SourceList=$folder/apt/sources.list"
        --option Dir::Etc::SourceParts=-
        --option "Dir::State=$folder/apt/state"
        --option "Dir::State::Status=$folder/apt/status"
        --option "Dir::Cache=$folder/apt/cache"
        --option APT::Sandbox::User=
    )
    "${apt[@]}" update
    (cd packages && "${apt[@]}" download "${python_packages[@]}")
    local package
    for package in packages/*.deb; do dpkg-deb --extract "$package" python; done
    rm -rf packages apt
}

printf 'Setting up the Autobahn test suite %s (about a minute)\n' "$suite_version" >&2
{
    unpack_python
    library=$(find "$folder/python" -name 'libpython2.7.so.1.0' -printf '%h\n' -quit)
    export LD_LIBRARY_PATH=$library
    export CPATH=$folder/python/usr/include/python2.7:$folder/python/usr/include
    printf 'export LD_LIBRARY_PATH=%q\n' "$library" >environment.sh

    # The last virtualenv that can make an environment for Python 2.7.
    python3 -m venv bootstrap
    bootstrap/bin/pip install --quiet 'virtualenv==20.21.1'
    bootstrap/bin/virtualenv --quiet --python "$folder/python/usr/bin/python2.7" suite
    suite/bin/pip install --quiet --no-python-version-warning "autobahntestsuite==$suite_version"
    suite/bin/wstest --autobahnversion
} >>"$log" 2>&1
touch "complete-$suite_version"
