// The parts that the peers in C++ share: the task, the contents taken out of each event, and the answer.
//
// usage: PEER TASK
//
// Task and answer are those of ../stream_peers.py. A task with `first` and `last` is one of paced messages: from the
// delta of all streams with the number `first` to that with the number `last`, the answer has the processor time, the
// context switches and the lags of the messages; and of all deltas their number and the sum of the moments in them.
#pragma once

#include <simdjson.h>
#include <sys/resource.h>
#include <time.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace peer {

inline uint64_t moment() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

// A moment with the processor time and the context switches of the process until then.
struct reading {
    uint64_t wall = 0;
    double processor = 0;
    long switches = 0;

    static reading now() {
        rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        auto seconds = [](timeval time) { return double(time.tv_sec) + double(time.tv_usec) / 1e6; };
        return {moment(), seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_nvcsw + usage.ru_nivcsw};
    }
};

// The most memory that the process has had, in bytes. The ru_maxrss of getrusage includes the parent before exec.
inline long peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;)
        if (long kibibytes = 0; word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
    return 0;
}

struct size {
    size_t delta_count = 0;
    bool is_secure = false;
    uint16_t port = 0;
    std::string url, certificate; // the certificate's file; empty without TLS
};

struct task {
    std::vector<size> sizes;
    size_t stream_count = 0, run_count = 0;
    uint64_t first = 0, last = 0; // of all deltas; 0: not paced
    double seconds = 0;
    bool is_compressed = false, is_chat = false;

    explicit task(const char *text) {
        simdjson::dom::parser parser;
        simdjson::dom::element root = parser.parse(std::string_view(text));
        for (simdjson::dom::element item : root["sizes"].get_array()) {
            size made;
            made.delta_count = uint64_t(item.at(0));
            made.url = std::string_view(item.at(1));
            made.port = uint16_t(std::stoi(made.url.substr(made.url.rfind(':') + 1)));
            std::string_view certificate;
            made.is_secure = item.at(2).get(certificate) == simdjson::SUCCESS;
            made.certificate = certificate;
            sizes.push_back(made);
        }
        stream_count = uint64_t(root["streamCount"]);
        run_count = uint64_t(root["runCount"]);
        seconds = double(root["seconds"]);
        is_compressed = bool(root["isCompressed"]);
        if (root["isChat"].get(is_chat) != simdjson::SUCCESS) is_chat = false;
        if (root["first"].get(first) != simdjson::SUCCESS) first = 0;
        if (root["last"].get(last) != simdjson::SUCCESS) last = 0;
    }
};

// The findings in one stream.
struct tally {
    uint64_t event_count = 0, byte_count = 0;
    uLong checksum = 0;
    bool is_complete = false;
};

// One pass over all streams.
class meter {
public:
    std::vector<tally> streams;
    reading start, end;

    meter(const task &given, bool checks) : streams(given.stream_count), wanted(given), checks(checks) {
        // Touched before anything is measured.
        if (given.last) lags.assign(given.last - given.first, 0);
    }

    // To be called between the last connection and the first request.
    void begin() { start = reading::now(); }

    // Takes an event; `json` has SIMDJSON_PADDING bytes after it. Returns whether it was the last of its stream.
    bool take(tally &stream, const char *json, size_t count) {
        if (wanted.is_chat) {
            take_chunk(stream, json, count);
            return stream.is_complete;
        }
        simdjson::ondemand::document document = parser.iterate(json, count, count + simdjson::SIMDJSON_PADDING);
        std::string_view type = document["type"];
        if (type == "response.output_text.delta") {
            take_text(stream, document["delta"]);
        } else if (type == "response.completed") {
            complete(stream);
        }
        return stream.is_complete;
    }

    bool is_over() const { return complete_count == streams.size(); }

    void print_flood() const {
        std::printf("{\"seconds\":%.9f,\"processorSeconds\":%.9f,\"streams\":[", double(end.wall - start.wall) / 1e9,
                    end.processor - start.processor);
        for (size_t index = 0; index < streams.size(); index++) {
            const tally &found = streams[index];
            std::printf("%s{\"eventCount\":%llu,\"textByteCount\":%llu", index ? "," : "",
                        (unsigned long long)found.event_count, (unsigned long long)found.byte_count);
            if (checks) std::printf(",\"textChecksum\":%lu", found.checksum);
            std::printf("}");
        }
        std::printf("]}");
    }

