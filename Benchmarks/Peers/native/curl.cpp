// libcurl with simdjson: event streams on one thread, in epoll_wait by curl's multi_socket interface.
#include "peer.hpp"

#include <curl/curl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cstring>

namespace {

// A line at a time, as the HTML standard says of event streams; the server's events have one line of data.
struct event_reader {
    peer::meter *meter = nullptr;
    peer::tally *stream = nullptr;
    std::string line, data; // the beginning of a line; the data of an event

    void take_line(const char *start, size_t count) {
        if (count > 0 && start[count - 1] == '\r') count--;
        if (count == 0) {
            if (data.empty()) return;
            data.reserve(data.size() + simdjson::SIMDJSON_PADDING);
            meter->take(*stream, data.data(), data.size());
            data.clear();
        } else if (count > 5 && memcmp(start, "data:", 5) == 0) {
            size_t skipped = start[5] == ' ' ? 6 : 5;
            if (!data.empty()) data += '\n';
            data.append(start + skipped, count - skipped);
        }
    }

    void take(const char *bytes, size_t count) {
        const char *end = bytes + count;
        while (const auto *feed = (const char *)memchr(bytes, '\n', size_t(end - bytes))) {
            if (line.empty()) {
                take_line(bytes, size_t(feed - bytes));
            } else {
                line.append(bytes, feed);
                take_line(line.data(), line.size());
                line.clear();
            }
            bytes = feed + 1;
        }
        line.append(bytes, end);
    }
};

struct loop {
    int poller = epoll_create1(EPOLL_CLOEXEC);
    long timeout = -1; // milliseconds
    CURLM *multi = curl_multi_init();

    static int set_timer(CURLM *, long timeout, void *owner) {
        ((loop *)owner)->timeout = timeout;
        return 0;
    }

    static int watch(CURL *, curl_socket_t socket, int what, void *owner, void *known) {
        auto *self = (loop *)owner;
        epoll_event event{};
        event.data.fd = socket;
        event.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) | (what & CURL_POLL_OUT ? EPOLLOUT : 0u);
        int how = what == CURL_POLL_REMOVE ? EPOLL_CTL_DEL : known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
        epoll_ctl(self->poller, how, socket, &event);
        curl_multi_assign(self->multi, socket, what == CURL_POLL_REMOVE ? nullptr : self);
        return 0;
    }

    static size_t write(char *bytes, size_t size, size_t count, void *reader) {
        ((event_reader *)reader)->take(bytes, size * count);
        return size * count;
    }
};

} // namespace

void peer::read_streams(const task &task, const size &size, meter &meter) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    loop loop;
    curl_multi_setopt(loop.multi, CURLMOPT_SOCKETFUNCTION, loop::watch);
    curl_multi_setopt(loop.multi, CURLMOPT_SOCKETDATA, &loop);
    curl_multi_setopt(loop.multi, CURLMOPT_TIMERFUNCTION, loop::set_timer);
    curl_multi_setopt(loop.multi, CURLMOPT_TIMERDATA, &loop);
    curl_multi_setopt(loop.multi, CURLMOPT_MAXCONNECTS, long(task.stream_count));
    std::vector<event_reader> readers(task.stream_count);
    std::vector<CURL *> transfers;
    const std::string url = size.url + (task.is_chat ? "/chat/completions" : "/responses");
    meter.begin();
    for (size_t index = 0; index < readers.size(); index++) {
        readers[index].meter = &meter;
        readers[index].stream = &meter.streams[index];
        CURL *transfer = transfers.emplace_back(curl_easy_init());
        curl_easy_setopt(transfer, CURLOPT_URL, url.c_str());
        curl_easy_setopt(transfer, CURLOPT_PROXY, "");
        curl_easy_setopt(transfer, CURLOPT_FAILONERROR, 1L);
        curl_easy_setopt(transfer, CURLOPT_WRITEFUNCTION, loop::write);
        curl_easy_setopt(transfer, CURLOPT_WRITEDATA, &readers[index]);
        if (task.is_compressed) curl_easy_setopt(transfer, CURLOPT_ACCEPT_ENCODING, "gzip");
        if (size.is_secure) curl_easy_setopt(transfer, CURLOPT_CAINFO, size.certificate.c_str());
        curl_multi_add_handle(loop.multi, transfer);
    }
    std::vector<epoll_event> events(512);
    int running = int(transfers.size());
    while (running > 0) {
        int ready = epoll_wait(loop.poller, events.data(), int(events.size()), int(loop.timeout));
        if (ready == 0) curl_multi_socket_action(loop.multi, CURL_SOCKET_TIMEOUT, 0, &running);
        for (int index = 0; index < ready; index++) {
            int what = (events[size_t(index)].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                       | (events[size_t(index)].events & ~uint32_t(EPOLLOUT) ? CURL_CSELECT_IN : 0);
            curl_multi_socket_action(loop.multi, events[size_t(index)].data.fd, what, &running);
        }
    }
    for (CURL *transfer : transfers) {
        curl_off_t received = 0;
        curl_easy_getinfo(transfer, CURLINFO_SIZE_DOWNLOAD_T, &received);
        if ((uint64_t(received) < 250 * size.delta_count) != task.is_compressed)
            throw std::runtime_error("a stream is compressed and should not be, or the other way round");
        curl_multi_remove_handle(loop.multi, transfer);
        curl_easy_cleanup(transfer);
    }
    curl_multi_cleanup(loop.multi);
    close(loop.poller);
}

std::string peer::version() { return curl_version_info(CURLVERSION_NOW)->version; }
