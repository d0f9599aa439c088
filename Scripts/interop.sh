#!/usr/bin/env bash
# Holds `chappie serve`, `relay`, `stream`, `sse`, `ws` and `events` against programs that other people wrote, on 127.0.0.1; the
# example ModelContext as well.
# Usage: Scripts/interop.sh [--models | CASE]...      (default: all but those of --models; --list names them)
#
# --models is the cases with a real model, made on the spot; what serves it is a download of hundreds of megabytes, or
# compiled.
#
# CHAPPIE names the executable, CHAPPIE_PEERS_DIR where the other programs are kept; they are fetched on the first run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly programs=$PWD/Tests/Stack/Interoperability
readonly recording=$programs/answer.jsonl
readonly answer=$programs/answer.txt
readonly prompt="Tell me about the bottle."
# Long enough that the request is compressed where that was agreed.
long_prompt=$prompt$(printf ' It is green, and stands on the sill of window %d.' {1..800})
readonly long_prompt
peers=${CHAPPIE_PEERS_DIR:-$HOME/.cache/chappie-peers}
scratch=$(mktemp -d)

# Debian's Node packages are found without this only by Debian's own Node.
export NODE_PATH=${NODE_PATH:-/usr/share/nodejs}
# Nothing here may leave the machine by way of a proxy.
unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy
export LITELLM_LOCAL_MODEL_COST_MAP=True LITELLM_TELEMETRY=False

readonly cases=(
    serve-openai-sse serve-openai-websocket serve-openresponses-sse serve-openresponses-websocket
    serve-codex-websocket serve-codex-sse serve-codex-refused-upgrade
    serve-codex-tools-websocket serve-codex-tools-sse serve-curl-sse
    serve-websockets-compliance relay-websockets-compliance relay-chromium-reload
    relay-openai-sse relay-openai-websocket relay-openai-kept relay-curl-sse
    relay-codex-websocket relay-codex-sse relay-codex-tools-websocket relay-codex-tools-sse
    serve-openai-chat-sse serve-anthropic-messages-sse serve-litellm-chat-sse serve-litellm-messages-sse
    stream-node-ws stream-node-sse stream-websockets-fragments stream-picows-websocket
    stream-aiohttp-websocket stream-aiohttp-gzip
    stream-litellm-uvicorn-websocket stream-litellm-uvicorn-sse
    stream-litellm-uvicorn-tool-websocket stream-litellm-uvicorn-tool-sse
    stream-litellm-uvicorn-chat-of-openai stream-litellm-uvicorn-chat-of-openai-tools
    stream-litellm-uvicorn-chat-of-anthropic stream-litellm-uvicorn-chat-of-anthropic-tools
    stream-litellm-uvicorn-messages-of-openai stream-litellm-uvicorn-messages-of-openai-tools
    stream-litellm-uvicorn-messages-of-vllm stream-litellm-uvicorn-messages-of-vllm-tools
    stream-litellm-uvicorn-messages-of-anthropic stream-litellm-uvicorn-messages-of-anthropic-tools
    stream-litellm-hypercorn-websocket stream-litellm-hypercorn-sse
    stream-litellm-granian-websocket stream-litellm-granian-sse
    stream-squid-websocket stream-squid-sse
    stream-squid-https-websocket stream-squid-https-sse stream-squid-https-refusals
    stream-haproxy-websocket stream-haproxy-sse
    stream-dante-websocket stream-dante-sse stream-dante-tls-websocket stream-dante-tls-sse stream-dante-refusals
    stream-agentic-websocket stream-agentic-sse stream-agentic-tools-websocket stream-agentic-tools-sse
    stream-agentic-killed-websocket stream-agentic-killed-sse
    stream-wireproxy-responses-sse stream-wireproxy-responses-tools-sse stream-wireproxy-fallback
    stream-wireproxy-chat-sse stream-wireproxy-chat-tool-sse
    stream-wireproxy-chat-of-chat stream-wireproxy-chat-of-chat-tools
    stream-wireproxy-chat-of-responses stream-wireproxy-chat-of-responses-tools
    stream-wireproxy-messages-of-chat
    stream-wireproxy-messages-of-responses stream-wireproxy-messages-of-responses-tools
)

readonly model_cases=(
    stream-transformers-text stream-transformers-parallel stream-transformers-tools stream-transformers-length
    stream-transformers-killed
    stream-transformers-chat stream-transformers-chat-tools stream-transformers-chat-killed
    stream-llamacpp-chat stream-llamacpp-chat-length stream-llamacpp-chat-call stream-llamacpp-chat-interrupted
    stream-llamacpp-chat-killed
)

readonly environments=(
    openai anthropic openresponses codex litellm aiohttp websockets picows agentic wireproxy transformers llamacpp
    sse-starlette mcp
)

# MARK: Programs

# Prints the folder of a peer's virtual environment and makes it when its pinned versions are not in it yet, which takes
# long where there is something to compile.
environment() {
    local name=$1
    local wanted=$programs/peers/$name.txt folder=$peers/$name
    if ! cmp --quiet "$wanted" "$folder/installed.txt"; then
        printf 'Setting up %s\n' "$(tr '\n' ' ' <"$wanted")" >&2
        rm -rf "$folder"
        mkdir -p "$peers"
        python3 -m venv "$folder" &&
            timeout 1800 "$folder/bin/pip" install --quiet --disable-pip-version-check --requirement "$wanted" >&2 &&
            cp "$wanted" "$folder/installed.txt" ||
            return 1
    fi
    printf '%s\n' "$folder"
}

# Starts a server of this case; it ends with the case.
# Usage: start NAME COMMAND...; output goes to $work/NAME.out and $work/NAME.err.
start() {
    local name=$1
    shift
    "$@" >"$work/$name.out" 2>"$work/$name.err" &
    server_process=$!
}

# Prints the first line that a server wrote to its standard output.
first_line() {
    local file=$work/$1.out
    for ((i = 0; i < 300; i++)); do
        if [[ -s $file ]] && IFS= read -r line <"$file"; then
            printf '%s\n' "$line"
            return 0
        fi
        kill -0 "$server_process" 2>/dev/null || break
        sleep 0.1
    done
    printf '%s did not say where it listens\n' "$1" >&2
    if [[ -f $work/$1.err ]]; then tail -n 5 "$work/$1.err" >&2; fi
    return 1
}

