"use strict";

const {Call, Standing} = require("./call.js");
const {HeadgateError, isObject} = require("./error.js");
const {readPatience} = require("./patience.js");
const {notify, textOf, warn} = require("./program.js");

const OUTCOMES = new Set(["delivered", "retry", "dead"]);
const LONGEST_MESSAGE = 1_000;

/** The workers of a client, by their dispatchers. */
class Workers {
    #table = new Map();

    constructor(connection) {
        this.connection = connection;
    }

    async subscribe(dispatcher, work, {credit, limit, onEnd, onRefused, ...patience} = {}) {
        for (const one of [work, onEnd ?? work, onRefused ?? work]) {
            if (typeof one !== "function") throw new TypeError("a worker, onEnd and onRefused must be functions");
        }
        if (this.#table.has(dispatcher)) {
            throw HeadgateError.local("misuse", `${dispatcher} is already served by this client`);
        }
        const refused = (error) => {
            const text = `the daemon refuses the worker of ${dispatcher}, and the client repeats the request: ${error.message}`;
            warn(text, "HEADGATE_REFUSED");
            notify(onRefused, error);
        };
        const ended = (error) => {
            if (this.#table.get(dispatcher)?.standing === standing) this.#table.delete(dispatcher);
            notify(onEnd, error);
        };
        const told = {refused, ended, leaving: () => leaving(dispatcher)};
        const standing = new Standing("dispatcher.subscribe", given({id: dispatcher, credit, limit}), told);
        const served = {standing, work, isRetired: false, turns: new Turns(credit)};
        this.#table.set(dispatcher, served);
        try {
            await this.connection.begin(standing, patience);
        } catch (error) {
            // A worker that is being ended is removed by the call that ends it, once the daemon has answered.
            if (this.#table.get(dispatcher) === served && !served.isRetired) this.#table.delete(dispatcher);
            throw error;
        }
    }

    async unsubscribe(dispatcher, patience) {
        readPatience(patience);
        const served = this.#table.get(dispatcher);
        if (!served || served.isRetired) throw new HeadgateError(-32000, `${dispatcher} is not served by this client`, "not_found");
        served.isRetired = true;
        const held = this.connection.withdraw(served.standing);
        try {
            if (held !== "nothing") await this.connection.begin(leaving(dispatcher), patience);
        } catch (error) {
            // A lost connection has ended a granted subscription; a request that was not granted failed with the same error.
            const isGone = error.reason === "disconnected" || error.reason === "shutting_down";
            const isRefused = held === "asked" && error instanceof HeadgateError && error.code !== 0;
            if (!isGone && !isRefused) throw error;
        } finally {
            this.#table.delete(dispatcher);
        }
    }

    /** The ids of the dispatchers that have a worker. */
    get names() {
        return [...this.#table.keys()];
    }

    /** Handles a request of the daemon. However a handler ends, the client answers. */
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
        if (!(await served.turns.begin(signal))) return undefined;
        try {
            answer({result: read(await served.work(params, signal))});
        } catch (error) {
            answer({error: {code: -32603, message: textOf(error).slice(0, LONGEST_MESSAGE)}});
        } finally {
            served.turns.end();
        }
    }
}

/** Limits the handlers that run at the same time to the worker's credit. Handlers of a lost connection count as long as they run. */
class Turns {
    #free;
    #waiting = [];

    constructor(credit) {
        this.#free = Number.isInteger(credit) ? Math.max(1, credit) : 1;
    }

    /** Waits until one more handler may run. Returns false if the signal is aborted first. */
    async begin(signal) {
        if (this.#free > 0) {
            this.#free--;
            return true;
        }
        return new Promise((begin) => {
            const waiting = {begin};
            this.#waiting.push(waiting);
            signal.addEventListener("abort", () => {
                this.#waiting = this.#waiting.filter((one) => one !== waiting);
                begin(false);
            });
        });
    }

    end() {
        const next = this.#waiting.shift();
        if (next) next.begin(true);
        else this.#free++;
    }
}

/** Makes the call that ends a subscription at the daemon. */
function leaving(dispatcher) {
    const call = new Call("dispatcher.unsubscribe", {id: dispatcher}, false);
    call.bound = true;
    return call;
}

/** Returns a handler's outcomes in the form of the protocol. Throws a TypeError if the value is not outcomes. */
function read(outcomes) {
    if (outcomes === undefined || outcomes === null) return {};
    const kind = Object.prototype.toString.call(outcomes);
    if (kind !== "[object Object]" && kind !== "[object Map]") {
        throw new TypeError(`a worker gives outcomes by the events' ids, or nothing: ${textOf(outcomes)}`);
    }
    const named = kind === "[object Map]" ? Object.fromEntries(outcomes) : {...outcomes};
    const unknown = Object.values(named).find((outcome) => !OUTCOMES.has(outcome));
    if (unknown !== undefined || Object.values(named).includes(undefined)) {
        throw new TypeError(`not an outcome: ${textOf(unknown)}`);
    }
    return Object.keys(named).length > 0 ? {outcomes: named} : {};
}

/** Returns the members of an object that are not undefined. */
function given(members) {
    return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

module.exports = {Workers, given};
