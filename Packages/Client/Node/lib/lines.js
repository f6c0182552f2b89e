"use strict";

const LF = 0x0a;

/** Splits a stream of bytes into lines. */
class Lines {
    #pieces = [];
    #bytes = 0;

    /** The number of bytes of the unfinished line. */
    get bytes() {
        return this.#bytes;
    }

    /** Adds a chunk, and returns the lines that it completes, without their line ends. */
    push(chunk) {
        const lines = [];
        let start = 0;
        for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
            lines.push(this.#join(chunk.subarray(start, end)));
            start = end + 1;
        }
        if (start < chunk.length) {
            this.#pieces.push(chunk.subarray(start));
            this.#bytes += chunk.length - start;
        }
        return lines;
    }

    #join(last) {
        if (this.#pieces.length === 0) return last;
        const line = Buffer.concat([...this.#pieces, last]);
        this.#pieces = [];
        this.#bytes = 0;
        return line;
    }
}

module.exports = {Lines};
