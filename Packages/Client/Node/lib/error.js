"use strict";

/** The error of a call. index.d.ts describes its members. */
class HeadgateError extends Error {
    constructor(code, message, reason = null, path = null, data = {}) {
        super(message);
        this.name = "HeadgateError";
        this.code = code;
        this.reason = reason;
        this.path = path;
        this.data = data;
    }

    /** Returns an error of the client itself. */
    static local(reason, message) {
        return new HeadgateError(0, message, reason);
    }

    /** Reads the member `error` of an answer. Returns null if it is no JSON-RPC error. */
    static read(error) {
        if (!isObject(error) || !Number.isInteger(error.code) || typeof error.message !== "string") return null;
        const data = isObject(error.data) ? error.data : {};
        return new HeadgateError(error.code, error.message, text(data.reason), text(data.path), data);
    }
}

function text(value) {
    return typeof value === "string" ? value : null;
}

/** Returns true if a value is a JSON object. */
function isObject(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

module.exports = {HeadgateError, isObject};