    void print_paced() {
        std::sort(lags.begin(), lags.end());
        auto lag = [&](double share) { return lags.empty() ? 0u : lags[size_t(double(lags.size() - 1) * share)]; };
        std::printf("\"eventCount\":%llu,\"momentSum\":\"%llu\",\"seconds\":%.9f,\"processorSeconds\":%.9f,"
                    "\"switchCount\":%ld,\"lags\":[%u,%u]",
                    (unsigned long long)total, (unsigned long long)sum, double(end.wall - start.wall) / 1e9,
                    end.processor - start.processor, end.switches - start.switches, lag(0.5), lag(0.99));
    }

private:
    const task &wanted;
    const bool checks;
    size_t complete_count = 0;
    uint64_t total = 0, sum = 0;
    std::vector<uint32_t> lags; // in nanoseconds
    simdjson::ondemand::parser parser;

    // Takes a chunk of Chat Completions, or the mark behind them.
    void take_chunk(tally &stream, const char *json, size_t count) {
        if (std::string_view(json, count) == "[DONE]") return complete(stream);
        simdjson::ondemand::document document = parser.iterate(json, count, count + simdjson::SIMDJSON_PADDING);
        simdjson::ondemand::object delta = document["choices"].at(0)["delta"];
        std::string_view text;
        if (delta["content"].get(text) == simdjson::SUCCESS && !text.empty()) take_text(stream, text);
    }

    void take_text(tally &stream, std::string_view text) {
        stream.event_count++;
        stream.byte_count += text.size();
        if (checks) stream.checksum = crc32(stream.checksum, (const Bytef *)text.data(), uInt(text.size()));
        if (wanted.last) take_moment(text);
    }

    void complete(tally &stream) {
        stream.is_complete = true;
        if (++complete_count == streams.size() && !wanted.last) end = reading::now();
    }

    void take_moment(std::string_view text) {
        uint64_t sent = 0;
        for (char digit : text) sent = sent * 10 + uint64_t(digit - '0');
        sum += sent;
        total++;
        if (total > wanted.first && total <= wanted.last) lags[total - wanted.first - 1] = uint32_t(moment() - sent);
        if (total == wanted.first) start = reading::now();
        if (total == wanted.last) end = reading::now();
    }
};

// Opens all streams of a size, calls `begin`, requests a response on each, and reads until the pass is over.
void read_streams(const task &task, const size &size, meter &meter);
std::string version(); // of the library

inline meter pass(const task &task, const size &size, bool checks) {
    meter found(task, checks);
    read_streams(task, size, found);
    if (!found.is_over()) throw std::runtime_error("a stream has ended early");
    return found;
}

inline void answer(const task &task) {
    size chosen = task.sizes.at(0);
    std::printf("{\"version\":\"%s\",", version().c_str());
    if (task.last) {
        pass(task, chosen, false).print_paced();
    } else {
        // A pass before all others fills caches.
        pass(task, chosen, false);
        for (size_t index = 1; index < task.sizes.size(); index++) {
            meter found = pass(task, chosen, false);
            double seconds = double(found.end.wall - found.start.wall) / 1e9;
            if (seconds * double(task.sizes[index].delta_count) > task.seconds * double(chosen.delta_count)) break;
            chosen = task.sizes[index];
        }
        std::printf("\"deltaCount\":%zu,\"check\":", chosen.delta_count);
        pass(task, chosen, true).print_flood();
        for (size_t index = 0; index < task.run_count; index++) {
            std::printf(index ? "," : ",\"runs\":[");
            pass(task, chosen, false).print_flood();
        }
        std::printf("]");
    }
    std::printf(",\"memoryBytes\":%ld}\n", peak_memory());
}

} // namespace peer

int main(int count, char **arguments) {
    rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    try {
        if (count != 2) throw std::runtime_error("usage: PEER TASK");
        peer::answer(peer::task(arguments[1]));
    } catch (const std::exception &error) {
        std::fflush(stdout);
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
