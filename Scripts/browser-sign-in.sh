#!/usr/bin/env bash
# Signs in with `chappie login` at `chappie serve`, by device code and by browser, agreeing and not, in Chromium.
# Usage: Scripts/browser-sign-in.sh [FOLDER]
#
# FOLDER is where pictures of the last pages go (.build/browser-sign-in). CHAPPIE names the executable; without it, it
# is built. Chromium comes with `Scripts/install.sh browser`.
set -euo pipefail
folder=${1:+$(realpath --canonicalize-missing "$1")}
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${folder:-.build/browser-sign-in}
# Nothing here may leave the machine by way of a proxy.
unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy

chappie=${CHAPPIE:-}
if [[ -z $chappie ]]; then
    swift build --product chappie
    chappie=$(swift build --show-bin-path)/chappie
fi
python3 Tests/Stack/Interoperability/browser_sign_in.py "$chappie" "$folder"
