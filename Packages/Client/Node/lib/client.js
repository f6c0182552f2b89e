"use strict";

const {Call} = require("./call.js");
const {Connection} = require("./connection.js");
const {HeadgateError} = require("./error.js");
const {newId} = require("./ids.js");
const {usualSocket} = require("./place.js");
const {Workers, given} = require("./worker.js");

const USUAL = {
    connectTimeout: Infinity,
    reconnectTimeout: Infinity,
    greetingTimeout: 10_000,
    maxUnanswered: 16_384,
    maxUnansweredBytes: 8 << 20,
    backoffBase: 50,
    backoffCap: 5_000,
};

// written by Tools/protocol: repeatable
const REPEATABLE = new Set([
    "ping", "rpc.discover", "status", "barrier.list", "dispatcher.list", "queue.peek", "dead_letters.list",
    "config.get", "metrics", "event.trace", "client.list",
]);
// end of what Tools/protocol has written

/** A client of the daemon. What each method promises is said in index.d.ts. */
class Client {
    #connection;
    #workers;
    #onDropped;
    #closing = null;

    constructor(name, version = "", {socketPath, namespace, onDropped, ...options} = {}) {
        if (typeof name !== "string") throw new TypeError("a client's name is a string");
        this.socketPath = socketPath || usualSocket();
        const client = given({name, version: version || undefined});
        const hello = given({client, protocol: 1, namespace});
        this.#onDropped = onDropped;
        this.#connection = new Connection(this.socketPath, hello, {...USUAL, ...given(options)}, (...request) =>
            this.#workers.take(...request)
        );
        this.#workers = new Workers(this.#connection);
    }

    async track(event, data, {timeout, signal, ...more} = {}) {
        return this.#track({event, data, ...more}, {timeout, signal});
    }

    trackSoon(event, data, more = {}) {
        const params = withId({event, data, ...more});
        const isTaken = this.#connection.accepts;
        this.#track(params, {}).catch((error) => this.#onDropped?.(error, params));
        return isTaken;
    }

    async trackEach(events, patience = {}) {
        const outcomes = [];
        for await (const event of events) {
            await this.room(patience);
            outcomes.push(this.#track(event, patience).catch((error) => error));
        }
        return Promise.all(outcomes);
    }

    async trackMany(events, patience = {}) {
        const params = {events: [...events].map(withId)};
        const result = await this.#connection.begin(new Call("track_many", params, true), patience);
        if (!Array.isArray(result.ids)) throw HeadgateError.local("bad_answer", "a result of track_many without ids");
        const {ids, first_seq = null, last_seq = null, duplicates = 0, unrouted = 0} = result;
        return {ids, first_seq, last_seq, duplicates, unrouted};
    }

    async #track(event, patience) {
        const result = await this.#connection.begin(new Call("track", withId(event), true), patience);
        const {id, seq = null, duplicate, unrouted} = result;
        if (typeof id !== "string") throw HeadgateError.local("bad_answer", "a result of track without id");
        return {id, seq, duplicate: duplicate === true, unrouted: unrouted === true};
    }

    async flush({timeout, signal, ...params} = {}) {
        const result = await this.call("flush", params, {timeout, signal});
        if (!params.wait) return {flush: result.flush};
        if (!["settled", "timeout", "cancelled"].includes(result.ended)) {
            throw HeadgateError.local("bad_answer", "a flush that did not end in a known way");
        }
        return {flush: result.flush, ended: result.ended, dispatchers: result.dispatchers ?? {}};
    }

    async status(patience) {
        return this.call("status", {}, patience);
    }

    async call(method, params = {}, patience = {}) {
        return this.#connection.begin(new Call(method, given(params), REPEATABLE.has(method)), patience);
    }

    async subscribe(dispatcher, work, options) {
        await this.#workers.subscribe(dispatcher, work, options);
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
        await this.#connection.until(() => this.#connection.hasRoom, patience);
    }

    async drain(patience) {
        await this.#connection.until(() => this.#connection.underWay === 0, patience);
    }

    close(patience = {timeout: 5_000}) {
        this.#closing ??= this.#close(patience);
        return this.#closing;
    }

    async #close(patience) {
        const left = this.#workers.names.map((name) => this.unsubscribe(name, patience).catch(() => {}));
        this.#connection.leave();
        try {
            await Promise.all([...left, this.drain(patience)]);
        } catch {
            // What was not answered is told by its own promise, and by the number.
        }
        const unanswered = this.#connection.underWay;
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

function withId(event) {
    const {event: name, data, id, ...more} = event;
    return given({event: name, data, id: id ?? newId(), ...more});
}

module.exports = {Client};
