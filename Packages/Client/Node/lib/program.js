// The client's ways to the program that it is in: its functions, its warnings, and its end.
"use strict";

/** Writes a warning through Node's own logging (`process.on("warning")`, by default standard error). */
function warn(text, code) {
    process.emitWarning(text, {type: "HeadgateWarning", code});
}

/** The text of whatever was thrown, also where that has none. */
function textOf(error) {
    try {
        return String(error);
    } catch {
        return "an error without a text";
    }
}

/**
 * Calls a function of the program's once the client has done what it is doing, so that the function may call the client.
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

// Connections with events for which nobody waits. They are told when the program is about to end.
const watched = new Set();
let isListening = false;

/** Has a connection's `holdProcess` called when the program has nothing more to do, and `endWithProcess` at its end. */
function watchEnd(connection) {
    watched.add(connection);
    if (isListening) return;
    isListening = true;
    process.on("beforeExit", () => watched.forEach((one) => one.holdProcess()));
    process.on("exit", () => watched.forEach((one) => one.endWithProcess()));
}

function unwatchEnd(connection) {
    watched.delete(connection);
}

module.exports = {notify, textOf, unwatchEnd, warn, watchEnd};
