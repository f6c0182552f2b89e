#!/usr/bin/env node
// Tracks events one after the other, and connects again when the daemon was away: what was not acknowledged is sent again
// under the same id, which the daemon stores once. Prints the id of each that is acknowledged.
//
//   track.mjs EVENT COUNT
import {randomUUID} from "node:crypto";
import {existsSync} from "node:fs";
import {connect} from "node:net";
import {createInterface} from "node:readline";

const folders = [process.env.XDG_RUNTIME_DIR, "/run"].filter(Boolean).map((folder) => `${folder}/headgate`);
const path = process.env.HEADGATE_SOCKET || `${folders.find(existsSync) ?? "/run/headgate"}/headgate.sock`;
const [event, count] = [process.argv[2], Number(process.argv[3])];
const waiting = new Map();
for (let n = 1; n <= count; n++) waiting.set(n, {event, id: randomUUID(), data: {n}});

function open(wait) {
    const socket = connect(path);
    socket.on("error", () => {}); // "close" follows
    socket.on("connect", () => {
        wait = 50;
        for (const [id, params] of waiting) {
            socket.write(JSON.stringify({jsonrpc: "2.0", id, method: "track", params}) + "\n");
        }
    });
    createInterface({input: socket}).on("line", (line) => take(JSON.parse(line), socket)).on("error", () => {});
    socket.on("close", () => {
        // Somewhere in the upper half, so that not all come back together.
        if (waiting.size > 0) setTimeout(open, wait * (0.5 + Math.random() / 2), Math.min(wait * 2, 5000));
    });
}

function take(answer, socket) {
    if (answer.error?.data?.reason === "shutting_down") return; // again on the next connection
    if (!waiting.delete(answer.id)) return;
    if (answer.error) {
        console.error(answer.error.message);
        process.exitCode = 1;
    } else {
        console.log(answer.result.id);
    }
    if (waiting.size === 0) socket.end();
}

open(50);
