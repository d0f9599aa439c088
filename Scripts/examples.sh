#!/usr/bin/env bash
# Builds the package in Examples, runs its tests and its programs, and compares what they print.
# Usage: Scripts/examples.sh [OPTION OF SWIFT BUILD]...
#
# The examples are a package of their own, which depends on this one as a program would. It is built in this package's
# build folder: with the same options nothing but the examples is compiled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly package=(--package-path Examples --scratch-path .build)
# The servers are those inside the programs.
unset CHAPPIE_BASE_URL OPENAI_API_KEY HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy

fail() {
    printf 'examples.sh: %s\n' "$*" >&2
    exit 1
}

# Runs a program with the standard input of this function, and expects lines of its output and its exit code.
# expect EXIT_CODE PROGRAM [ARGUMENT]... -- PATTERN...
expect() {
    local code=0 expected=$1 name=$2 output pattern arguments=()
    shift 2
    while [[ $1 != -- ]]; do
        arguments+=("$1")
        shift
    done
    shift
    output=$(timeout 60 "$programs/$name" "${arguments[@]}" 2>&1) || code=$?
    ((code == expected)) || fail "$name ended with $code instead of $expected: $output"
    for pattern in "$@"; do
        grep --quiet --extended-regexp --line-regexp -- "$pattern" <<<"$output" ||
            fail "$name did not print '$pattern': $output"
    done
    printf 'examples.sh: %s: passed\n' "$name"
}

swift build "${package[@]}" "$@" --build-tests
swift test "${package[@]}" --skip-build --disable-xctest
programs=$(swift build "${package[@]}" --show-bin-path)
readonly programs

printf 'What is the time?\ny\nAnd now?\nn\n' |
    expect 0 TerminalChat --demo -- '.*\[current_time: completed\]' '.*\[take_note: completed\]' '.*\[take_note: denied\]' \
        'It is noted, with the time\.' 'turns: 2, notes: 1'
expect 0 Relay -- 'relay: the browser has the whole text, and then done' 'relay: a browser that leaves ends the turn' \
    'relay: a repeated request begins no turn' 'relay: an error before the text is a status code' </dev/null
printf 'event: greeting\ndata: hello\n\ndata: two\ndata: lines\n\n' |
    expect 0 ParserAlone -- 'greeting "hello"' 'message "two\\nlines"'
printf 'data: whole\n\ndata: half' |
    expect 1 ParserAlone -- 'message "whole"' 'ParserAlone: the stream ends inside an event'
printf 'Why is the sky blue?\n%.0s' {1..12} |
    expect 0 Batch -- 'Batch: a rate limit: waiting 1\.0 seconds' '1: Air scatters blue light more than red\.' \
        '12: Air scatters blue light more than red\.'
expect 0 Observability -- 'Air scatters blue light more than red\.' 'attempts: 2 \(.*completed\), reconnects: 1, .*' \
    'warning chappie: .* An attempt has failed\.' 'metric chappie\.duration operation=turn outcome=completed [0-9]+ ns' \
    </dev/null
expect 64 ModelContext -- 'ModelContext: the address of a server is missing, .*' </dev/null

# A server of its own, because that of the package speaks the Responses API.
exec {realtime}< <(exec python3 Examples/realtime_server.py)
readonly realtime_server=$!
trap 'kill "$realtime_server"' EXIT
read -r -t 30 -u "$realtime" port || fail "realtime_server.py does not listen"
export OPENAI_API_KEY=key-1
expect 0 Realtime --url "ws://127.0.0.1:$port" 'Why is the sky blue?' 'Tell me everything.' 'And at night?' -- \
    'Why is the sky blue\?' '(and so on ){200} \[cancelled\]' 'And at night\?' </dev/null
expect 1 Realtime --url "ws://127.0.0.1:$port" 'Make an error.' -- \
    'Realtime: The server reports an error: not_in_the_script\.' </dev/null
OPENAI_API_KEY=key-2 expect 1 Realtime --url "ws://127.0.0.1:$port" 'Hello?' -- \
    'Realtime: http\.401: The server answered the opening handshake with status code 401\. .*' </dev/null
expect 64 Realtime -- 'Realtime: a question is missing, .*' </dev/null
