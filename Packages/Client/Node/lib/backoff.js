"use strict";

/** The wait before the next attempt to connect, and the moment after which there is none. Times are milliseconds. */
class Backoff {
    #failures = 0;
    #end = null;

    constructor({backoffBase, backoffCap}) {
        this.base = backoffBase;
        this.cap = backoffCap;
    }

    /** Sets the moment of the last attempt, unless it is set already. */
    begin(patience) {
        this.#end ??= performance.now() + patience;
    }

    /** Forgets the end: the next call that waits has the whole timeout. */
    rest() {
        this.#end = null;
    }

    /** Notes that a call was answered: the next wait is the first one again. */
    succeed() {
        this.#failures = 0;
        this.#end = null;
    }

    /** Counts a failure. */
    fail() {
        this.#failures++;
    }

    get isOver() {
        return this.#end !== null && performance.now() >= this.#end;
    }

    /** A random time between half and all of the present wait: clients that lost the daemon together do not reconnect together. */
    get wait() {
        const longest = Math.min(this.cap, this.base * 2 ** Math.min(this.#failures - 1, 32));
        return Math.min(longest * (0.5 + Math.random() / 2), Math.max(0, (this.#end ?? Infinity) - performance.now()));
    }
}

module.exports = {Backoff};
