"use strict";

const {HeadgateError} = require("./error.js");
const {encode} = require("./json.js");

// What Node's timers take, in milliseconds: some 25 days.
const LONGEST_TIMER = 2 ** 31 - 1;

/** A request that is neither answered nor given up. Its number is the request's id on every connection. */
class Call {
    number = 0;
    line = "";
    bytes = 0;
    /** Whether it is written on the present connection, and not answered. */
    written = false;
    /** Whether it is about what the present connection has: on another one it would mean something else. */
    bound = false;
    #settle = {};
    #stop = () => {};

    /** repeatable: whether it may be written again after a connection broke under it. */
    constructor(method, params, repeatable) {
        this.method = method;
        this.params = params;
        this.repeatable = repeatable;
        this.answer = new Promise((resolve, reject) => (this.#settle = {resolve, reject}));
    }

    /** Writes it down under its number, so that a later change of what was given does not matter. */
    encode(number) {
        this.number = number;
        this.line = encode({jsonrpc: "2.0", id: number, method: this.method, params: this.params}) + "\n";
        this.bytes = Buffer.byteLength(this.line);
    }

    /** Ends it when its time is over or its caller wants no more of it. */
    watch({timeout, signal}, end) {
        let timer;
        if (timeout !== undefined && timeout <= LONGEST_TIMER) timer = setTimeout(() => end(late()), timeout);
        const abort = () => end(signal.reason);
        signal?.addEventListener("abort", abort, {once: true});
        this.#stop = () => {
            clearTimeout(timer);
            signal?.removeEventListener("abort", abort);
        };
    }

    resolve(result) {
        this.#stop();
        this.#settle.resolve(result);
    }

    reject(error) {
        this.#stop();
        this.#settle.reject(error);
    }
}

/** A call that is made again on each connection, since what it asks for lasts as long as a connection. */
class Standing extends Call {
    /** Whether it is granted on the present connection. */
    granted = false;
    /** Whether it ever was: its caller has been told. */
    wasGranted = false;

    /**
     * ended: called with the error when it is refused or given up after it was granted. leaving: makes the call that gives
     * it back.
     */
    constructor(method, params, ended, leaving) {
        super(method, params, true);
        this.ended = ended;
        this.leaving = leaving;
    }
}

/** The error of a call that was not answered in time. */
function late() {
    return HeadgateError.local("timed_out", "no answer came in time");
}

module.exports = {Call, Standing, late};
