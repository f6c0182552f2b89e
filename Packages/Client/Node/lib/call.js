"use strict";

const {HeadgateError} = require("./error.js");
const {encode} = require("./json.js");
const {watch} = require("./patience.js");
const {notify} = require("./program.js");

/** A request that is neither answered nor cancelled. Its number is the request's id on every connection. */
class Call {
    number = 0;
    line = "";
    bytes = 0;
    /** True while it is written on the present connection, and not answered. */
    written = false;
    /** True if the call is valid on the present connection only. */
    bound = false;
    #settle = {};
    #stop = () => {};

    /** `repeatable` is true if the call may be written again after its connection broke. */
    constructor(method, params, repeatable) {
        this.method = method;
        this.params = params;
        this.repeatable = repeatable;
        this.answer = new Promise((resolve, reject) => (this.#settle = {resolve, reject}));
    }

    /** False for an event of `trackSoon`, which has no waiting caller. */
    get isAttended() {
        return true;
    }

    /** Encodes the call under its number, so that later changes of its params do not matter. */
    encode(number) {
        this.number = number;
        this.line = encode({jsonrpc: "2.0", id: number, method: this.method, params: this.params}) + "\n";
        this.bytes = Buffer.byteLength(this.line);
    }

    /** Ends the call after its timeout, or when its signal is aborted. */
    watch(patience, end) {
        this.#stop = watch(patience, late, end);
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

/** An event of `trackSoon`: `dropped` is called with the error if it is not stored. */
class Unattended extends Call {
    constructor(params, dropped) {
        super("track", params, true);
        this.dropped = dropped;
    }

    get isAttended() {
        return false;
    }

    resolve(result) {
        if (typeof result.id !== "string") this.reject(HeadgateError.local("bad_answer", "the result of track has no id"));
    }

    reject(error) {
        notify(this.dropped, error);
    }
}

/** A call that is repeated on each connection, because its effect lasts as long as a connection. */
class Standing extends Call {
    /** True if the call is granted on the present connection. */
    granted = false;
    /** True if the call was ever granted: its caller has the answer. */
    wasGranted = false;
    /** True if the daemon refused the call after a grant, and has not granted it since. */
    isRefused = false;

    /**
     * refused: called with the error when the daemon refuses it on a later connection, once until it is granted again.
     * ended: called with the error when it ends after it was granted. leaving: makes the call that ends it at the daemon.
     */
    constructor(method, params, {refused, ended, leaving}) {
        super(method, params, true);
        this.refused = refused;
        this.ended = ended;
        this.leaving = leaving;
    }
}

/** The error of a call that was not answered in time. */
function late() {
    return HeadgateError.local("timed_out", "no answer came in time");
}

module.exports = {Call, Standing, Unattended};
