#!/usr/bin/env bash
# The cases of Scripts/interop.sh that go through proxies, which sources this file.
#
# Usage: none of its own; see Scripts/interop.sh.
# shellcheck disable=SC2154,SC2034 # Variables are shared with that file.

# Makes a certificate for 127.0.0.1 that is signed by itself: $work/proxy.pem, .key, and both in proxy-both.pem.
make_proxy_certificate() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=proxy \
        -addext subjectAltName=IP:127.0.0.1 -keyout "$work/proxy.key" -out "$work/proxy.pem" 2>/dev/null
    cat "$work/proxy.pem" "$work/proxy.key" >"$work/proxy-both.pem"
    # As root, squid takes another user's rights.
    chmod a+r "$work/proxy.key"
}

# Waits until something listens on a port.
wait_for_port() {
    for ((i = 0; i < 100; i++)); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return 0; fi
        sleep 0.1
    done
    printf 'nothing listens on port %s\n' "$1" >&2
    return 1
}

# Starts squid, which wants a password, and sets squid_process. Usage: start_squid LISTEN PORT
start_squid() {
    local squid
    squid=$(PATH=$PATH:/usr/sbin command -v squid)
    printf 'alice:%s\n' "$(openssl passwd -apr1 secret)" >"$work/passwords"
    sed -e "s|@LISTEN@|$1|" -e "s|@FOLDER@|$work|" "$programs/squid.conf" >"$work/squid.conf"
    chmod a+rwx "$work"
    chmod a+x "$scratch"
    "$squid" -N -f "$work/squid.conf" >"$work/squid.out" 2>&1 &
    squid_process=$!
    wait_for_port "$2"
}

# Starts squid in one of three ways, and sets proxy_url without the login.
# Usage: start_squid_behind plain|https|haproxy
start_squid_behind() {
    local port target
    port=$(free_port)
    case $1 in
        plain)
            start_squid "http_port 127.0.0.1:$port" "$port"
            proxy_url=http://127.0.0.1:$port
            ;;
        https) # squid's own TLS, by GnuTLS on Debian.
            make_proxy_certificate
            start_squid "https_port 127.0.0.1:$port tls-cert=$work/proxy.pem tls-key=$work/proxy.key" "$port"
            proxy_url=https://127.0.0.1:$port
            ;;
        haproxy)
            make_proxy_certificate
            target=$(free_port)
            start_squid "http_port 127.0.0.1:$target" "$target"
            sed -e "s|@PORT@|$port|" -e "s|@TARGET@|$target|" -e "s|@FOLDER@|$work|" "$programs/haproxy.cfg" >"$work/haproxy.cfg"
            PATH=$PATH:/usr/sbin haproxy -db -f "$work/haproxy.cfg" >"$work/haproxy.out" 2>&1 &
            wait_for_port "$port"
            proxy_url=https://127.0.0.1:$port
            ;;
    esac
}

