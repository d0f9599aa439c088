// The floor: WebSockets on one thread in epoll_wait, frame by frame, with simdjson and without a library.
#include "peer.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace {

constexpr size_t capacity = 256 << 10;

struct connection {
    int descriptor = -1;
    SSL *tls = nullptr;
    std::string rest; // the beginning of a frame

    ~connection() {
        SSL_free(tls);
        if (descriptor >= 0) close(descriptor);
    }

    // Returns the number of bytes, 0 when there are none at the moment.
    size_t read(char *target, size_t count) {
        ssize_t result = tls ? SSL_read(tls, target, int(count)) : recv(descriptor, target, count, 0);
        if (result > 0) return size_t(result);
        bool waits = tls ? SSL_get_error(tls, int(result)) == SSL_ERROR_WANT_READ : result < 0 && errno == EAGAIN;
        return waits ? 0 : throw std::runtime_error("the connection ended");
    }

    void write(const void *bytes, size_t count) {
        ssize_t result = tls ? SSL_write(tls, bytes, int(count)) : send(descriptor, bytes, count, MSG_NOSIGNAL);
        if (result != ssize_t(count)) throw std::runtime_error("a request cannot be sent");
    }

    void open(const peer::size &size, SSL_CTX *context) {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(size.port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(descriptor, (sockaddr *)&address, sizeof address) != 0) throw std::runtime_error("no connection");
        int on = 1;
        setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (size.is_secure) {
            tls = SSL_new(context);
            SSL_set_fd(tls, descriptor);
            if (SSL_connect(tls) != 1) throw std::runtime_error("the handshake failed");
        }
        static const char head[] = "GET /responses HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
                                   "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                                   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        write(head, sizeof head - 1);
        char text[2048];
        size_t count = 0;
        while (!memmem(text, count, "\r\n\r\n", 4)) count += read(text + count, sizeof text - count);
        // The server says nothing more before it is asked.
        if (!memmem(text, count, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", 28)) throw std::runtime_error("no upgrade");
        fcntl(descriptor, F_SETFL, O_NONBLOCK);
    }
};

// Takes the whole frames in a buffer; returns the number of their bytes.
size_t take_frames(const char *bytes, size_t count, peer::tally &stream, peer::meter &meter) {
    const auto *start = (const uint8_t *)bytes;
    size_t position = 0;
    while (count - position >= 2 && !stream.is_complete) {
        const uint8_t *frame = start + position;
        size_t length = frame[1] & 0x7F, header = length == 126 ? 4 : length == 127 ? 10 : 2;
        if (count - position < header) break;
        if (header > 2) length = 0;
        for (size_t index = 2; index < header; index++) length = length << 8 | frame[index];
        if (count - position < header + length) break;
        if (frame[0] == 0x81) meter.take(stream, (const char *)frame + header, length);
        position += header + length;
    }
    return position;
}

} // namespace

void peer::read_streams(const task &task, const size &size, meter &meter) {
    SSL_CTX *context = size.is_secure ? SSL_CTX_new(TLS_client_method()) : nullptr;
    if (context) {
        SSL_CTX_load_verify_locations(context, size.certificate.c_str(), nullptr);
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
        SSL_CTX_set_read_ahead(context, 1);
    }
    std::vector<connection> connections(task.stream_count);
    int poller = epoll_create1(EPOLL_CLOEXEC);
    for (size_t index = 0; index < connections.size(); index++) {
        connections[index].open(size, context);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = index;
        epoll_ctl(poller, EPOLL_CTL_ADD, connections[index].descriptor, &event);
    }
    meter.begin();
    // A text message of two bytes, masked with zeros.
    for (connection &opened : connections) opened.write("\x81\x82\0\0\0\0{}", 8);
    static std::vector<char> buffer(capacity + simdjson::SIMDJSON_PADDING);
    std::vector<epoll_event> events(512);
    while (!meter.is_over()) {
        int ready = epoll_wait(poller, events.data(), int(events.size()), -1);
        for (int event = 0; event < ready; event++) {
            size_t index = events[size_t(event)].data.u64;
            connection &source = connections[index];
            tally &stream = meter.streams[index];
            size_t room, count;
            do {
                size_t held = source.rest.size();
                memcpy(buffer.data(), source.rest.data(), held);
                room = capacity - held;
                count = source.read(buffer.data() + held, room);
                size_t taken = take_frames(buffer.data(), held + count, stream, meter);
                source.rest.assign(buffer.data() + taken, held + count - taken);
                // A socket that has filled the buffer may have more, and TLS may hold what it has read ahead.
            } while (!stream.is_complete && (source.tls ? count > 0 && SSL_has_pending(source.tls) : count == room));
            if (stream.is_complete) epoll_ctl(poller, EPOLL_CTL_DEL, source.descriptor, nullptr);
        }
    }
    close(poller);
    connections.clear();
    SSL_CTX_free(context);
}

std::string peer::version() {
    return "simdjson " + std::to_string(simdjson::SIMDJSON_VERSION_MAJOR) + "."
           + std::to_string(simdjson::SIMDJSON_VERSION_MINOR);
}
