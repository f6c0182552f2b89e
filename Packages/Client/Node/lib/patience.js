"use strict";

const {isObject} = require("./error.js");

// Node's timers take this many milliseconds at most, some 25 days. A longer time counts as no timeout.
const LONGEST_TIMER = 2 ** 31 - 1;

/** Starts a timer. Returns undefined, and never calls `act`, if the time is longer than timers take. */
function timer(milliseconds, act) {
    return milliseconds <= LONGEST_TIMER ? setTimeout(act, milliseconds) : undefined;
}

/** Checks a time in milliseconds. Throws a TypeError if the value is not a number; a negative one is 0. */
function milliseconds(name, value) {
    if (typeof value !== "number" || Number.isNaN(value)) throw new TypeError(`${name} must be a number of milliseconds`);
    return Math.max(0, value);
}

/** Returns the checked time and signal that a caller gave. Null and undefined are no bound. Throws a TypeError for a wrong type. */
function readPatience(given) {
    if (!isObject(given ?? {})) throw new TypeError("timeout and signal must be members of an object, such as {timeout: 1000}");
    const {timeout, signal} = given ?? {};
    const isSignal = typeof signal?.addEventListener === "function" && typeof signal.aborted === "boolean";
    if ((signal ?? null) !== null && !isSignal) throw new TypeError("signal must be an AbortSignal");
    return {timeout: milliseconds("timeout", timeout ?? Infinity), signal: signal ?? undefined};
}

// The functions that are called when a signal is aborted. A signal has one listener of this module, however many calls wait with it.
const waiting = new WeakMap();

/** Calls `act` when the signal is aborted. Returns a function that cancels this. */
function onAbort(signal, act) {
    let acts = waiting.get(signal);
    if (!acts) {
        acts = new Set();
        waiting.set(signal, acts);
        signal.addEventListener("abort", () => [...acts].forEach((one) => one()), {once: true});
    }
    acts.add(act);
    return () => acts.delete(act);
}

/** Calls `end` with an error when the time is over or the signal is aborted. Returns a function that cancels this. */
function watch({timeout, signal}, late, end) {
    const clock = timer(timeout, () => end(late()));
    const release = signal && onAbort(signal, () => end(signal.reason));
    return () => {
        clearTimeout(clock);
        release?.();
    };
}

module.exports = {milliseconds, readPatience, timer, watch};
