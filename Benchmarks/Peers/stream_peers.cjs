// Reads responses of stream-server with the clients of Node, and times it.
//
// Usage: node --experimental-eventsource stream_peers.cjs CLIENT TASK
//
// Arguments and output are those of stream_peers.py.
"use strict";

const fs = require("node:fs");
const tls = require("node:tls");
const zlib = require("node:zlib");
const { load } = require("./eventsource_parser.cjs");

const delta = "response.output_text.delta";
const completed = "response.completed";
const request = JSON.stringify({ type: "response.create", model: "paper-and-ink", input: "Tell me about the bottle." });

// The counts of a stream, and a CRC-32 of its content in the pass that checks.
class Tally {
    constructor(name, checks) {
        this.name = name;
        this.checks = checks;
        this.eventCount = 0;
        this.size = 0;
        this.checksum = 0;
    }

    // Takes the text of an event, or the bytes of a body.
    add(text) {
        this.eventCount += 1;
        this.size += text.length;
        if (this.checks) this.checksum = zlib.crc32(text, this.checksum);
    }

    members() {
        const members = { eventCount: this.eventCount, [this.name]: this.size };
        if (this.checks) members[this.name.replace(/(Byte|Character)Count/, "Checksum")] = this.checksum;
        return members;
    }
}

// Makes a reader of messages; `take` returns whether a message was the last.
function decoding(checks) {
    const tally = new Tally("textCharacterCount", checks);
    const take = (data) => {
        const event = JSON.parse(data);
        if (event.type === delta) tally.add(event.delta);
        return event.type === completed;
    };
    return { take, tally };
}

// The same for the chunks of Chat Completions.
function decodingChat(checks) {
    const tally = new Tally("textCharacterCount", checks);
    const take = (data) => {
        if (data === "[DONE]") return true;
        const text = JSON.parse(data).choices[0].delta.content;
        if (text) tally.add(text);
        return false;
    };
    return { take, tally };
}

function counting(checks, deltaCount) {
    const tally = new Tally("payloadCharacterCount", checks);
    const take = (data) => {
        tally.add(data);
        if (tally.eventCount < deltaCount + 2) return false;
        tally.eventCount -= 2;
        return true;
    };
    return { take, tally };
}

// Throws when a stream is compressed and should not be, or the other way round.
function demand(task, isCompressed) {
    if (task.isCompressed !== isCompressed) throw new Error(`the stream is ${isCompressed ? "" : "not "}compressed`);
}

// Opens a WebSocket; returns functions that read it to its end and close it.
function webSocket(makeReader) {
    return async (task, url, deltaCount, checks) => {
        const socket = new WebSocket(`${url}/responses`);
        await new Promise((resolve, reject) => {
            socket.onopen = resolve;
            socket.onerror = (event) => reject(event.error ?? new Error("no connection"));
        });
        demand(task, socket.extensions !== "");
        const { take, tally } = makeReader(checks, deltaCount);
        const read = () => new Promise((resolve, reject) => {
            socket.onmessage = (event) => { if (take(event.data)) resolve(tally); };
            socket.onclose = () => reject(new Error("the connection ended"));
            socket.send(request);
        });
        return { read, close: () => socket.close() };
    };
}

// EventSource exposes no header fields, so that compression cannot be checked.
function eventSource() {
    return async (task, url, deltaCount, checks) => {
        let source;
        const { take, tally } = decoding(checks);
        const read = () => new Promise((resolve, reject) => {
            source = new EventSource(`${url}/responses`);
            source.onerror = (event) => reject(new Error(event.message ?? "the stream ended"));
            const receive = (event) => { if (take(event.data)) resolve(tally); };
            for (const type of ["message", "response.created", delta, completed]) {
                source.addEventListener(type, receive);
            }
        });
        return { read, close: () => source.close() };
    };
}

async function body(task, url) {
    const response = await fetch(`${url}${task.isChat ? "/chat/completions" : "/responses"}`);
    if (!response.ok) throw new Error(`status ${response.status}`);
    demand(task, response.headers.get("content-encoding") === "gzip");
    return response.body;
}

function fetchBody() {
    return async (task, url, deltaCount, checks) => {
        const read = async () => {
            const tally = new Tally("bodyByteCount", checks);
            for await (const piece of await body(task, url)) tally.add(piece);
            tally.eventCount = deltaCount;
            return tally;
        };
        return { read, close() {} };
    };
}

function fetchParser(parser) {
    return async (task, url, deltaCount, checks) => {
        const read = async () => {
            const { take, tally } = (task.isChat ? decodingChat : decoding)(checks);
            const decoder = new TextDecoder();
            const lines = parser.createParser({ onEvent: (event) => { take(event.data); } });
            for await (const piece of await body(task, url)) lines.feed(decoder.decode(piece, { stream: true }));
            return tally;
        };
        return { read, close() {} };
    };
}

const undici = { version: process.versions.undici };
const clients = {
    "websocket-json": () => ({ ...undici, open: webSocket(decoding) }),
    "websocket-bare": () => ({ ...undici, open: webSocket(counting) }),
    eventsource: () => ({ ...undici, open: eventSource() }),
    "fetch-body": () => ({ ...undici, open: fetchBody() }),
    "fetch-parser": () => {
        const parser = load();
        return { version: `${undici.version}, eventsource-parser ${parser.version}`, open: fetchParser(parser) };
    },
};

// Reads all streams once; returns wall and processor seconds, and the counts of each stream.
async function run(open, task, [deltaCount, url, certificate], checks) {
    const streams = [];
    if (certificate) tls.setDefaultCACertificates([fs.readFileSync(certificate, "utf8")]);
    try {
        while (streams.length < task.streamCount) streams.push(await open(task, url, deltaCount, checks));
        const wall = process.hrtime.bigint(), processor = process.cpuUsage();
        const tallies = await Promise.all(streams.map((stream) => stream.read()));
        const seconds = Number(process.hrtime.bigint() - wall) / 1e9;
        const { user, system } = process.cpuUsage(processor);
        const times = { seconds, processorSeconds: (user + system) / 1e6 };
        return { ...times, streams: tallies.map((tally) => tally.members()) };
    } finally {
        for (const stream of streams) stream.close();
    }
}

// The time and the passes after which the code is compiled as far as it will be.
const warmingMilliseconds = 300, warmingCount = 2;

// Finds the largest response that can be read in the time of a run, checks it, and times it.
async function measure(open, task) {
    let chosen = task.sizes[0];
    // Passes before all others fill caches, and have the code compiled.
    for (const start = performance.now(); performance.now() - start < warmingMilliseconds;) {
        await run(open, task, chosen, false);
    }
    for (const size of task.sizes.slice(1)) {
        const { seconds } = await run(open, task, chosen, false);
        if (seconds * size[0] / chosen[0] > task.seconds) break;
        chosen = size;
    }
    const check = await run(open, task, chosen, true);
    // The checking pass has thrown away code that was compiled for the earlier passes.
    for (let index = 0; index < warmingCount; index += 1) await run(open, task, chosen, false);
    const runs = [];
    for (let index = 0; index < task.runCount; index += 1) runs.push(await run(open, task, chosen, false));
    return { deltaCount: chosen[0], check, runs };
}

async function main() {
    const [name, task] = process.argv.slice(2);
    const { version, open } = clients[name]();
    const result = await measure(open, JSON.parse(task));
    console.log(JSON.stringify({ version: `${version}, Node ${process.versions.node}`, ...result }));
    process.exit(0);
}

main().catch((error) => {
    console.error(String(error.cause ?? error));
    process.exit(1);
});
