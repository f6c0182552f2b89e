"use strict";

const {Call, Unattended} = require("./call.js");
const {Connection} = require("./connection.js");
const {HeadgateError} = require("./error.js");
const {newId} = require("./ids.js");
const {milliseconds, readPatience} = require("./patience.js");
const {defaultSocket} = require("./place.js");
const {notify, warn} = require("./program.js");
const {Workers, given} = require("./worker.js");

const TIMES = {
    connectTimeout: 10_000,
    reconnectTimeout: Infinity,
    greetingTimeout: 10_000,
    exitTimeout: 5_000,
    backoffBase: 50,
    backoffCap: 5_000,
};
const COUNTS = {maxUnanswered: 16_384, maxUnansweredBytes: 8 << 20};

// written by Tools/protocol: repeatable
const REPEATABLE = new Set([
    "ping", "rights", "rpc.discover", "flush.list", "status", "barrier.list", "dispatcher.list", "queue.peek",
    "dead_letters.list", "config.get", "metrics", "event.trace", "client.list",
]);
// end of what Tools/protocol has written

/** A client of the daemon. index.d.ts says what each method promises. */
class Client {
    #connection;
    #workers;
    #onDropped;
    #closing = null;

    constructor(name, version = "", {socketPath, namespace, onDropped, onState, ...options} = {}) {
        if (typeof name !== "string") throw new TypeError("a client's name must be a string");
        this.socketPath = socketPath || defaultSocket();
        const client = given({name, version: version || undefined});
        const hello = given({client, protocol: 1, namespace: namespace ?? undefined});
        this.#onDropped = readCallback("onDropped", onDropped) ?? warnOfDrops();
        const onChange = readCallback("onState", onState);
        this.#connection = new Connection(this.socketPath, hello, {...readOptions(options), onState: onChange}, (...request) =>
            this.#workers.take(...request)
        );
        this.#workers = new Workers(this.#connection);
    }

    async track(event, data, options) {
        const {timeout, signal, ...more} = options ?? {};
        return this.#track({event, data, ...more}, {timeout, signal});
    }

    trackSoon(event, data, more) {
        const given = {event, data, ...more};
        try {
            const params = withId(given);
            return this.#connection.beginUnattended(new Unattended(params, (error) => this.#onDropped(error, params)));
        } catch (error) {
            notify(this.#onDropped, error, given);
            return false;
        }
    }

    async trackEach(events, patience) {
        const outcomes = [];
        for await (const event of events) {
            await this.room(patience);
            outcomes.push(this.#track(event, patience).catch((error) => error));
        }
        return Promise.all(outcomes);
    }

    async trackMany(events, patience) {
        const params = {events: [...events].map(withId)};
        const result = await this.#connection.begin(new Call("track_many", params, true), patience);
        if (!Array.isArray(result.ids)) throw HeadgateError.local("bad_answer", "the result of track_many has no ids");
        const {ids, first_seq = null, last_seq = null, duplicates = 0, unrouted = 0} = result;
        return {ids, first_seq, last_seq, duplicates, unrouted};
    }

    async #track(event, patience) {
        const result = await this.#connection.begin(new Call("track", withId(event), true), patience);
        const {id, seq = null, duplicate, unrouted} = result;
        if (typeof id !== "string") throw HeadgateError.local("bad_answer", "the result of track has no id");
        return {id, seq, duplicate: duplicate === true, unrouted: unrouted === true};
    }

    async flush(options) {
        const {timeout, signal, ...params} = options ?? {};
        const result = await this.call("flush", params, {timeout, signal});
        if (!params.wait) return {flush: result.flush};
        if (!["settled", "timeout", "cancelled"].includes(result.ended)) {
            throw HeadgateError.local("bad_answer", "the result of flush has an unknown end");
        }
        return {flush: result.flush, ended: result.ended, dispatchers: result.dispatchers ?? {}};
    }

    async status(patience) {
        return this.call("status", {}, patience);
    }

    async call(method, params, patience) {
        return this.#connection.begin(new Call(method, given(params ?? {}), REPEATABLE.has(method)), patience);
    }

    async subscribe(dispatcher, work, options) {
        await this.#workers.subscribe(dispatcher, work, options ?? {});
    }

    async unsubscribe(dispatcher, patience) {
        await this.#workers.unsubscribe(dispatcher, patience);
    }

    get hasRoom() {
        return this.#connection.hasRoom;
    }

    get unanswered() {
        return this.#connection.underWay;
    }

    async room(patience) {
        const late = () => HeadgateError.local("buffer_full", this.#connection.because("there was no room for another event in time"));
        await this.#connection.until(() => this.#connection.hasRoom, patience, late);
    }

    async drain(patience) {
        const late = () => {
            const text = `${this.unanswered} calls were not answered in time`;
            return HeadgateError.local("timed_out", this.#connection.because(text));
        };
        await this.#connection.until(() => this.#connection.underWay === 0, patience, late);
    }

    async close(patience = {timeout: 5_000}) {
        readPatience(patience);
        this.#closing ??= this.#close(patience);
        return this.#closing;
    }

    async #close(patience) {
        const left = this.#workers.names.map((name) => this.unsubscribe(name, patience).catch(() => {}));
        this.#connection.leave();
        try {
            await Promise.all([...left, this.drain(patience)]);
        } catch {
            // Each unanswered call fails its own promise; the result of close has their number.
        }
        const unanswered = this.#connection.underWay;
        this.#connection.warnOfLeft("the client was closed");
        this.#connection.close();
        return unanswered;
    }

    destroy() {
        this.#connection.close();
    }

    async [Symbol.asyncDispose ?? Symbol.for("nodejs.asyncDispose")]() {
        await this.close();
    }
}

/** Returns the options, with defaults for absent ones. Throws a TypeError for an option of the wrong type. */
function readOptions(options) {
    const read = {};
    for (const [name, fallback] of Object.entries(TIMES)) read[name] = milliseconds(name, options[name] ?? fallback);
    for (const [name, fallback] of Object.entries(COUNTS)) {
        read[name] = options[name] ?? fallback;
        if (typeof read[name] !== "number" || !(read[name] >= 1)) throw new TypeError(`${name} must be a number from 1`);
    }
    return read;
}

function readCallback(name, value) {
    if ((value ?? null) !== null && typeof value !== "function") throw new TypeError(`${name} must be a function`);
    return value ?? undefined;
}

/** Returns the `onDropped` of a client without one: it warns once that an event was dropped. */
function warnOfDrops() {
    let hasWarned = false;
    return (error) => {
        if (hasWarned) return;
        hasWarned = true;
        warn(`an event was dropped: ${error.message}. The option onDropped gets each one`, "HEADGATE_DROPPED");
    };
}

/** Returns the params of `track`, without members that are null, and with an id. */
function withId(event) {
    const {event: name, data, id, ...more} = event;
    if (more.time instanceof Date && Number.isNaN(more.time.getTime())) throw new TypeError("time is an invalid Date");
    // JSON.stringify would leave out functions and symbols, and write a Map or Set as an empty object.
    const isOdd = ["function", "symbol"].includes(typeof data) || data instanceof Map || data instanceof Set;
    if (isOdd) throw new TypeError("data is not a JSON object");
    const members = {event: name, data, id: id ?? newId(), ...more};
    return Object.fromEntries(Object.entries(members).filter(([, value]) => (value ?? null) !== null));
}

module.exports = {Client};