# Prints the last line that a server wrote to its standard output: what it did.
last_line() {
    tail -n 1 "$work/$1.out"
}

# Starts `chappie serve` with the recorded answer and sets base_url.
start_chappie() {
    serve --recording "$recording" "$@"
}

# Starts `chappie serve` and sets base_url.
serve() {
    start serve "$CHAPPIE" serve --log "$@"
    local line
    line=$(first_line serve)
    base_url=${line#listening on }
    [[ $base_url == http*://127.0.0.1:*/v1 ]] || {
        printf 'unexpected first line of chappie serve: %s\n' "$line" >&2
        return 1
    }
}

# Prints a port that nothing listens on.
free_port() {
    python3 "$programs/free_port.py"
}

compare() {
    python3 "$programs/text_of.py" "$@" "$answer"
}

# MARK: Other people's clients against chappie serve

# Usage: openai_client sse|websocket|kept
openai_client() {
    local python
    python=$(environment openai)/bin/python
    timeout 60 "$python" "$programs/openai_client.py" "$1" "$base_url" >"$work/text"
    compare plain <"$work/text"
}

# Lets a package think and call a tool in three rounds, before the recorded text.
# Usage: dialect_client ENVIRONMENT openai|anthropic|litellm-chat|litellm-messages
dialect_client() {
    local python result
    python=$(environment "$1")/bin/python
    # shellcheck disable=SC2016 # The server's $number.
    serve_tools get_weather '{"number":$number}' true
    timeout 60 "$python" "$programs/dialect_client.py" "$2" "$base_url" 3 >"$work/text"
    result=$(compare plain <"$work/text") || {
        printf '%s\n' "$result"
        return 1
    }
    expect_transports http
    printf '%s, three tool calls\n' "$result"
}

serve-openai-chat-sse() { dialect_client openai openai; }
serve-anthropic-messages-sse() { dialect_client anthropic anthropic; }
serve-litellm-chat-sse() { dialect_client litellm litellm-chat; }
serve-litellm-messages-sse() { dialect_client litellm litellm-messages; }

serve-openai-sse() {
    start_chappie
    openai_client sse
}

serve-openai-websocket() {
    start_chappie
    openai_client websocket
}

openresponses_client() {
    local python
    python=$(environment openresponses)/bin/python
    serve
    timeout 60 "$python" "$programs/openresponses_client.py" "$1" "$base_url"
}

serve-openresponses-sse() { openresponses_client sse; }
serve-openresponses-websocket() { openresponses_client websocket; }

# Usage: codex_client SUPPORTS_WEBSOCKETS
codex_client() {
    local program port
    program=$(find "$(environment codex)" -path '*/codex_cli_bin/bin/codex' -print -quit)
    port=${base_url##*:}
    mkdir -p "$work/codex" "$work/project"
    sed -e "s/@PORT@/${port%/v1}/" -e "s/@WEBSOCKETS@/$1/" "$programs/codex.toml" >"$work/codex/config.toml"
    (
        cd "$work/project"
        LOOPBACK_KEY=sk-fake CODEX_HOME=$work/codex timeout 60 "$program" exec --skip-git-repo-check \
            --sandbox read-only --json --disable plugins "$prompt" </dev/null >"$work/codex.json"
    )
    compare codex <"$work/codex.json"
}

# codex changes the transport by itself when one fails, so the text alone says little: the log must agree.
serve-codex-websocket() {
    start_chappie
    codex_client true
    expect_transports webSocket
}

serve-codex-sse() {
    start_chappie
    codex_client false
    expect_transports http
}

serve-codex-refused-upgrade() {
    start_chappie --scenario hs-426
    codex_client true
    expect_transports http webSocket
}

# Starts `chappie serve` with a model that calls a tool in three rounds and then gives the recorded answer.
# Usage: serve_tools TOOL ARGUMENTS INCLUDES_REASONING [OPTION]...
serve_tools() {
    python3 - "$answer" "${@:1:3}" >"$work/tools.json" <<'PYTHON'
import json, pathlib, sys
answer, tool, arguments, reasoning = sys.argv[1:]
model = {"text": pathlib.Path(answer).read_text(), "toolRounds": 3, "toolArguments": {tool: arguments}}
server = {"faults": [], "model": model | {"includesReasoning": json.loads(reasoning)}}
expectation = {"turns": [{"delivers": "whole", "ends": "completed"}]}
print(json.dumps({"name": "tools", "summary": "Calls a tool.", "server": server, "expectation": expectation}))
PYTHON
    serve --scenario "$work/tools.json" "${@:4}"
}

# Starts `chappie relay` in front of base_url, and sets base_url to its own.
relay() {
    local line
    start relay env CHAPPIE_API_KEY=sk-fake "$CHAPPIE" relay --base-url "$base_url" --port 0 --journal memory --log
    line=$(first_line relay)
    base_url=${line#listening on }
}

# Holds a server against the cases of Open Responses.
open_responses() {
    local python
    python=$(environment websockets)/bin/python
    timeout 120 "$python" "$programs/open_responses.py" "$base_url"
}

serve-websockets-compliance() {
    serve_tools get_weather '{"place":"Bergen"}' true
    open_responses
}

relay-websockets-compliance() {
    serve_tools get_weather '{"place":"Bergen"}' true
    relay
    open_responses
}

# Usage: relay_openai sse|websocket|kept
relay_openai() {
    start_chappie "${@:2}"
    relay
    openai_client "$1"
}

relay-openai-sse() { relay_openai sse; }
relay-openai-websocket() { relay_openai websocket; }
relay-openai-kept() { relay_openai kept --rate 100; }

relay-curl-sse() {
    start_chappie
    relay
    curl_sse
}

# Usage: expect_relayed METHOD: a WebSocket is a GET. What codex asks beside that (its models) is not counted.
expect_relayed() {
    local used
    used=$(sed -nE 's/.*"method":"([A-Z]+)","path":"\/v1\/responses".*/\1/p' "$work/relay.err" | sort --unique | xargs)
    [[ $used == "$1" ]] || {
        printf 'the relay was asked by %s, wanted: %s\n' "$used" "$1"
        return 1
    }
}

# Usage: relay_codex SUPPORTS_WEBSOCKETS METHOD
relay_codex() {
    start_chappie
    relay
    codex_client "$1"
    expect_relayed "$2"
}

relay-codex-websocket() { relay_codex true GET; }
relay-codex-sse() { relay_codex false POST; }

# Pictures of the page are in .build/browser-reload.
relay-chromium-reload() {
    python3 "$programs/browser_reload.py" "$CHAPPIE" .build/browser-reload
}

# Lets codex run one of its own tools: three rounds, then the answer. Usage: codex_tools SUPPORTS_WEBSOCKETS
codex_tools() {
    local text
    text=$(codex_client "$1")
    python3 "$programs/codex_tools.py" 3 "$work/codex.json" "$work/serve.err"
    printf '%s\n' "$text, three tool calls"
}

serve_codex_tools() {
    # shellcheck disable=SC2016 # The server's $number.
    serve_tools exec_command '{"cmd": "echo the bottle is empty, $number"}' true
}

serve-codex-tools-websocket() {
    serve_codex_tools
    codex_tools true
    expect_transports webSocket
}

serve-codex-tools-sse() {
    serve_codex_tools
    codex_tools false
    expect_transports http
}

relay-codex-tools-websocket() {
    serve_codex_tools
    relay
    codex_tools true
    expect_relayed GET
}

relay-codex-tools-sse() {
    serve_codex_tools
    relay
    codex_tools false
    expect_relayed POST
}

# Compares the transports in the log of chappie serve, each named once, in alphabetical order.
expect_transports() {
    local used
    used=$(sed -nE 's/.*"event":"attempt".*"transport":"([A-Za-z]+)".*/\1/p' "$work/serve.err" |
        LC_ALL=C sort --unique | xargs)
    [[ $used == "$*" ]] || {
        printf 'transports used: %s, wanted: %s\n' "$used" "$*"
        return 1
    }
}

# Compares the paths of all POSTs in the log of chappie serve with one.
expect_path() {
    local used
    used=$(sed -nE 's/.*"event":"attempt".*"path":"([^"]+)".*/\1/p' "$work/serve.err" | sort --unique | xargs)
    [[ $used == "$1" ]] || {
        printf 'paths asked for: %s, wanted: %s\n' "$used" "$1"
        return 1
    }
}

serve-curl-sse() {
    start_chappie
    curl_sse
}

curl_sse() {
    curl --silent --show-error --no-buffer --max-time 30 "$base_url/responses" \
        --header 'Authorization: Bearer sk-fake' --header 'Content-Type: application/json' \
        --data '{"model":"paper-and-ink","input":"Tell me about the bottle.","stream":true}' |
        timeout 30 "$CHAPPIE" sse >"$work/sse.json"
    compare chappie-sse <"$work/sse.json"
}

# MARK: chappie stream against other people's servers

# Streams with a long request, over nothing but one transport, behind which diagnostics may be named that have to come.
# Usage: stream_from BASE_URL MODEL webSocket|httpSSE[, DIAGNOSTIC]... [OPTION]...
stream_from() {
    local url=$1 model=$2 transport=$3 options=("${@:4}") result status=0
    [[ $transport == webSocket ]] || options+=(--http-only)
    timeout 60 "$CHAPPIE" stream --json --base-url "$url" --api-key sk-fake --model "$model" "${options[@]}" \
        "$long_prompt" >"$work/stream.json" || status=$?
    if ((status != 0)); then
        printf 'chappie stream: exit %d %s\n' "$status" "$(tail -n 1 "$work/stream.json")"
        return 1
    fi
    result=$(compare chappie-stream-completed <"$work/stream.json") || {
        printf '%s\n' "$result"
        return 1
    }
    printf '%s\n' "$result"
    [[ $result == *" bytes equal, $transport" ]] || {
        printf 'not over %s alone\n' "$transport" >&2
        return 1
    }
}

# Streams from one of our small servers, and says what it did. Usage: stream_from_server SERVER TRANSPORT WANTED
stream_from_server() {
    local server=$1 transport=$2 wanted=$3
    local port did result size
    port=$(first_line "$server")
    result=$(stream_from "http://127.0.0.1:$port/v1" paper-and-ink "$transport") || {
        printf '%s\n' "$result"
        return 1
    }
    did=$(last_line "$server")
    printf '%s; %s\n' "$result" "$did"
    [[ $did == *"$wanted"* ]] || {
        printf 'the server did not report "%s"\n' "$wanted" >&2
        return 1
    }
    size=$(sed -nE 's/.*request of ([0-9]+) bytes.*/\1/p' <<<"$did")
    ((size > ${#long_prompt})) || {
        printf 'the server did not get the whole request\n' >&2
        return 1
    }
}

node_server() {
    start node node "$programs/node_server.js" "$recording"
}

stream-node-ws() {
    node_server
    stream_from_server node webSocket "4 messages compressed"
}

stream-node-sse() {
    node_server
    stream_from_server node httpSSE gzip
}

# Usage: python_server NAME
python_server() {
    local python
    python=$(environment "$1")/bin/python
    start "$1" "$python" "$programs/$1_server.py" "$recording"
}

stream-websockets-fragments() {
    python_server websockets
    stream_from_server websockets webSocket permessage-deflate
}

stream-picows-websocket() {
    python_server picows
    stream_from_server picows webSocket "no extension"
}

stream-aiohttp-websocket() {
    python_server aiohttp
    stream_from_server aiohttp webSocket "window bits"
}

stream-aiohttp-gzip() {
    python_server aiohttp
    stream_from_server aiohttp httpSSE gzip
}

# shellcheck source=Scripts/interop-proxies.sh
source Scripts/interop-proxies.sh
# shellcheck source=Scripts/interop-clients.sh
source Scripts/interop-clients.sh

# LiteLLM takes ten seconds or more to start, so one on each of its stacks serves both transports.
readonly litellm_stacks=(uvicorn hypercorn granian)
declare -A litellm_ports=() litellm_upstreams=() litellm_processes=()

# Usage: start_litellm STACK
start_litellm() {
    local stack=$1 folder=$scratch/litellm-$1 program=$peers/litellm/bin/litellm port options=() model
    [[ -x $program ]] || return 0
    [[ $stack == uvicorn ]] || options=("--run_$stack")
    port=$(free_port)
    # Where a case may start `chappie serve`.
    litellm_upstreams[$stack]=$(free_port)
    mkdir -p "$folder"
    # The model that calls tools, one for each LiteLLM, in a group of its own as that is.
    setsid python3 "$programs/chat_model.py" >"$folder/model.out" 2>"$folder/model.err" &
    litellm_processes[$stack-model]=$!
    for ((i = 0; i < 100; i++)); do
        model=$(head -n 1 "$folder/model.out" 2>/dev/null) || true
        if [[ -n $model ]]; then break; fi
        sleep 0.1
    done
    python3 - "$programs/litellm.yaml" "$answer" "$port" "$model" "${litellm_upstreams[$stack]}" \
        >"$folder/litellm.yaml" <<'PYTHON'
import json, pathlib, sys
template, answer = (pathlib.Path(name).read_text() for name in sys.argv[1:3])
# A JSON string is a YAML string too.
print(template.replace("@PORT@", sys.argv[3]).replace("@MODEL_PORT@", sys.argv[4])
      .replace("@SERVE_PORT@", sys.argv[5])
      .replace("@ANSWER@", json.dumps(answer, ensure_ascii=False)))
PYTHON
    # A group of its own, because some stacks have workers.
    (
        cd "$folder"
        # Some of what it runs is found by name.
        export PATH=$peers/litellm/bin:$PATH
        exec setsid "$program" --config litellm.yaml --host 127.0.0.1 --port "$port" "${options[@]}"
    ) >"$folder/log" 2>&1 &
    litellm_processes[$stack]=$!
    litellm_ports[$stack]=$port
}

# Usage: await_litellm STACK
await_litellm() {
    [[ -n ${litellm_ports[$1]:-} ]] || {
        printf 'LiteLLM could not be set up\n' >&2
        return 1
    }
    for ((i = 0; i < 120; i++)); do
        if curl --silent --fail --output "$work/alive" "http://127.0.0.1:${litellm_ports[$1]}/health/liveliness"; then
            return 0
        fi
        kill -0 "${litellm_processes[$1]}" 2>/dev/null || break
        sleep 1
    done
    printf 'LiteLLM on %s does not answer\n' "$1" >&2
    tail -n 5 "$scratch/litellm-$1/log" >&2
    return 1
}

# Usage: stream_from_litellm STACK TRANSPORT
stream_from_litellm() {
    await_litellm "$1"
    local fields
    fields=$(curl --silent --include "http://127.0.0.1:${litellm_ports[$1]}/health/liveliness")
    # uvicorn is told by LiteLLM not to name itself; the others do.
    [[ $1 == uvicorn || $fields == *"server: $1"* ]] || {
        printf 'LiteLLM does not run on %s\n' "$1" >&2
        return 1
    }
    stream_from "http://127.0.0.1:${litellm_ports[$1]}/v1" bridge "$2"
}

stream-litellm-uvicorn-websocket() { stream_from_litellm uvicorn webSocket; }
stream-litellm-uvicorn-sse() { stream_from_litellm uvicorn httpSSE; }
stream-litellm-hypercorn-websocket() { stream_from_litellm hypercorn webSocket; }
stream-litellm-hypercorn-sse() { stream_from_litellm hypercorn httpSSE; }
stream-litellm-granian-websocket() { stream_from_litellm granian webSocket; }
stream-litellm-granian-sse() { stream_from_litellm granian httpSSE; }

# A turn with a tool: the model's call, our output, and the model's text about it.
# Usage: run_tool_turn BASE_URL CHAT_MODEL_OUTPUT TRANSPORT
run_tool_turn() {
    local options=() asked expected='The tool said: {"city":"Oslo"} and 21 degrees'
    [[ $3 == webSocket ]] || options=(--http-only)
    timeout 60 "$CHAPPIE" stream "How warm is it?" --base-url "$1" \
        --api-key sk-fake --model caller --tool 'get_weather=cat; printf " and 21 degrees"; echo run >>'"$work/runs" \
        --approve always --report "$work/report.json" "${options[@]}" >"$work/text"
    asked=$(tail -n 1 "$2")
    printf '"%s", the model was told %s, %d run of the tool\n' "$(cat "$work/text")" "$asked" "$(wc -l <"$work/runs")"
    [[ $(cat "$work/text") == "$expected" && $asked == '["user", "assistant", "tool"]' ]]
    (($(wc -l <"$work/runs") == 1))
    [[ $(grep --count "\"transport\" : \"$3\"" "$work/report.json") == 2 ]]
}

# Usage: run_litellm_tool_turn STACK TRANSPORT
run_litellm_tool_turn() {
    await_litellm "$1"
    run_tool_turn "http://127.0.0.1:${litellm_ports[$1]}/v1" "$scratch/litellm-$1/model.out" "$2"
}

stream-litellm-uvicorn-tool-websocket() { run_litellm_tool_turn uvicorn webSocket; }
stream-litellm-uvicorn-tool-sse() { run_litellm_tool_turn uvicorn httpSSE; }

# Streams in one dialect from LiteLLM, which asks `chappie serve` at one path alone.
# Usage: stream_dialect_from_litellm DIALECT MODEL PATH
stream_dialect_from_litellm() {
    await_litellm uvicorn
    start_chappie --port "${litellm_upstreams[uvicorn]}"
    stream_from "http://127.0.0.1:${litellm_ports[uvicorn]}/v1" "$2" httpSSE --dialect "$1"
    expect_path "$3"
}

# Usage: run_litellm_tools DIALECT MODEL PATH [OPTION]...
run_litellm_tools() {
    await_litellm uvicorn
    # shellcheck disable=SC2016 # The server's $number.
    serve_tools get_weather '{"number":$number}' true --port "${litellm_upstreams[uvicorn]}"
    base_url=http://127.0.0.1:${litellm_ports[uvicorn]}/v1
    stream_tools "$2" httpSSE --dialect "$1" "${@:4}"
    expect_path "$3"
}

stream-litellm-uvicorn-chat-of-openai() { stream_dialect_from_litellm chat openai /v1/chat/completions; }
stream-litellm-uvicorn-chat-of-openai-tools() { run_litellm_tools chat openai /v1/chat/completions; }
stream-litellm-uvicorn-chat-of-anthropic() { stream_dialect_from_litellm chat anthropic /v1/messages; }
stream-litellm-uvicorn-messages-of-openai() { stream_dialect_from_litellm messages openai /v1/responses; }
stream-litellm-uvicorn-messages-of-openai-tools() { run_litellm_tools messages openai /v1/responses; }
stream-litellm-uvicorn-messages-of-vllm() { stream_dialect_from_litellm messages vllm /v1/chat/completions; }
stream-litellm-uvicorn-messages-of-vllm-tools() { run_litellm_tools messages vllm /v1/chat/completions; }
stream-litellm-uvicorn-messages-of-anthropic() { stream_dialect_from_litellm messages anthropic /v1/messages; }

# With an effort the model thinks, and demands its signed thinking back through LiteLLM.
stream-litellm-uvicorn-chat-of-anthropic-tools() {
    run_litellm_tools chat anthropic /v1/messages --effort high
}
stream-litellm-uvicorn-messages-of-anthropic-tools() {
    run_litellm_tools messages anthropic /v1/messages --effort high
}

# MARK: chappie stream through other people's gateways, with chappie serve behind them

# Waits until a gateway answers. Usage: await_gateway URL NAME
await_gateway() {
    for ((i = 0; i < 900; i++)); do
        if curl --silent --fail --output "$work/alive" "$1"; then return 0; fi
        kill -0 "$server_process" 2>/dev/null || break
        sleep 0.1
    done
    printf '%s does not answer\n' "$2" >&2
    tail -n 5 "$work/$2.out" "$work/$2.err" >&2
    return 1
}

# The gateway of the vLLM project between the client and base_url, which has to be that of `chappie serve`; it asks
# for that server's /health before it listens. Sets base_url to the gateway's. Usage: start_agentic [PORT]
start_agentic() {
    local port=${1:-$(free_port)}
    upstream=${upstream:-${base_url%/v1}}
    # The program itself: the script that starts it would leave it behind when it is killed.
    HOME=$work start agentic "$(environment agentic)/bin/agentic-server" --llm-api-base "$upstream" \
        --llm-ready-interval-s 1 --llm-ready-timeout-s 20 \
        --gateway-host 127.0.0.1 --gateway-port "$port" --db-url "sqlite://$work/agentic.db?mode=rwc"
    base_url=http://127.0.0.1:$port/v1
    await_gateway "http://127.0.0.1:$port/health" agentic
}

stream_through_agentic() {
    start_chappie
    start_agentic
    stream_from "$base_url" paper-and-ink "$1"
}

stream-agentic-websocket() { stream_through_agentic webSocket; }
stream-agentic-sse() { stream_through_agentic httpSSE; }

# Three rounds with a tool, then the answer: on one WebSocket, or with a connection for each POST.
# Usage: stream_tools MODEL TRANSPORT [OPTION]...
stream_tools() {
    local options=("${@:3}") connections=1 result opened
    [[ $2 == webSocket ]] || {
        options+=(--http-only)
        connections=4
    }
    timeout 60 "$CHAPPIE" stream "$prompt" --base-url "$base_url" --api-key sk-fake --model "$1" \
        --tool 'get_weather=cat >>'"$work/runs"'; echo >>'"$work/runs"'; echo "21 degrees"' --approve always \
        --report "$work/report.json" "${options[@]}" >"$work/text"
    # Without the line feed at the end of the text in a pipe.
    result=$(printf %s "$(cat "$work/text")" | compare plain) || {
        printf '%s\n' "$result"
        return 1
    }
    opened=$(grep --count '"reusedConnection" : false' "$work/report.json")
    printf '%s, %d runs of the tool over %s, %d connection(s)\n' "$result" "$(wc -l <"$work/runs")" "$2" "$opened"
    [[ $(cat "$work/runs") == $'{"number":1}\n{"number":2}\n{"number":3}' ]]
    [[ $(grep --count "\"transport\" : \"$2\"" "$work/report.json") == 4 ]]
    ((opened == connections))
}

# The gateway refuses to give reasoning that is encrypted back to the model behind it, so that has none.
stream-agentic-tools-websocket() {
    # shellcheck disable=SC2016 # The server's $number.
    serve_tools get_weather '{"number":$number}' false
    start_agentic
    stream_tools scripted webSocket
}

stream-agentic-tools-sse() {
    # shellcheck disable=SC2016 # The server's $number.
    serve_tools get_weather '{"number":$number}' false
    start_agentic
    stream_tools scripted httpSSE
}

# Waits for 20 deltas of an answer that streams in the background; `before` is how many the client has had then.
await_mid_answer() {
    # The client may not have made the file yet.
    : >>"$work/stream.json"
    for ((i = 0; i < 1000; i++)); do
        before=$(grep --count '"textDelta"' "$work/stream.json") || true
        ((before < 20)) || break
        sleep 0.02
    done
}

# Kills the server in the middle of an answer; `before` is how many deltas the client has had then.
kill_in_mid_answer() {
    await_mid_answer
    kill -KILL "$server_process"
    wait "$server_process" || true
    before=$(grep --count '"textDelta"' "$work/stream.json")
}

# Expects the whole text behind a cut, by a command that compares it, and a replay that was verified.
# Usage: expect_recovery COMMAND [ARGUMENT]...
expect_recovery() {
    local result
    result=$("$@" <"$work/stream.json") || {
        printf '%s\n' "$result"
        return 1
    }
    printf '%s; cut behind %d deltas, %s\n' "$result" "$before" \
        "$(grep -E '"verifiedReplayByteCount"' "$work/report.json" | tr -d ' ",')"
    ((before >= 20))
    grep --quiet '"reconnecting"' "$work/stream.json"
    ! grep --quiet '"verifiedReplayByteCount" : 0' "$work/report.json"
}

# Kills the gateway in the middle of the answer, and starts it again. Usage: stream_through_killed_agentic TRANSPORT
stream_through_killed_agentic() {
    local options=() client status=0 before
    [[ $1 == webSocket ]] || options=(--http-only)
    # Two seconds for the whole answer.
    start_chappie --rate 60
    start_agentic
    timeout 60 "$CHAPPIE" stream --json --base-url "$base_url" --api-key sk-fake --model paper-and-ink \
        --report "$work/report.json" "${options[@]}" "$prompt" >"$work/stream.json" &
    client=$!
    kill_in_mid_answer
    start_agentic "$(sed -E 's|.*:([0-9]+)/v1|\1|' <<<"$base_url")"
    wait "$client" || status=$?
    expect_recovery compare chappie-stream-completed
    ((status == 0 && before < 115))
}

stream-agentic-killed-websocket() { stream_through_killed_agentic webSocket; }
stream-agentic-killed-sse() { stream_through_killed_agentic httpSSE; }

# A gateway that passes no deltas of text on when it has a Responses server behind it, only whole items. Usage: start_wireproxy responses|chat_completions URL
start_wireproxy() {
    local port
    port=$(free_port)
    printf '[proxy]\ndefault_model = "scripted"\n[[models]]\nid = "scripted"\naliases = ["caller"]\ntarget = "%s"\nupstream_api = "%s"\n' \
        "$2" "$1" >"$work/wireproxy.toml"
    touch "$work/wireproxy.env"
    # It writes its own log where it is told to.
    HOME=$work start wireproxy "$(environment wireproxy)/bin/agent-wire-proxy" --config "$work/wireproxy.toml" \
        --env-file "$work/wireproxy.env" --listen "127.0.0.1:$port" --log "$work/wireproxy.jsonl"
    base_url=http://127.0.0.1:$port/v1
    await_gateway "http://127.0.0.1:$port/health" wireproxy
}

# Its text has come once, as a whole. Usage: expect_text_in_one_piece
expect_text_in_one_piece() {
    (($(grep --count '"textDelta"' "$work/stream.json") == 1))
}

stream-wireproxy-responses-sse() {
    start_chappie
    start_wireproxy responses "${base_url%/v1}"
    # The numbers of the deltas are missing.
    stream_from "$base_url" scripted "httpSSE, sequenceGap"
    expect_text_in_one_piece
}

stream-wireproxy-responses-tools-sse() {
    # shellcheck disable=SC2016 # The server's $number.
    serve_tools get_weather '{"number":$number}' true
    start_wireproxy responses "${base_url%/v1}"
    stream_tools scripted httpSSE
}

# It has no WebSocket, and the client finds that out by itself.
stream-wireproxy-fallback() {
    start_chappie
    start_wireproxy responses "${base_url%/v1}"
    timeout 60 "$CHAPPIE" stream --json --base-url "$base_url" --api-key sk-fake --model scripted "$prompt" \
        >"$work/stream.json"
    compare chappie-stream-completed <"$work/stream.json"
    expect_text_in_one_piece
    expect_transports http
}

# Usage: start_chat_model [ANSWER_FILE]
start_chat_model() {
    start model python3 "$programs/chat_model.py" "$@"
    base_url=http://127.0.0.1:$(first_line model)
}

stream-wireproxy-chat-sse() {
    start_chat_model "$answer"
    start_wireproxy chat_completions "$base_url"
    stream_from "$base_url" scripted httpSSE
}

stream-wireproxy-chat-tool-sse() {
    start_chat_model
    start_wireproxy chat_completions "$base_url"
    run_tool_turn "$base_url" "$work/model.out" httpSSE
}

# Streams in one dialect from the gateway, which asks `chappie serve` in another.
# Usage: stream_dialect_from_wireproxy DIALECT responses|chat_completions
stream_dialect_from_wireproxy() {
    start_chappie
    start_wireproxy "$2" "${base_url%/v1}"
    stream_from "$base_url" scripted httpSSE --dialect "$1"
}

# Usage: run_wireproxy_tools DIALECT responses|chat_completions
run_wireproxy_tools() {
    # shellcheck disable=SC2016 # The server's $number.
    serve_tools get_weather '{"number":$number}' true
    start_wireproxy "$2" "${base_url%/v1}"
    stream_tools scripted httpSSE --dialect "$1"
}

stream-wireproxy-chat-of-chat() { stream_dialect_from_wireproxy chat chat_completions; }
stream-wireproxy-chat-of-chat-tools() { run_wireproxy_tools chat chat_completions; }
stream-wireproxy-chat-of-responses() { stream_dialect_from_wireproxy chat responses; }
stream-wireproxy-chat-of-responses-tools() { run_wireproxy_tools chat responses; }
stream-wireproxy-messages-of-chat() { stream_dialect_from_wireproxy messages chat_completions; }
stream-wireproxy-messages-of-responses() { stream_dialect_from_wireproxy messages responses; }
stream-wireproxy-messages-of-responses-tools() { run_wireproxy_tools messages responses; }

# MARK: chappie stream against transformers serve, with models that are made on the spot

readonly talker=$scratch/models/talker caller=$scratch/models/caller

# Makes the models once for all cases.
make_models() {
    [[ -x $peers/transformers/bin/python ]] || return 0
    HF_HUB_OFFLINE=1 "$peers/transformers/bin/python" "$programs/tiny_models.py" "$scratch/models" \
        >"$scratch/models.log" 2>&1 || tail -n 5 "$scratch/models.log" >&2
}

# The second time in a case at the port of the first.
start_transformers() {
    model_port=${model_port:-$(free_port)}
    HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 HOME=$work start transformers "$(environment transformers)/bin/transformers" \
        serve --host 127.0.0.1 --port "$model_port" --device cpu
    base_url=http://127.0.0.1:$model_port/v1
    await_gateway "http://127.0.0.1:$model_port/health" transformers
}

# Writes what curl shows of an answer's text to a file. Usage: post_with_curl PATH BODY END FILE
post_with_curl() {
    curl --silent --show-error --no-buffer --max-time 60 "$base_url/$1" --header 'Content-Type: application/json' \
        --data "$2" | python3 "$programs/event_stream_text.py" "$3" >"$4"
    [[ -s $4 ]]
}

# Usage: ask_with_curl MODEL PROMPT FILE [MEMBERS]
ask_with_curl() {
    post_with_curl responses "{\"model\":\"$1\",\"input\":\"$2\",\"stream\":true${4:+,$4}}" response.completed "$3"
}

# The same in Chat Completions, where END is the reason of the end. Usage: ask_chat_with_curl END MODEL PROMPT FILE [MEMBERS]
ask_chat_with_curl() {
    local messages="[{\"role\":\"user\",\"content\":\"$3\"}]"
    post_with_curl chat/completions "{\"model\":\"$2\",\"messages\":$messages,\"stream\":true${5:+,$5}}" "$1" "$4"
}

# The end is that of the kinds of text_of.py. Usage: ask_with_chappie completed|incomplete MODEL PROMPT FILE [OPTION]...
ask_with_chappie() {
    local status=0 wanted=0
    # A response that is cut off is a failure.
    [[ $1 == completed ]] || wanted=69
    timeout 120 "$CHAPPIE" stream --json --base-url "$base_url" --api-key sk-fake --model "$2" "${@:5}" "$3" >"$4" ||
        status=$?
    ((status == wanted)) || {
        printf 'chappie stream: exit %d %s\n' "$status" "$(tail -n 1 "$4")"
        return 1
    }
}

# Compares what `chappie stream --json` printed with a file. Usage: text_equals completed|incomplete FILE
text_equals() {
    python3 "$programs/text_of.py" "chappie-stream-$1" "$2"
}

# The model is greedy, so that the second answer is the first one's like.
stream-transformers-text() {
    start_transformers
    ask_with_curl "$talker" "$prompt" "$work/wanted"
    ask_with_chappie completed "$talker" "$prompt" "$work/stream.json"
    text_equals completed "$work/wanted" <"$work/stream.json"
}

stream-transformers-parallel() {
    local topics=(sea ship harbour bottle) topic job jobs=() result different
    start_transformers
    for topic in "${topics[@]}"; do
        ask_with_curl "$talker" "Tell me about the $topic." "$work/$topic.wanted" &
        jobs+=($!)
        ask_with_chappie completed "$talker" "Tell me about the $topic." "$work/$topic.json" &
        jobs+=($!)
    done
    for job in "${jobs[@]}"; do wait "$job"; done
    for topic in "${topics[@]}"; do
        result=$(text_equals completed "$work/$topic.wanted" <"$work/$topic.json") || {
            printf '%s: %s\n' "$topic" "$result"
            return 1
        }
    done
    printf '%d streams at once, %d bytes equal\n' "${#topics[@]}" "$(cat "$work"/*.wanted | wc -c)"
    different=$(sha256sum "$work"/*.wanted | cut -d ' ' -f 1 | sort --unique | wc -l)
    ((different == ${#topics[@]}))
}

# Two calls in one answer, behind a text that the server sends again after them, under its identifier.
stream-transformers-tools() {
    local repeated
    start_transformers
    curl --silent --no-buffer --max-time 60 "$base_url/responses" --header 'Content-Type: application/json' \
        --data "{\"model\":\"$caller\",\"input\":\"What time is it?\",\"stream\":true}" >"$work/curl"
    repeated=$(grep 'response.output_item.done' "$work/curl" | grep --count '"type":"message"')
    run_transformers_tools
    printf '%d calls, the message %d times on the wire\n' "$(wc -l <"$work/runs")" "$repeated"
}

# Usage: run_transformers_tools [OPTION]...
run_transformers_tools() {
    local expected='Let me look.It is 12:00 in UTC and 13:00 in Oslo, ⌚ så klokka er ett.' result
    printf '%s' "$expected" >"$work/wanted"
    # shellcheck disable=SC2016 # The tool's shell.
    ask_with_chappie completed "$caller" "What time is it?" "$work/stream.json" "$@" --approve always --tool \
        'clock=zone=$(cat); echo "$zone" >>'"$work/runs"'; case $zone in *UTC*) printf 12:00 ;; *) printf 13:00 ;; esac'
    result=$(text_equals completed "$work/wanted" <"$work/stream.json") || {
        printf '%s\n' "$result"
        return 1
    }
    printf '%s\n' "$result"
    [[ $(sort "$work/runs") == $'{"zone": "Europe/Oslo"}\n{"zone": "UTC"}' ]]
}

# An answer that the limit of tokens cuts off.
stream-transformers-length() {
    start_transformers
    ask_with_curl "$talker" "$prompt" "$work/wanted" '"max_output_tokens":40'
    printf '{"max_output_tokens":40}' >"$work/request.json"
    ask_with_chappie completed "$talker" "$prompt" "$work/stream.json" --request "$work/request.json" --recovery never
    text_equals completed "$work/wanted" <"$work/stream.json"
}

# Kills a server in the middle of an answer whose text is in $work/wanted, and starts it again.
# Usage: run_killed START_COMMAND completed|incomplete MODEL [OPTION]...
run_killed() {
    local client before
    ask_with_chappie "$2" "$3" "$prompt" "$work/stream.json" --http-only --max-reconnects 10 "${@:4}" \
        --report "$work/report.json" &
    client=$!
    kill_in_mid_answer
    "$1"
    wait "$client"
    expect_recovery text_equals "$2" "$work/wanted"
}

# The server loads the model anew.
stream-transformers-killed() {
    start_transformers
    ask_with_curl "$talker" "$prompt" "$work/wanted"
    run_killed start_transformers completed "$talker"
}

# The answer goes on until the model's own limit of tokens. Only Chat Completions says that it is cut off there.
stream-transformers-chat() {
    start_transformers
    ask_chat_with_curl length "$talker" "$prompt" "$work/wanted"
    ask_with_chappie incomplete "$talker" "$prompt" "$work/stream.json" --dialect chat
    text_equals incomplete "$work/wanted" <"$work/stream.json"
}

stream-transformers-chat-tools() {
    start_transformers
    run_transformers_tools --dialect chat
}

stream-transformers-chat-killed() {
    start_transformers
    ask_chat_with_curl length "$talker" "$prompt" "$work/wanted"
    run_killed start_transformers incomplete "$talker" --dialect chat
}

# MARK: chappie stream against llama-cpp-python's server, with a model that is made on the spot

# The server is greedy only when it is asked to be.
readonly greedy='"temperature":0'

# Makes the model, which recites the answer, once for all cases.
make_reciter() {
    [[ -x $peers/llamacpp/bin/python ]] || return 0
    "$peers/llamacpp/bin/python" "$programs/reciting_model.py" "$answer" "$scratch/reciter.gguf" \
        >"$scratch/reciter.log" 2>&1 || tail -n 5 "$scratch/reciter.log" >&2
}

# The second time in a case at the port of the first.
start_llamacpp() {
    model_port=${model_port:-$(free_port)}
    HOME=$work start llamacpp "$(environment llamacpp)/bin/python" -m llama_cpp.server --model "$scratch/reciter.gguf" \
        --model_alias reciter --n_threads 1 --n_threads_batch 1 --host 127.0.0.1 --port "$model_port"
    base_url=http://127.0.0.1:$model_port/v1
    await_gateway "$base_url/models" llamacpp
}

# Writes the request of ask_reciter. Usage: write_request [MEMBERS]
write_request() {
    printf '{%s%s}' "$greedy" "${1:+,$1}" >"$work/request.json"
}

# Usage: ask_reciter completed|incomplete [OPTION]...
ask_reciter() {
    ask_with_chappie "$1" reciter "$prompt" "$work/stream.json" --dialect chat --request "$work/request.json" "${@:2}"
}

# The answer is known, and curl gets it too. Some letters come in several tokens.
stream-llamacpp-chat() {
    start_llamacpp
    ask_chat_with_curl stop reciter "$prompt" "$work/wanted" "$greedy"
    cmp "$work/wanted" "$answer"
    write_request
    ask_reciter completed
    text_equals completed "$answer" <"$work/stream.json"
}

stream-llamacpp-chat-length() {
    start_llamacpp
    ask_chat_with_curl length reciter "$prompt" "$work/wanted" "$greedy"',"max_tokens":40'
    write_request '"max_output_tokens":40'
    ask_reciter incomplete
    text_equals incomplete "$work/wanted" <"$work/stream.json"
}

# A call that the request demands comes in the form before tools as well. The server refuses the request behind it, in
# which the message with the call has null as its content.
stream-llamacpp-chat-call() {
    local schema='{"type":"object","properties":{"zone":{"const":"UTC"}},"required":["zone"],"additionalProperties":false}'
    start_llamacpp
    write_request '"tools":[{"type":"function","name":"clock","parameters":'"$schema"'}],
        "tool_choice":{"type":"function","name":"clock"}'
    ask_reciter incomplete --max-reconnects 0 --approve always --tool "clock=cat >>$work/runs; echo 12:00"
    [[ $(tr -d ' ' <"$work/runs") == '{"zone":"UTC"}' ]]
    [[ $(tail -n 1 "$work/stream.json") == *'"tag":"http.500"'* ]]
    printf 'ran with %s; the server refuses the next request\n' "$(cat "$work/runs")"
}

# Another request interrupts an answer: the server writes [DONE] without a reason, and breaks the connection.
stream-llamacpp-chat-interrupted() {
    local client before
    start_llamacpp
    write_request
    ask_reciter completed --report "$work/report.json" &
    client=$!
    await_mid_answer
    ask_chat_with_curl length reciter "$prompt" "$work/other" "$greedy"',"max_tokens":1'
    wait "$client"
    expect_recovery text_equals completed "$answer"
}

stream-llamacpp-chat-killed() {
    start_llamacpp
    write_request
    cp "$answer" "$work/wanted"
    run_killed start_llamacpp completed reciter --dialect chat --request "$work/request.json"
}

# MARK: Running

# shellcheck disable=SC2317 # Called by the trap.
clean_up() {
    local stack
    for stack in "${!litellm_processes[@]}"; do kill -- "-${litellm_processes[$stack]}" 2>/dev/null || kill "${litellm_processes[$stack]}" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$scratch"
}

# Runs one case in a process of its own, so that its servers end with it, and prints its line.
run_case() {
    local name=$1 status=0 detail
    work=$scratch/$name
    mkdir -p "$work"
    # Not as a condition: bash would ignore -e in it.
    set +e
    (
        set -e
        # shellcheck disable=SC2046 # One word for each job.
        trap 'kill $(jobs -p) 2>/dev/null || true; wait' EXIT
        "$name"
    ) >"$work/detail" 2>"$work/errors"
    status=$?
    set -e
    detail=$(tail -n 1 "$work/detail")
    if ((status == 0)); then
        printf 'PASS %s %s\n' "$name" "$detail"
        passed=$((passed + 1))
    else
        printf 'FAIL %s %s\n' "$name" "${detail:-exit $status}"
        touch "$work/serve.err"
        cat "$work/errors" "$work/serve.err" | tail -n 8 | cut -c 1-300 | sed 's/^/     /'
        failed=$((failed + 1))
    fi
}

chosen=("$@")
case ${1:-} in
    "") chosen=("${cases[@]}" "${client_cases[@]}") ;;
    --models) chosen=("${model_cases[@]}") ;;
    --list)
        printf '%s\n' "${cases[@]}" "${client_cases[@]}" "${model_cases[@]}"
        exit 0
        ;;
    -h | --help)
        sed -n '2,9s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
esac
for name in "${chosen[@]}"; do
    [[ " ${cases[*]} ${client_cases[*]} ${model_cases[*]} " == *" $name "* ]] || {
        printf 'interop.sh: no case %s (--list names them)\n' "$name" >&2
        exit 64
    }
done

CHAPPIE=${CHAPPIE:-$(swift build --show-bin-path)/chappie}
[[ -x $CHAPPIE ]] || {
    printf 'interop.sh: no %s: run make interop, or set CHAPPIE\n' "$CHAPPIE" >&2
    exit 69
}
trap clean_up EXIT

passed=0
failed=0
for name in "${environments[@]}"; do
    # One that cannot be fetched fails its own cases and no others.
    if [[ "${chosen[*]} " == *"-$name-"* ]]; then environment "$name" >/dev/null || true; fi
done
for stack in "${litellm_stacks[@]}"; do
    if [[ "${chosen[*]} " == *"-litellm-$stack-"* ]]; then start_litellm "$stack"; fi
done
if [[ "${chosen[*]} " == *"-transformers-"* ]]; then make_models; fi
if [[ "${chosen[*]} " == *"-llamacpp-"* ]]; then make_reciter; fi
for name in "${chosen[@]}"; do run_case "$name"; done
printf '%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
