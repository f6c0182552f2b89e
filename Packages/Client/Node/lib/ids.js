"use strict";

const {randomBytes} = require("node:crypto");

let last = 0n;

/** Returns a UUIDv7 (RFC 9562) that is greater than all earlier ones of this process. */
function newId() {
    const chance = BigInt(`0x${randomBytes(10).toString("hex")}`);
    // 48 bits of time, then 74 random bits, the first of them 0. Within a millisecond the next id is the last one plus one.
    const fresh = (BigInt(Date.now()) << 74n) | (chance & ((1n << 73n) - 1n));
    last = fresh >> 74n > last >> 74n ? fresh : last + 1n + (chance & 0xffffffffn);
    const low = last & ((1n << 62n) - 1n);
    const middle = (last >> 62n) & 0xfffn;
    const bits = ((last >> 74n) << 80n) | (7n << 76n) | (middle << 64n) | (2n << 62n) | low;
    const hex = bits.toString(16).padStart(32, "0");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

module.exports = {newId};
