"use strict";

const net = require("node:net");

const {Backoff} = require("./backoff.js");
const {Standing, late} = require("./call.js");
const {HeadgateError, isObject} = require("./error.js");
const {decode, encode} = require("./json.js");
const {Limits} = require("./limits.js");
const {Lines} = require("./lines.js");

const LONGEST_ANSWER = 256 << 20;
const UTF8 = new TextDecoder("utf-8", {fatal: true});
const BROKEN = "the connection broke before the answer came";

/**
 * Decides when to connect, what to write, what to write again, and what becomes of every call.
 *
 * Nothing that may be repeated is lost with a connection: it is written again on the next one, in the same order and
 * under the same ids.
 */
class Connection {
    // idle: not connected, and nothing to send. greeting: the answer to `hello` is waited for. open: calls are written as
    // they come. draining: the daemon is about to close; what is written is still answered, nothing more is written.
    // waiting: for the next attempt to connect. closed: for good.
    #phase = "idle";
    #calls = new Map();
    #waiting = [];
    #heldBytes = 0;
    #unanswered = 0;
    #underWay = 0;
    #lastNumber = 0;
    #limits = new Limits();
    #backoff;
    #wasConnected = false;
    #lastFailure = null;
    #socket = null;
    #present = new AbortController();
    #lines = new Lines();
    #output = [];
    #timer = null;
    #postponed = new Set();
    #isScheduled = false;
    #waiters = new Set();
    #isLeaving = false;

    /**
     * takeRequest: called with each request of the daemon, a function that writes the answer to it, and a signal that is
     * aborted when nobody wants the answer any more.
     */
    constructor(path, hello, options, takeRequest) {
        this.path = path;
        this.options = options;
        this.takeRequest = takeRequest;
        this.#backoff = new Backoff(options);
        this.hello = encode({jsonrpc: "2.0", id: 0, method: "hello", params: hello}) + "\n";
    }

    /** Whether there is room for one more call. */
    get hasRoom() {
        return this.#calls.size < this.options.maxUnanswered && this.#heldBytes < this.options.maxUnansweredBytes;
    }

    /** Whether a call that is made now is taken. */
    get accepts() {
        return this.hasRoom && !this.#isLeaving && this.#phase !== "closed";
    }

    /** How many calls but the standing ones are not answered. */
    get underWay() {
        return this.#underWay;
    }

