// Serves a JSON Lines recording with Node: over WebSocket with node-ws, which compresses large messages and leaves small
// ones plain, and as an event stream, in gzip when the client accepts that.
// Usage: node_server.js RECORDING       prints its port, then one line a response
"use strict";

const fs = require("fs");
const http = require("http");
const zlib = require("zlib");
const { WebSocketServer } = require("ws");

const compressedFrom = 1024;
const events = fs.readFileSync(process.argv[2], "utf8").split("\n").filter((line) => line.length > 0);

const server = http.createServer((request, response) => {
    if (request.method !== "POST") {
        response.writeHead(404).end();
        return;
    }
    const chunks = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => stream(Buffer.concat(chunks), request, response));
});

async function stream(body, request, response) {
    if (JSON.parse(body.toString()).stream !== true) {
        response.writeHead(400).end("stream must be true");
        return;
    }
    const packs = (request.headers["accept-encoding"] || "").includes("gzip");
    const fields = { "Content-Type": "text/event-stream", "Cache-Control": "no-store" };
    response.writeHead(200, packs ? { ...fields, "Content-Encoding": "gzip" } : fields);
    const output = packs ? zlib.createGzip() : response;
    if (packs) output.pipe(response);
    for (const event of events) {
        output.write(`event: ${JSON.parse(event).type}\ndata: ${event}\n\n`);
        // What is written so far goes out, as a server that streams does it.
        if (packs) await new Promise((done) => output.flush(done));
    }
    output.end();
    console.log(`node: request of ${body.length} bytes, ${events.length} events, ${packs ? "gzip" : "identity"}`);
}

const sockets = new WebSocketServer({
    server,
    perMessageDeflate: { serverNoContextTakeover: true, threshold: compressedFrom },
});

sockets.on("connection", (socket) => {
    socket.on("message", (data) => {
        const request = JSON.parse(data.toString());
        if (request.type !== "response.create") {
            socket.close(1008, "response.create was expected");
            return;
        }
        const packs = socket.extensions.includes("permessage-deflate");
        const compressed = packs ? events.filter((event) => Buffer.byteLength(event) >= compressedFrom).length : 0;
        events.forEach((event) => socket.send(event));
        console.log(
            `node-ws: request of ${data.length} bytes, ` +
                `${compressed} messages compressed, ${events.length - compressed} plain`
        );
    });
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
