#!/usr/bin/env bash
# Plants faults on paths with real proxies, balancers and resolvers, and expects `chappie doctor` to name each one, and
# none on a healthy path. All of it is in namespaces of its own, where the system allows them.
# Usage: Scripts/doctor-faults.sh CHAPPIE [WORDS]      (WORDS: of the names of the cases to run)
#
# CHAPPIE_PEERS_DIR is where mitmproxy is kept, which is fetched on the first run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly chappie=$1 words=${2:-} inside=${3:-} installed=${4:-}
readonly runner=(python3 Tests/Tools/DoctorFaults/run.py --chappie "$chappie" --only "$words")

# Prints the path of mitmdump, of the pinned version; nothing when it cannot be installed.
mitmdump() {
    local wanted=$PWD/Tests/Stack/Interoperability/peers/mitmproxy.txt folder=${CHAPPIE_PEERS_DIR:-$HOME/.cache/chappie-peers}/mitmproxy
    if ! cmp --quiet "$wanted" "$folder/installed.txt"; then
        rm -rf "$folder"
        mkdir -p "${folder%/*}"
        { python3 -m venv "$folder" &&
            timeout 600 "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" &&
            cp "$wanted" "$folder/installed.txt"; } >&2 || return 0
    fi
    printf '%s\n' "$folder/bin/mitmdump"
}

# Gives this mount namespace a resolver at 127.0.0.1 and a user alice, with the password secret, for dante.
make_system() {
    local name
    printf 'nameserver 127.0.0.1\n' >"$work/resolv.conf"
    printf '127.0.0.1 localhost\n::1 localhost\n' >"$work/hosts"
    printf 'hosts: files dns\npasswd: files\ngroup: files\nshadow: files\n' >"$work/nsswitch.conf"
    cp /etc/passwd "$work/passwd"
    printf 'alice:x:19001:19001::/:/bin/false\n' >>"$work/passwd"
    printf 'alice:%s:19000::::::\n' "$(openssl passwd -6 secret)" >"$work/shadow"
    for name in resolv.conf hosts nsswitch.conf passwd shadow; do mount --bind "$work/$name" "/etc/$name"; done
}

case $inside in
    netem) exec "${runner[@]}" --netem ;;
    system)
        work=$(mktemp -d)
        readonly work
        trap 'rm -rf "$work"' EXIT
        make_system
        # The interpreter must not become this process: the folder is removed after it.
        "${runner[@]}" --namespace --mitmdump "$installed"
        exit
        ;;
esac

# Before the network is left.
program=$(mitmdump)
readonly program
for way in "unshare --net --mount" "unshare --map-root-user --net --mount"; do
    # shellcheck disable=SC2086 # Words.
    if $way ip link set lo up 2>/dev/null; then
        status=0
        for place in system netem; do
            $way bash -c 'ip link set lo up && exec "$@"' - Scripts/doctor-faults.sh "$chappie" "$words" "$place" "$program" ||
                status=$?
        done
        exit "$status"
    fi
done
"${runner[@]}" --mitmdump "$program"