# Streams over TLS from chappie serve through squid. Usage: stream_through_squid plain|https|haproxy TRANSPORT
stream_through_squid() {
    local result server asked
    start_chappie --tls --ca-out "$work/ca.pem"
    start_squid_behind "$1"
    if [[ $1 != plain ]]; then cat "$work/proxy.pem" >>"$work/ca.pem"; fi
    result=$(stream_from "$base_url" paper-and-ink "$2" --ca-file "$work/ca.pem" \
        --proxy "${proxy_url/:\/\//://alice:secret@}") || {
        printf '%s\n' "$result"
        return 1
    }
    # It logs a tunnel when that has ended.
    kill "$squid_process"
    wait "$squid_process" || true
    server=${base_url#*://}
    asked=$(grep --count "TCP_TUNNEL/200 .* CONNECT ${server%/v1} alice" "$work/access.log") || true
    printf '%s; %d tunnel through squid\n' "$result" "$asked"
    ((asked == 1))
}

stream-squid-websocket() {
    stream_through_squid plain webSocket
    expect_transports webSocket
}

stream-squid-sse() {
    stream_through_squid plain httpSSE
    expect_transports http
}

stream-squid-https-websocket() {
    stream_through_squid https webSocket
    expect_transports webSocket
}

stream-squid-https-sse() {
    stream_through_squid https httpSSE
    expect_transports http
}

stream-haproxy-websocket() {
    stream_through_squid haproxy webSocket
    expect_transports webSocket
}

stream-haproxy-sse() {
    stream_through_squid haproxy httpSSE
    expect_transports http
}

# Expects a turn to fail with that exit status and that beginning of what is printed.
# Usage: expect_refusal STATUS WORDS OPTION...
expect_refusal() {
    local status=0
    timeout 60 "$CHAPPIE" stream --base-url "$base_url" --api-key sk-fake --http-only "${@:3}" hi >"$work/refusal" 2>&1 || status=$?
    if ((status != $1)) || ! grep --quiet --fixed-strings -e "$2" "$work/refusal" || grep --quiet -e secret -e wrong "$work/refusal"; then
        printf 'exit %d: %s\n' "$status" "$(head -c 300 "$work/refusal")"
        return 1
    fi
}

stream-squid-https-refusals() {
    start_chappie --tls --ca-out "$work/ca.pem"
    start_squid_behind https
    expect_refusal 69 "The proxy's certificate is not trusted" --ca-file "$work/ca.pem" --proxy "${proxy_url/:\/\//://alice:secret@}"
    cat "$work/proxy.pem" >>"$work/ca.pem"
    expect_refusal 77 "The proxy requires another user name and password, or any (status code 407)" \
        --ca-file "$work/ca.pem" --proxy "${proxy_url/:\/\//://alice:wrong@}"
    printf 'an untrusted certificate and a wrong password\n'
}

# Prints the command that starts a program with files of its own, where the system allows that: as root or not.
own_files() {
    local way
    for way in "unshare --mount" "unshare --map-root-user --mount"; do
        # shellcheck disable=SC2086 # Words.
        if $way true 2>/dev/null; then
            printf '%s\n' "$way"
            return 0
        fi
    done
}

# Starts dante and sets proxy_url. With files of its own it has a user alice and a server name that nothing else knows,
# has_login is 1 and login says so; where a system allows no mount namespace it asks for no login.
start_dante() {
    local port way user method=none
    port=$(free_port)
    way=$(own_files)
    user=$(id -un)
    has_login=0
    login="without a login: no mount namespaces here"
    if [[ -n $way ]]; then
        has_login=1
        login="with a login"
        method=username
        # In a namespace of users there is root alone.
        user=root
        printf 'root:x:0:0::/:/bin/sh\nalice:x:1000:1000::/:/bin/false\n' >"$work/passwd"
        printf 'alice:%s:19000::::::\n' "$(openssl passwd -6 secret)" >"$work/shadow"
        printf '127.0.0.1 localhost server.of-dante.test\n' >"$work/hosts"
    fi
    sed -e "s|@PORT@|$port|" -e "s|@METHOD@|$method|" -e "s|@USER@|$user|" "$programs/danted.conf" >"$work/danted.conf"
    # shellcheck disable=SC2086,SC2016 # Words; the inner shell has the folder as $0.
    PATH=$PATH:/usr/sbin $way sh -c '
        if [ -e "$0/passwd" ]; then
            for file in passwd shadow hosts; do mount --bind "$0/$file" "/etc/$file" || exit 1; done
        fi
        exec danted -p "$0/danted.pid" -f "$0/danted.conf"' "$work" >"$work/danted.out" 2>&1 &
    wait_for_port "$port"
    if ((has_login)); then proxy_url=socks5h://alice:secret@127.0.0.1:$port; else proxy_url=socks5h://127.0.0.1:$port; fi
}

# Streams from chappie serve through dante. Usage: stream_through_dante TRANSPORT OPTION_OF_SERVE...
stream_through_dante() {
    local result asked server=127.0.0.1 options=()
    start_chappie "${@:2}"
    start_dante
    if [[ -f $work/ca.pem ]]; then options=(--ca-file "$work/ca.pem"); elif ((has_login)); then server=server.of-dante.test; fi
    # The name is for dante alone: a look-up on this system finds nothing.
    if getent hosts server.of-dante.test >/dev/null; then
        printf 'this system knows the name\n' >&2
        return 1
    fi
    result=$(stream_from "${base_url/127.0.0.1/$server}" paper-and-ink "$1" --proxy "$proxy_url" "${options[@]}") || {
        printf '%s\n' "$result"
        return 1
    }
    asked=$(grep --count 'pass(.*tcp/connect \[:' "$work/danted.out") || true
    printf '%s; %d connection of dante to %s, %s\n' "$result" "$asked" "$server" "$login"
    ((asked == 1))
}

stream-dante-websocket() {
    stream_through_dante webSocket
    expect_transports webSocket
}

stream-dante-sse() {
    stream_through_dante httpSSE
    expect_transports http
}

stream-dante-tls-websocket() {
    stream_through_dante webSocket --tls --ca-out "$work/ca.pem"
    expect_transports webSocket
}

stream-dante-tls-sse() {
    stream_through_dante httpSSE --tls --ca-out "$work/ca.pem"
    expect_transports http
}

stream-dante-refusals() {
    start_chappie
    start_dante
    if ((has_login)); then
        expect_refusal 77 "The proxy refused the user name or the password" --proxy "${proxy_url/secret/wrong}"
        expect_refusal 77 "The proxy requires a user name and a password" --proxy "${proxy_url/alice:secret@/}"
    fi
    base_url=http://127.0.0.1:9/v1
    expect_refusal 69 "The proxy refused the connection: its rules do not allow it" --proxy "$proxy_url"
    base_url=http://127.0.0.1:1/v1
    expect_refusal 69 "The proxy refused the connection: the server refused it" --proxy "$proxy_url"
    base_url=http://nonexistent.invalid/v1
    expect_refusal 69 "The proxy refused the connection: it cannot reach the server" --proxy "$proxy_url"
    printf 'a rule, a port that is closed, a name that there is not; %s\n' "$login"
}
