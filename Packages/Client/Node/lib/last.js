// A separate process that sends the last lines of a program that is ending, and prints the answers. program.js starts it when
// the program itself can no longer wait.
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
    // With `end` the ending program would wait until the daemon closes its side, too.
    return unanswered.size === 0 ? socket.destroy() : undefined;
}

socket.on("error", () => {}); // unanswered calls count as not stored
const lines = createInterface({input: socket});
lines.on("error", () => {}); // it is the socket's error, handled above
lines.on("line", (line) => {
    try {
        take(line);
    } catch {
        socket.destroy();
    }
});
