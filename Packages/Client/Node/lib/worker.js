"use strict";

const {Standing} = require("./call.js");
const {HeadgateError, isObject} = require("./error.js");

const OUTCOMES = new Set(["delivered", "retry", "dead"]);

/** The workers of a client, by their dispatchers. */
class Workers {
    #table = new Map();

    constructor(connection) {
        this.connection = connection;
    }

    async subscribe(dispatcher, work, {credit, limit, onEnd, ...patience} = {}) {
        if (typeof work !== "function") throw new TypeError("a worker is a function");
        if (this.#table.has(dispatcher)) {
            throw HeadgateError.local("misuse", `${dispatcher} is served by this client already`);
        }
        const ended = (error) => {
            if (this.#table.get(dispatcher)?.standing === standing) this.#table.delete(dispatcher);
            onEnd?.(error);
        };
        const standing = new Standing("dispatcher.subscribe", given({id: dispatcher, credit, limit}), ended);
        this.#table.set(dispatcher, {standing, work});
        try {
            await this.connection.begin(standing, patience);
        } catch (error) {
            this.#table.delete(dispatcher);
            throw error;
        }
    }

    /** leave: makes the call that gives the subscription back. */
    async unsubscribe(dispatcher, leave) {
        const served = this.#table.get(dispatcher);
        if (!served) throw new HeadgateError(-32000, `${dispatcher} is not served by this client`, "not_found");
        try {
            if (this.connection.abandon(served.standing)) await leave({id: dispatcher});
        } catch (error) {
            // If the connection is gone, so is what was granted on it.
            if (error.reason !== "disconnected" && error.reason !== "shutting_down") throw error;
        } finally {
            this.#table.delete(dispatcher);
        }
    }

    /** The dispatchers that are worked for. */
    get names() {
        return [...this.#table.keys()];
    }

    /** The daemon asks something. */
    async take(method, params, answer, signal) {
        if (method !== "dispatch") return answer({error: {code: -32601, message: `there is no method ${method}`}});
        const dispatcher = isObject(params) ? params.dispatcher : undefined;
        if (typeof dispatcher !== "string") {
            const data = {path: "dispatcher"};
            return answer({error: {code: -32602, message: "dispatcher is missing", data}});
        }
        const served = this.#table.get(dispatcher);
        if (!served) {
            const data = {reason: "not_found"};
            return answer({error: {code: -32000, message: "this client does not serve it", data}});
        }
        try {
            answer({result: read(await served.work(params, signal))});
        } catch (error) {
            answer({error: {code: -32603, message: String(error)}});
        }
    }
}

/** What a worker's outcomes are to the daemon. */
function read(outcomes) {
    if (outcomes === undefined || outcomes === null) return {};
    const named = outcomes instanceof Map ? Object.fromEntries(outcomes) : outcomes;
    const unknown = Object.values(named).find((outcome) => !OUTCOMES.has(outcome));
    if (unknown !== undefined) throw new TypeError(`not an outcome: ${unknown}`);
    return Object.keys(named).length > 0 ? {outcomes: named} : {};
}

/** An object's members that are not undefined. */
function given(members) {
    return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

module.exports = {Workers, given};