    /** Makes a call; what comes of it is told to its promise. */
    begin(call, {timeout, signal} = {}) {
        try {
            signal?.throwIfAborted();
            if (this.#phase === "closed" || this.#isLeaving) throw HeadgateError.local("closed", "the client is closed");
            if (!this.hasRoom) throw HeadgateError.local("buffer_full", "too many calls are unanswered");
            call.encode(++this.#lastNumber);
        } catch (error) {
            call.reject(error);
            return call.answer;
        }
        this.#add(call);
        call.watch({timeout, signal}, (error) => this.#giveUp(call, error));
        return call.answer;
    }

    #add(call) {
        this.#calls.set(call.number, call);
        this.#heldBytes += call.bytes;
        if (!(call instanceof Standing)) this.#underWay++;
        this.#waiting.push(call.number);
        if (this.#phase === "idle") this.#seek();
        this.#schedule();
    }

    /** Ends when a condition holds, which is asked whenever a call has ended, or when the client is closed. */
    async until(condition, {timeout, signal} = {}) {
        signal?.throwIfAborted();
        if (condition() || this.#phase === "closed") return;
        const waiter = {condition};
        this.#waiters.add(waiter);
        let timer, abort;
        try {
            await new Promise((resolve, reject) => {
                waiter.resolve = resolve;
                if (timeout !== undefined && timeout < 2 ** 31) timer = setTimeout(() => reject(late()), timeout);
                abort = () => reject(signal.reason);
                signal?.addEventListener("abort", abort, {once: true});
            });
        } finally {
            clearTimeout(timer);
            signal?.removeEventListener("abort", abort);
            this.#waiters.delete(waiter);
        }
    }

    /**
     * Asks for it no more; who waits for it is told. Gives whether it was "granted" on the present connection, or is "asked"
     * for there, or "nothing" of the kind.
     */
    withdraw(standing) {
        const held = standing.granted ? "granted" : standing.written ? "asked" : "nothing";
        this.#remove(standing);
        standing.granted = false;
        if (!standing.wasGranted) standing.reject(HeadgateError.local("closed", "it was taken back meanwhile"));
        return held;
    }

    /** Takes no further calls. */
    leave() {
        this.#isLeaving = true;
    }

    /** Ends all calls, and the connection, which still gets what has been written. */
    close() {
        if (this.#phase === "closed") return;
        this.#send();
        this.#disconnect(true);
        this.#phase = "closed";
        this.#failAll(HeadgateError.local("closed", "the client is closed"));
        this.#wake();
    }

    // What is done once all that happens at this moment has happened: many lines go in one piece.

    #schedule() {
        if (this.#isScheduled) return;
        this.#isScheduled = true;
        process.nextTick(() => {
            this.#isScheduled = false;
            this.#proceed();
        });
    }

    #proceed() {
        if (this.#phase === "draining" && this.#unanswered === 0) {
            this.#send();
            this.#lose(HeadgateError.local("disconnected", BROKEN), true);
        }
        let written = 0;
        while (this.#phase === "open" && written < this.#waiting.length) {
            const call = this.#calls.get(this.#waiting[written++]);
            if (call && !call.written && !call.granted) this.#writeCall(call);
        }
        this.#waiting.splice(0, written);
        this.#send();
        this.#keepProcess();
    }

    #writeCall(call) {
        const fault = this.#limits.fault(call);
        if (fault) return this.#finish(call, fault);
        call.written = true;
        this.#unanswered++;
        this.#output.push(call.line);
    }

    #send() {
        if (this.#output.length === 0 || !this.#socket) return;
        this.#socket.write(this.#output.join(""));
        this.#output = [];
    }

    /** A connection on which nothing is waited for does not keep the program from ending. */
    #keepProcess() {
        const isBusy = this.#calls.size > 0;
        for (const handle of [this.#socket, this.#timer]) isBusy ? handle?.ref() : handle?.unref();
    }

    // Connecting.

    #seek() {
        this.#backoff.begin(this.#wasConnected ? this.options.reconnectTimeout : this.options.connectTimeout);
        this.#wait(0);
    }

    #wait(milliseconds) {
        this.#phase = "waiting";
        this.#setTimer(milliseconds, () => this.#attempt());
    }

    #setTimer(milliseconds, then) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(then, milliseconds);
    }

    #attempt() {
        if (this.#calls.size === 0) return this.#rest();
        const socket = net.connect(this.path);
        let cause = "the daemon closed the connection";
        const ifPresent = (act) => (value) => socket === this.#socket && act(value);
        this.#socket = socket;
        this.#phase = "greeting";
        this.#lines = new Lines();
        this.#output = [this.hello];
        socket.on("connect", ifPresent(() => this.#send()));
        socket.on("data", ifPresent((chunk) => this.#take(socket, chunk)));
        socket.on("error", (error) => (cause = saying(error)));
        socket.on("close", ifPresent(() => this.#disconnected(cause)));
        const silent = "connected, but the daemon does not answer";
        this.#setTimer(this.options.greetingTimeout, () => this.#couldNotConnect(this.#cannotConnect(silent)));
    }

    #cannotConnect(cause) {
        return HeadgateError.local("cannot_connect", `cannot connect to ${this.path}: ${cause}`);
    }

    #couldNotConnect(error) {
        this.#disconnect();
        this.#lastFailure = error;
        this.#retry();
    }

    #greeted(result) {
        if (this.#phase !== "greeting") return;
        clearTimeout(this.#timer);
        this.#limits = new Limits(result);
        // The first connection has been made in time; later ones are another matter.
        if (!this.#wasConnected) this.#backoff.rest();
        this.#wasConnected = true;
        this.#lastFailure = null;
        this.#phase = "open";
        this.#schedule();
    }

    #greetingRefused(error) {
        if (this.#phase !== "greeting") return;
        if (error.reason === "shutting_down") return this.#foundStopping(error.message);
        if (error.reason === "limit") return this.#couldNotConnect(this.#cannotConnect(error.message));
        this.#disconnect();
        this.#rest();
        this.#failAll(error);
    }

    /** A daemon that stops was there: what waits for it waits as if it had been lost, for it may be restarting. */
    #foundStopping(cause) {
        if (!this.#wasConnected) this.#backoff.rest();
        this.#wasConnected = true;
        this.#couldNotConnect(this.#cannotConnect(cause));
    }

    #closing() {
        if (this.#phase === "greeting") this.#foundStopping("the daemon is stopping");
        else if (this.#phase === "open") this.#drain();
    }

    #drain() {
        this.#phase = "draining";
        this.#schedule();
    }

    #disconnected(cause) {
        if (this.#phase === "greeting") this.#couldNotConnect(this.#cannotConnect(cause));
        else this.#lose(HeadgateError.local("disconnected", BROKEN));
    }

    /** The connection is gone: takes back what can be written again, in its order. */
    #lose(error, isOrderly = false) {
        this.#disconnect(isOrderly);
        this.#lastFailure = error;
        for (const call of [...this.#calls.values()]) {
            call.granted &&= false;
            if (call.bound || (call.written && !call.repeatable)) this.#finish(call, error);
            else this.#unmark(call);
        }
        for (const timer of this.#postponed) clearTimeout(timer);
        this.#postponed.clear();
        this.#waiting = [...this.#calls.keys()];
        this.#retry();
    }

    /** isOrderly: the daemon still gets what has been written. */
    #disconnect(isOrderly = false) {
        clearTimeout(this.#timer);
        const socket = this.#socket;
        this.#socket = null;
        this.#output = [];
        if (!socket) return;
        this.#present.abort();
        this.#present = new AbortController();
        if (!isOrderly) return socket.destroy();
        // What the daemon says now counts no more; but its end of the connection has to be read.
        socket.resume();
        socket.end();
        socket.unref();
    }

    #retry() {
        this.#backoff.fail();
        if (this.#calls.size === 0) return this.#rest();
        this.#backoff.begin(this.options.reconnectTimeout);
        if (!this.#backoff.isOver) return this.#wait(this.#backoff.wait);
        this.#rest();
        this.#failAll(this.#lastFailure);
    }

    #rest() {
        this.#phase = "idle";
        this.#backoff.rest();
    }

    // What comes from the daemon.

    #take(socket, chunk) {
        for (const line of this.#lines.push(chunk)) {
            if (socket !== this.#socket) return;
            this.#takeLine(line);
        }
        if (this.#lines.bytes > LONGEST_ANSWER) this.#gotNonsense(`a line of more than ${LONGEST_ANSWER} bytes`);
        this.#schedule();
    }

    #takeLine(line) {
        let message;
        try {
            const text = UTF8.decode(line);
            if (/^[ \t\r]*$/.test(text)) return;
            message = decode(text);
        } catch {
            return this.#gotNonsense("a line that is not JSON");
        }
        const messages = Array.isArray(message) && message.length > 0 ? message : [message];
        messages.forEach((one) => this.#takeMessage(one));
    }

    #takeMessage(message) {
        if (!isObject(message) || message.jsonrpc !== "2.0") return this.#gotNonsense("a line that is no message");
        if (typeof message.method === "string") return this.#takeCall(message);
        const hasError = "error" in message;
        const error = hasError ? HeadgateError.read(message.error) : null;
        if ("method" in message || hasError === "result" in message || (hasError && !error)) {
            return this.#gotNonsense("a line that is no message");
        }
        const number = message.id ?? null;
        if (number === null && error) return this.#gotAnonymousError(error);
        if (!Number.isInteger(number)) return this.#gotNonsense("an answer to nothing that was asked");
        if (number === 0) return error ? this.#greetingRefused(error) : this.#greeted(message.result);
        this.#answered(number, message.result, error);
    }

    #takeCall({id, method, params}) {
        if (id === undefined) return method === "closing" ? this.#closing() : undefined;
        const socket = this.#socket;
        // An answer on another connection than that of the question would answer something else.
        this.takeRequest(method, params, (answer) => {
            if (socket !== this.#socket || !["open", "draining"].includes(this.#phase)) return;
            this.#output.push(encode({jsonrpc: "2.0", id, ...answer}) + "\n");
            this.#schedule();
        }, this.#present.signal);
    }

    #answered(number, result, error) {
        const call = this.#calls.get(number);
        if (!call?.written) return; // nobody waits for it any more
        if (error) return this.#refused(call, error);
        this.#backoff.succeed();
        if (!isObject(result)) {
            const text = `a result of ${call.method} that is no object`;
            return this.#finish(call, HeadgateError.local("bad_answer", text));
        }
        if (!(call instanceof Standing)) return this.#finish(call, null, result);
        this.#unmark(call);
        call.granted = call.wasGranted = true;
        call.resolve(result);
    }

    #refused(call, error) {
        if (error.reason === "shutting_down" && call.repeatable) {
            this.#unmark(call);
            return this.#drain();
        }
        this.#backoff.succeed();
        // The daemon may not have noticed yet that the connection before is gone.
        if (call.wasGranted && error.reason === "conflict") return this.#postpone(call);
        this.#finish(call, error);
    }

    #postpone(call) {
        this.#unmark(call);
        const timer = setTimeout(() => {
            this.#postponed.delete(timer);
            this.#waiting.push(call.number);
            this.#schedule();
        }, this.options.backoffCap);
        this.#postponed.add(timer);
    }

    /**
     * It cannot be told which call it is about, so all that are written end with it: to repeat them might bring the same
     * for ever.
     */
    #gotNonsense(text) {
        const error = HeadgateError.local("bad_answer", `not an answer of the protocol: ${text}`);
        if (this.#phase === "greeting") return this.#couldNotConnect(error);
        if (this.#phase !== "open" && this.#phase !== "draining") return;
        for (const call of [...this.#calls.values()]) if (call.written) this.#finish(call, error);
        this.#lose(error);
    }

    #gotAnonymousError(error) {
        if (this.#phase === "greeting") this.#greetingRefused(error);
        else this.#gotNonsense(error.message);
    }

    // What becomes of calls.

    #giveUp(call, error) {
        const isConnected = this.#phase === "open" || this.#phase === "draining";
        const isLate = error instanceof HeadgateError && error.reason === "timed_out";
        const isAsked = call instanceof Standing && call.written;
        this.#finish(call, isLate && !isConnected && this.#lastFailure ? this.#lastFailure : error);
        if (isAsked) this.#giveBack(call);
    }

    /**
     * What was given up, and may be granted yet, is given back at once, which takes nothing from what is asked for later: the
     * daemon does one after the other.
     */
    #giveBack(standing) {
        const call = standing.leaving();
        call.answer.catch(() => {}); // nobody waits for it
        call.encode(++this.#lastNumber);
        this.#add(call);
    }

    #unmark(call) {
        if (!call.written) return;
        call.written = false;
        this.#unanswered--;
    }

    #remove(call) {
        if (!this.#calls.delete(call.number)) return;
        this.#unmark(call);
        this.#heldBytes -= call.bytes;
        if (!(call instanceof Standing)) this.#underWay--;
        // Calls that were given up while there is no daemon must not be remembered until there is one.
        if (this.#waiting.length > 2 * this.#calls.size + 1024) {
            this.#waiting = this.#waiting.filter((number) => this.#calls.has(number));
        }
        this.#wake();
        this.#schedule();
    }

    #finish(call, error, result) {
        this.#remove(call);
        if (!error) return call.resolve(result);
        if (call.wasGranted) call.ended(error);
        else call.reject(error);
    }

    #failAll(error) {
        for (const call of [...this.#calls.values()]) this.#finish(call, error);
    }

    #wake() {
        for (const waiter of this.#waiters) {
            if (this.#phase === "closed" || waiter.condition()) waiter.resolve();
        }
    }
}

/** What a person is told of an error of the socket. */
function saying(error) {
    return error.code === "ENOENT" ? "there is no such socket" : error.message;
}

module.exports = {Connection};
