"use strict";

/** How long to wait before the next attempt to connect, and when to give it up. Times are milliseconds. */
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

    /** Whoever waits next has all the time there is. */
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

    /** Somewhere in the upper half, so that those who lost the daemon together do not come back together. */
    get wait() {
        const longest = Math.min(this.cap, this.base * 2 ** Math.min(this.#failures - 1, 32));
        return Math.min(longest * (0.5 + Math.random() / 2), Math.max(0, (this.#end ?? Infinity) - performance.now()));
    }
}

module.exports = {Backoff};
