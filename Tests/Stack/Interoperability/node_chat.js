// Converses over WebSocket with node-ws: websocket_chat.py describes the commands.
// Usage: node_chat.js       prints its port, then the facts of each connection as JSON
"use strict";

const crypto = require("crypto");
const events = require("events");
const http = require("http");
const { WebSocketServer } = require("ws");
const { version } = require("ws/package.json");

const fragmentLength = 7;
const pingContent = "are you there?";

const server = http.createServer((request, response) => response.writeHead(404).end());
const sockets = new WebSocketServer({
    server,
    perMessageDeflate: true,
    handleProtocols: (offered) => (offered.has("bottle.v2") ? "bottle.v2" : false),
});

// Sends a text in frames that may end inside of a scalar.
function sendFragments(socket, data) {
    for (let start = 0; start < data.length; start += fragmentLength) {
        const end = start + fragmentLength;
        socket.send(data.subarray(start, end), { binary: false, fin: end >= data.length });
    }
}

// Performs a command, and sends any other message back.
async function answer(socket, data, isBinary, facts) {
    const [command] = isBinary ? [""] : data.toString().split(" ", 1);
    const argument = data.subarray(command.length + 1);
    if (command === "/fragments") {
        sendFragments(socket, argument);
    } else if (command === "/ping") {
        socket.ping(pingContent);
        const [content] = await events.once(socket, "pong");
        socket.send(content.toString() === pingContent ? "pong received" : "another pong received");
    } else if (command === "/pings") {
        while (facts.pings < Number(argument)) await events.once(socket, "ping");
        socket.send("pings received");
    } else if (command === "/close") {
        const [code, ...reason] = argument.toString().split(" ");
        socket.close(Number(code), reason.join(" "));
    } else {
        socket.send(data, { binary: isBinary });
    }
}

sockets.on("connection", (socket, request) => {
    const facts = { server: `node-ws ${version}`, messages: [], pings: 0 };
    let work = Promise.resolve();
    socket.on("ping", () => (facts.pings += 1));
    socket.on("message", (data, isBinary) => {
        const digest = crypto.createHash("sha256").update(data).digest("hex");
        facts.messages.push([isBinary ? "binary" : "text", data.length, digest]);
        work = work.then(() => answer(socket, data, isBinary, facts));
    });
    socket.on("close", (code) => {
        facts.subprotocol = socket.protocol || null;
        facts.extensions = socket.extensions || null;
        facts.close = code;
        facts.wireByteCount = request.socket.bytesRead;
        console.log(JSON.stringify(facts));
    });
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
