// The head of a response and its failures, reported alike whatever the version of libwebsockets.
//
// Versions differ in which heads they refuse by themselves. The judgement is the Swift side's, so every head whose status
// line was read is reported first.
#include "Internal.h"

#ifdef __linux__
#include <linux/tcp.h>
#endif
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

// The number of bytes that the peer has sent, TLS's own included; 0 where the system does not say.
static uint64_t received_byte_count(struct lws *wsi) {
#ifdef __linux__
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(&info, 0, sizeof info);
    if (getsockopt(lws_get_socket_fd(wsi), IPPROTO_TCP, TCP_INFO, &info, &length) == 0) {
        clws_tunnel *tunnel = clws_attempt_tunnel(lws_wsi_user(wsi));
        return info.tcpi_bytes_received - (tunnel ? clws_tunnel_answer_byte_count(tunnel) : 0);
    }
#else
    (void)wsi;
#endif
    return 0;
}

static clws_failure failure_of(struct lws *wsi, const char *text, size_t count) {
    static const char malformed[] = "problems parsing header";
    static const char protocol[] = "HTTP/1.1 ";
    if (count == sizeof malformed - 1 && memcmp(text, malformed, count) == 0)
        // A header section that does not fit is reported like one that is malformed.
        return received_byte_count(wsi) >= CLWS_HEADER_SECTION_LIMIT ? CLWS_FAILURE_HEAD_TOO_LARGE
                                                                     : CLWS_FAILURE_HEAD_MALFORMED;
    // libwebsockets takes any other protocol for the beginning of fields, and notices nothing until the peer is gone.
    bool has_status_line =
        lws_hdr_total_length(wsi, WSI_TOKEN_HTTP) > 0 || lws_hdr_total_length(wsi, WSI_TOKEN_HTTP1_0) > 0;
    if (!has_status_line && !lws_is_ssl(wsi) && received_byte_count(wsi) >= sizeof protocol - 1)
        return CLWS_FAILURE_HEAD_MALFORMED;
    return CLWS_FAILURE_OTHER;
}

int clws_response_head(struct lws *wsi, size_t status_code) {
    clws_attempt_note_head(lws_wsi_user(wsi));
    return clws_report(wsi, CLWS_EVENT_HEAD_RECEIVED, NULL, status_code);
}

// Reports the head of a 401 with WWW-Authenticate when its body comes. From 4.4 on libwebsockets wants a password for
// it, skips the head, and takes all that follows for a body that ends with the connection.
static int report_skipped_head(struct lws *wsi, clws_attempt *attempt) {
    if (lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_WWW_AUTHENTICATE) <= 0) return -1;
    clws_attempt_count_body(attempt, wsi);
    int verdict = clws_response_head(wsi, HTTP_STATUS_UNAUTHORIZED);
    if (verdict || lws_hdr_total_length(wsi, WSI_TOKEN_HTTP_TRANSFER_ENCODING) <= 0) return verdict;
    // The bytes that follow still have the framing of chunks, so the response ends here without its body.
    clws_report(wsi, CLWS_EVENT_COMPLETED, NULL, 0);
    return -1;
}

int clws_response_readable(struct lws *wsi) {
    clws_attempt *attempt = lws_wsi_user(wsi);
    int verdict = clws_attempt_has_head(attempt) ? 0 : report_skipped_head(wsi, attempt);
    return verdict ? verdict : clws_report(wsi, CLWS_EVENT_READABLE, NULL, 0);
}

int clws_response_failed(struct lws *wsi, const char *text, size_t count) {
    // 4.5.8 refuses lengths below 0, without a text, and 5.0 unknown transfer codings as well; earlier versions report
    // the head.
    static const char coding[] = "HS: unsupported TE";
    bool is_refusal = count == 0 || (count == sizeof coding - 1 && memcmp(text, coding, count) == 0);
    unsigned int status_code = is_refusal ? lws_http_client_http_response(wsi) : 0;
    if (status_code > 0 && !clws_attempt_has_head(lws_wsi_user(wsi))) clws_response_head(wsi, status_code);
    return clws_report(wsi, CLWS_EVENT_FAILED, NULL, (size_t)failure_of(wsi, text, count));
}
