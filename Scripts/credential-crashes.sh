#!/usr/bin/env bash
# Kills a process that replaces a stored credential before each system call that it makes, one process for each call,
# and prints the calls with what the file holds afterwards. Fails when it is neither the old credential nor the new one.
# Needs strace, and may trace. Usage: Scripts/credential-crashes.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

swift build --product credential-probe >&2
probe="$(swift build --show-bin-path)/credential-probe"
readonly probe
work="$(mktemp -d)"
readonly work
trap 'rm -rf "$work"' EXIT
readonly directory="$work/credentials"
readonly calls=openat,fstat,newfstatat,getdents64,write,fsync,close,rename,renameat,renameat2,unlinkat,mkdir

# Which of the two credentials the file holds, whole.
kept() {
    python3 - "$directory/default.json" <<'PYTHON'
import json, sys
try:
    with open(sys.argv[1], encoding="utf-8") as file:
        token = json.load(file)["tokens"]["access_token"]
except Exception as error:
    print("neither:", type(error).__name__)
else:
    print({"old" * 4000: "old", "new" * 4000: "new"}.get(token, "neither"))
PYTHON
}

"$probe" write --directory "$directory" --text old
strace -o "$work/trace" -e trace="$calls" "$probe" write --directory "$directory" --text new

# The calls of the storage are those from the first that names its directory; a call is known by its name and by how
# many of that name came before it.
awk -v directory="$directory" '
    match($0, /^[a-z0-9_]+/) {
        name = substr($0, RSTART, RLENGTH)
        seen[name] += 1
        if (index($0, "\"" directory "\"")) begun = 1
        if (begun) print name, seen[name], substr($0, 1, 90)
    }' "$work/trace" >"$work/calls"

status=0
number=0
while read -r name count line; do
    number=$((number + 1))
    "$probe" write --directory "$directory" --text old
    { strace -o /dev/null -e trace="$name" -e inject="$name:signal=SIGKILL:when=$count" \
        "$probe" write --directory "$directory" --text new; } 2>/dev/null && died=no || died=yes
    result="$(kept)"
    printf '%2d  %-7s  %-3s  %s\n' "$number" "$([[ $died == yes ]] && echo killed || echo lived)" "$result" "$line"
    if [[ $died == no || ($result != old && $result != new) ]]; then status=1; fi
done <"$work/calls"
((number > 0)) || status=1
exit "$status"
