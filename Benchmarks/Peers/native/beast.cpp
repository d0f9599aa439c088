// Boost.Beast with simdjson, a message at a time on one thread: many WebSockets in asio's loop, and a single one by
// blocking calls, which are faster.
#include "peer.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/ssl.hpp>
#include <boost/beast/version.hpp>
#include <boost/beast/websocket.hpp>
#include <boost/beast/websocket/ssl.hpp>

#include <memory>

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace websocket = beast::websocket;
using tcp = asio::ip::tcp;
// Without the timers of beast::tcp_stream, and with the loop's own executor, which is the fastest form.
using wire = asio::basic_stream_socket<tcp, asio::io_context::executor_type>;
using secure = beast::ssl_stream<wire>;

template <class Layer> class session {
public:
    template <class... Arguments>
    session(peer::meter &meter, peer::tally &stream, Arguments &&...arguments)
        : meter(meter), stream(stream), socket(std::forward<Arguments>(arguments)...) {}

    void open(const tcp::endpoint &server) {
        beast::get_lowest_layer(socket).connect(server);
        beast::get_lowest_layer(socket).set_option(tcp::no_delay(true));
        if constexpr (std::is_same_v<Layer, secure>) socket.next_layer().handshake(asio::ssl::stream_base::client);
        socket.handshake("127.0.0.1", "/responses");
    }

    void request() {
        socket.text(true);
        socket.write(asio::buffer("{}", 2));
    }

    void start() {
        socket.async_read(buffer, [this](beast::error_code error, size_t) {
            if (error) throw beast::system_error(error);
            if (!take()) start();
        });
    }

    void read_to_end() {
        do socket.read(buffer);
        while (!take());
    }

private:
    peer::meter &meter;
    peer::tally &stream;
    websocket::stream<Layer> socket;
    beast::flat_buffer buffer;

    // Takes a message; returns whether it was the last.
    bool take() {
        // The room behind a message that the parser needs; it may move the message.
        buffer.reserve(buffer.size() + simdjson::SIMDJSON_PADDING);
        bool is_over = meter.take(stream, (const char *)buffer.data().data(), buffer.size());
        buffer.clear();
        return is_over;
    }
};

template <class Layer, class... Arguments>
void read_all(const peer::task &task, const peer::size &size, peer::meter &meter, asio::io_context &loop,
              Arguments &...arguments) {
    tcp::endpoint server(asio::ip::address_v4::loopback(), size.port);
    std::vector<std::unique_ptr<session<Layer>>> sessions;
    for (size_t index = 0; index < task.stream_count; index++) {
        sessions.push_back(std::make_unique<session<Layer>>(meter, meter.streams[index], loop, arguments...));
        sessions.back()->open(server);
    }
    meter.begin();
    for (auto &opened : sessions) opened->request();
    if (sessions.size() == 1) return sessions.front()->read_to_end();
    for (auto &opened : sessions) opened->start();
    loop.run();
}

} // namespace

void peer::read_streams(const task &task, const size &size, meter &meter) {
    asio::io_context loop(1);
    if (!size.is_secure) return read_all<wire>(task, size, meter, loop);
    asio::ssl::context trust(asio::ssl::context::tls_client);
    trust.load_verify_file(size.certificate);
    trust.set_verify_mode(asio::ssl::verify_peer);
    read_all<secure>(task, size, meter, loop, trust);
}

std::string peer::version() { return BOOST_LIB_VERSION; }
