// The sockets, frames and JSON of ../epoll.cpp for tasks.swift, which resumes a task for each read.
#define main epoll_main
#include "../epoll.cpp"
#undef main

#include <pthread.h>

namespace {

constexpr size_t event_count = 512, read_size = 4096;

// The bytes of a stream that its task has not taken yet, between the loop's thread and that of the task.
struct inbox {
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    std::vector<char> bytes;
    size_t count = 0;
};

peer::task *given;
peer::meter *meter;
std::vector<connection> connections;
std::vector<inbox> inboxes;
std::vector<epoll_event> events(event_count);
int poller;

} // namespace

// Opens the streams of a task of typical.py; returns their number.
extern "C" long tasks_open(const char *text) {
    given = new peer::task(text);
    meter = new peer::meter(*given, false);
    connections = std::vector<connection>(given->stream_count);
    inboxes = std::vector<inbox>(given->stream_count);
    poller = epoll_create1(EPOLL_CLOEXEC);
    for (size_t index = 0; index < connections.size(); index++) {
        connections[index].open(given->sizes.at(0), nullptr);
        inboxes[index].bytes.resize(read_size + simdjson::SIMDJSON_PADDING);
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = index;
        epoll_ctl(poller, EPOLL_CTL_ADD, connections[index].descriptor, &event);
    }
    meter->begin();
    return long(connections.size());
}

extern "C" void tasks_request() {
    for (connection &opened : connections) opened.write("\x81\x82\0\0\0\0{}", 8);
}

// Waits, and reads what is there; returns the number of streams in `ready`, which has room for 512.
extern "C" long tasks_wait(int *ready) {
    int count = epoll_wait(poller, events.data(), event_count, 100);
    for (int event = 0; event < count; event++) {
        size_t index = events[size_t(event)].data.u64;
        inbox &target = inboxes[index];
        pthread_mutex_lock(&target.lock);
        target.bytes.resize(std::max(target.bytes.size(), target.count + read_size + simdjson::SIMDJSON_PADDING));
        size_t room = target.bytes.size() - simdjson::SIMDJSON_PADDING - target.count;
        target.count += connections[index].read(target.bytes.data() + target.count, room);
        pthread_mutex_unlock(&target.lock);
        ready[event] = int(index);
    }
    return std::max(count, 0);
}

// Takes the whole frames of a stream; returns whether it is complete.
extern "C" bool tasks_take(long index) {
    inbox &source = inboxes[size_t(index)];
    peer::tally &stream = meter->streams[size_t(index)];
    pthread_mutex_lock(&source.lock);
    size_t taken = take_frames(source.bytes.data(), source.count, stream, *meter);
    if (taken < source.count) memmove(source.bytes.data(), source.bytes.data() + taken, source.count - taken);
    source.count -= taken;
    pthread_mutex_unlock(&source.lock);
    if (stream.is_complete) epoll_ctl(poller, EPOLL_CTL_DEL, connections[size_t(index)].descriptor, nullptr);
    return stream.is_complete;
}

extern "C" bool tasks_are_over() { return meter->is_over(); }

extern "C" void tasks_print() {
    std::printf("{\"version\":\"%s\",", peer::version().c_str());
    meter->print_paced();
    std::printf(",\"memoryBytes\":%ld}\n", peer::peak_memory());
    std::fflush(stdout);
}
