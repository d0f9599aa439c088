// Serves a JSON Lines recording over WebSocket with node-ws, which compresses large messages and leaves small ones plain.
// Usage: node_server.js RECORDING       prints its port, then one line a connection
"use strict";

const fs = require("fs");
const http = require("http");
const { WebSocketServer } = require("ws");

const compressedFrom = 1024;
const events = fs.readFileSync(process.argv[2], "utf8").split("\n").filter((line) => line.length > 0);

const server = http.createServer((request, response) => {
    response.writeHead(404).end();
});
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
        console.log(`node-ws: ${compressed} messages compressed, ${events.length - compressed} plain`);
    });
});

server.listen(0, "127.0.0.1", () => console.log(server.address().port));
