// Writes and reads JSON. Whole numbers that a double cannot hold exactly are BigInts, in both directions.
"use strict";

const {randomUUID} = require("node:crypto");

// The prefix of a BigInt's digits while it is a string. It is random, so no other string begins with it.
const MARK = `${randomUUID()}:`;
const MARKED = new RegExp(`"${MARK}(-?[0-9]+)"`, "g");
// Strings are matched, too, so that digits inside of strings are not taken for numbers.
const STRINGS_AND_NUMBERS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?/g;
const LONG_NUMBER = /[0-9]{16}/;
const WHOLE = /^-?[0-9]+$/;

/** Returns a value as one line of JSON, without the line end. */
function encode(value) {
    let found = false;
    const mark = (_, member) => {
        if (typeof member !== "bigint") return member;
        found = true;
        return MARK + member;
    };
    try {
        return JSON.stringify(value);
    } catch (error) {
        // A replacer is slower, and few programs have BigInts.
        const text = JSON.stringify(value, mark);
        if (!found) throw error;
        return text.replace(MARKED, "$1");
    }
}

/** Returns the value of a JSON text. Throws a SyntaxError if the text is not JSON. */
function decode(text) {
    if (!LONG_NUMBER.test(text)) return JSON.parse(text);
    const marked = text.replace(STRINGS_AND_NUMBERS, (token) => (isLong(token) ? `"${MARK}${token}"` : token));
    return JSON.parse(marked, (_, value) =>
        typeof value === "string" && value.startsWith(MARK) ? BigInt(value.slice(MARK.length)) : value
    );
}

function isLong(token) {
    return WHOLE.test(token) && !Number.isSafeInteger(Number(token));
}

/** Returns the nesting depth of the arrays and objects of a JSON text. */
function depth(text) {
    let deepest = 0;
    let level = 0;
    for (let place = 0; place < text.length; place++) {
        switch (text.charCodeAt(place)) {
            case 0x22: // a string: skip to its closing quotation mark
                for (place++; text.charCodeAt(place) !== 0x22; place++) if (text.charCodeAt(place) === 0x5c) place++;
                break;
            case 0x5b: // [
            case 0x7b: // {
                deepest = Math.max(deepest, ++level);
                break;
            case 0x5d: // ]
            case 0x7d: // }
                level--;
        }
    }
    return deepest;
}

module.exports = {decode, depth, encode};
