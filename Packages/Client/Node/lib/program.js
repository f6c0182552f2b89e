// The client's connections to its program: callbacks, warnings, and the end of the process.
"use strict";

const {spawnSync} = require("node:child_process");
const {Socket} = require("node:net");
const {join} = require("node:path");

const LONGEST_OUTPUT = 64 << 20;
// The resources that Node lists as active even if nothing is expected from them.
const PASSIVE = /Write|Pipe|TCPSocket|TTY|MessagePort/;

function ignore() {}

/**
 * Writes a warning through Node's own logging (`process.on("warning")`, by default standard error). If the reader of standard
 * error has gone, the warning is lost.
 */
function warn(text, code) {
    // Node writes the warning, and emits the error of that, before immediates run. Without a listener the error would end the program.
    process.stderr.off("error", ignore).on("error", ignore);
    setImmediate(() => process.stderr.off("error", ignore)).unref();
    process.emitWarning(text, {type: "HeadgateWarning", code});
}

/** Returns the text of any thrown value, even one without a message. */
function textOf(error) {
    try {
        return String(error);
    } catch {
        return "an error without a text";
    }
}

/**
 * Calls a function of the program after the client's present step, so that the function may call the client.
 * An error that the function throws becomes a warning.
 */
function notify(callback, ...values) {
    if (!callback) return;
    queueMicrotask(async () => {
        try {
            await callback(...values);
        } catch (error) {
            warn(`a callback of the client failed: ${textOf(error)}`, "HEADGATE_CALLBACK_FAILED");
        }
    });
}

// Connections with events of `trackSoon`. They are notified when the program is about to end.
const watched = new Set();
let isListening = false;
// The moment at which the program began to end; null before.
let endBegan = null;

/** Listens for the end of the program. The program's own listeners may run before or after this one. */
function listenForEnd() {
    if (isListening) return;
    isListening = true;
    process.on("beforeExit", () => watched.forEach((one) => one.holdProcess()));
    process.on("exit", () => {
        endBegan = performance.now();
        for (const one of [...watched]) one.endWithProcess(); // each once, even if a callback tracks another event
    });
}

/**
 * Returns true if the program has more to do than to wait for writes: it does not end now. Node does not say whether the program
 * expects anything from a stream. Streams other than its outputs count only if `isServed` is true: the daemon answers.
 */
function isBusy(isServed) {
    const active = process.getActiveResourcesInfo();
    if (active.some((one) => !PASSIVE.test(one))) return true;
    const outputs = [process.stdout, process.stderr].filter((one) => one instanceof Socket);
    return isServed && active.filter((one) => !one.includes("Write")).length > outputs.length;
}

/** Returns the milliseconds since the program began to end, or null if it does not end yet. */
function endedFor() {
    return endBegan === null ? null : performance.now() - endBegan;
}

/** Has a connection's `holdProcess` called when the program has nothing more to do, and `endWithProcess` at its end. */
function watchEnd(connection) {
    watched.add(connection);
}

function unwatchEnd(connection) {
    watched.delete(connection);
}

/**
 * Has a process of its own send lines to the daemon, the first of them `hello`, and waits for that process. Returns the answers that
 * came in time, by their numbers.
 */
function sendAtTheEnd(path, lines, timeout) {
    const answers = new Map();
    try {
        const env = {...process.env, NODE_OPTIONS: "", ELECTRON_RUN_AS_NODE: "1"};
        const input = lines.join("");
        const bound = timeout < 2 ** 31 ? Math.ceil(timeout) : undefined; // Node takes whole numbers only
        const {stdout} = spawnSync(process.execPath, [join(__dirname, "last.js"), path], {
            env, input, timeout: bound, maxBuffer: LONGEST_OUTPUT, stdio: ["pipe", "pipe", "ignore"],
        });
        for (const line of String(stdout ?? "").split("\n").slice(0, -1)) {
            const answer = JSON.parse(line);
            answers.set(answer.id, answer);
        }
    } catch {
        // The caller reports the calls without an answer.
    }
    return answers;
}

module.exports = {endedFor, isBusy, listenForEnd, notify, sendAtTheEnd, textOf, unwatchEnd, warn, watchEnd};
