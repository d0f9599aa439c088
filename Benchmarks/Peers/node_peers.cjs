// Parses the benchmark's streams with event-stream parsers for Node, and times it.
//
// Usage: node node_peers.cjs FOLDER PEER WORKLOAD...
//
// Arguments and output are those of python_peers.py. Where the parsers come from:
//
// eventsource-parser  a module of the bundle that PLAYWRIGHT_BUNDLE names, whose license file names the version
// undici              the source that is compiled into this Node
"use strict";

const fs = require("node:fs");
const path = require("node:path");
const vm = require("node:vm");
const zlib = require("node:zlib");
const { load } = require("./eventsource_parser.cjs");

const repetitions = 3;
// A pass takes this long at most, by the speed of a small one; a slow parser gets less of the stream.
const secondsAPass = 0.1;
// The most repetitions of a short pass, which is otherwise repeated for as long as long passes are.
const mostRepetitions = 60;
// The time that code runs before it is timed, in which it is compiled.
const secondsOfWarmUp = 0.3;

function eventsourceParser() {
    const { createParser, version } = load();
    return {
        version,
        parse(chunks, receive) {
            const decoder = new TextDecoder();
            const parser = createParser({ onEvent: (event) => receive(event.data) });
            for (const chunk of chunks) parser.feed(decoder.decode(chunk, { stream: true }));
        },
    };
}

function undici() {
    const source = process.binding("natives")["internal/deps/undici/undici"];
    const wrapper = vm.runInThisContext(
        `((module, require) => {\n${source}\nreturn require_eventsource_stream().EventSourceStream;\n})`);
    const EventSourceStream = wrapper({ exports: {} }, require);
    const ignore = () => {};
    return {
        version: process.versions.undici,
        parse(chunks, receive) {
            const stream = new EventSourceStream({ push: (event) => receive(event.options.data) });
            for (const chunk of chunks) stream._transform(chunk, "buffer", ignore);
        },
    };
}

const peers = { "eventsource-parser": eventsourceParser, undici };

// Parses a stream; counts its events, and sums up every byte of data.
function found(peer, chunks) {
    const nul = Buffer.alloc(1);
    let eventCount = 0, dataByteCount = 0, dataChecksum = 0;
    peer.parse(chunks, (text) => {
        const data = Buffer.from(text);
        eventCount += 1;
        dataByteCount += data.length;
        dataChecksum = zlib.crc32(nul, zlib.crc32(data, dataChecksum));
    });
    return { eventCount, dataByteCount, dataChecksum };
}

// Times a pass that only counts events; returns its seconds and the count.
function timed(peer, chunks) {
    let eventCount = 0;
    const start = process.cpuUsage();
    peer.parse(chunks, () => { eventCount += 1; });
    const { user, system } = process.cpuUsage(start);
    return [(user + system) / 1e6, eventCount];
}

// Runs passes before those that are timed: the checking pass has the parser compiled for another receiver.
function warmUp(peer, chunks) {
    for (let sum = 0; sum < secondsOfWarmUp;) sum += timed(peer, chunks)[0];
}

function pieces(stream, byteCount, chunkByteCount) {
    const chunks = [];
    for (let start = 0; start < byteCount; start += chunkByteCount) {
        chunks.push(stream.subarray(start, Math.min(start + chunkByteCount, byteCount)));
    }
    return chunks;
}

function measure(folder, facts, peer, workload) {
    const [corpus, size] = workload.split("/");
    const chunkByteCount = Number(size);
    const description = facts.find((item) => item.corpus === corpus);
    const stream = fs.readFileSync(path.join(folder, description.file));
    const sizes = description.prefixes.map((prefix) => prefix.byteCount);
    let chosen = sizes[0];
    warmUp(peer, pieces(stream, chosen, chunkByteCount));
    for (const byteCount of sizes) {
        const [elapsed] = timed(peer, pieces(stream, chosen, chunkByteCount));
        if (byteCount > chosen && elapsed * byteCount / chosen > secondsAPass) break;
        chosen = byteCount;
    }
    const chunks = pieces(stream, chosen, chunkByteCount);
    const result = found(peer, chunks);
    warmUp(peer, chunks);
    const seconds = [];
    let sum = 0;
    while (seconds.length < repetitions || (sum < repetitions * secondsAPass && seconds.length < mostRepetitions)) {
        const [elapsed, eventCount] = timed(peer, chunks);
        if (eventCount !== result.eventCount) throw new Error(`${eventCount} events, ${result.eventCount} before`);
        seconds.push(elapsed);
        sum += elapsed;
    }
    return { byteCount: chosen, seconds, ...result };
}

const [folder, name, ...workloads] = process.argv.slice(2);
let peer;
try {
    peer = peers[name]();
} catch (error) {
    console.error(String(error));
    process.exit(1);
}
const facts = JSON.parse(fs.readFileSync(path.join(folder, "facts.json"), "utf8"));
for (const workload of workloads) {
    let result;
    try {
        result = measure(folder, facts, peer, workload);
    } catch (error) {
        result = { error: String(error).slice(0, 200) };
    }
    console.log(JSON.stringify({ peer: name, version: peer.version, workload, ...result }));
}
