// A program of its own: sends the last lines of a program that ends, and puts out the answers. A client that cannot wait any more
// starts it (program.js).
//
//     node last.js SOCKET <LINES          the first line is `hello`
"use strict";

const {readFileSync} = require("node:fs");
const net = require("node:net");
const {createInterface} = require("node:readline");

const [hello, ...calls] = readFileSync(0, "utf8").split("\n").slice(0, -1);
const unanswered = new Set(calls.map((line) => JSON.parse(line).id));
const socket = net.connect(process.argv[2], () => socket.write(hello + "\n"));

function take(line) {
    const message = JSON.parse(line);
    if (message.method === "closing") return socket.destroy();
    if (message.method !== undefined) return undefined;
    if (message.id === 0) return message.result ? socket.write(calls.join("\n") + "\n") : socket.destroy();
    if (!unanswered.delete(message.id)) return undefined;
    process.stdout.write(line + "\n");
    // Not `end`: the program that ends would wait until the daemon closes its side, too.
    return unanswered.size === 0 ? socket.destroy() : undefined;
}

socket.on("error", () => {}); // what is not answered is left
const lines = createInterface({input: socket});
lines.on("error", () => {}); // it is the socket's
lines.on("line", (line) => {
    try {
        take(line);
    } catch {
        socket.destroy();
    }
});
