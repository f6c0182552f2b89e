"use strict";

const {HeadgateError, isObject} = require("./error.js");
const {depth} = require("./json.js");

/**
 * The daemon's limits. The client checks them, because the daemon answers a line beyond them without the request's id.
 */
class Limits {
    constructor(greeting = {}) {
        const limits = isObject(greeting) && isObject(greeting.limits) ? greeting.limits : {};
        this.lineBytes = whole(limits.max_line_bytes, 1_048_576);
        this.depth = whole(limits.max_depth, 64);
    }

    /** Returns why a call is beyond the limits, or null. */
    fault(call) {
        if (call.bytes - 1 > this.lineBytes) {
            const text = `the message is longer than the ${this.lineBytes} bytes that the daemon accepts`;
            return new HeadgateError(-32000, text, "line_too_long");
        }
        if (depth(call.line) > this.depth) {
            const text = `nested deeper than the ${this.depth} levels that the daemon accepts`;
            return new HeadgateError(-32000, text, "limit");
        }
        return null;
    }
}

function whole(value, fallback) {
    return Number.isInteger(value) ? value : fallback;
}

module.exports = {Limits};
