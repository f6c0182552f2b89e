"use strict";

/** The wait before the next attempt to connect, and the moment after which there is none. Times are milliseconds. */
class Backoff {
    #failures = 0;
    #end = null;

    constructor({backoffBase, backoffCap}) {
        this.base = backoffBase;
        this.cap = backoffCap;
    }

    /** Begins to be patient for so long, unless it has begun already. */
    begin(patience) {
        this.#end ??= performance.now() + patience;
    }

    /** Forgets the end: the next call that waits has all the time. */
    rest() {
        this.#end = null;
    }

    /** An answer to a call came. */
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

    /** In the upper half of the wait, at random: clients that lost the daemon together do not reconnect together. */
    get wait() {
        const longest = Math.min(this.cap, this.base * 2 ** Math.min(this.#failures - 1, 32));
        return Math.min(longest * (0.5 + Math.random() / 2), Math.max(0, (this.#end ?? Infinity) - performance.now()));
    }
}

module.exports = {Backoff};
