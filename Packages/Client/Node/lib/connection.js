"use strict";

const net = require("node:net");

const {Backoff} = require("./backoff.js");
const {Standing} = require("./call.js");
const {HeadgateError, isObject} = require("./error.js");
const {decode, encode} = require("./json.js");
const {Limits} = require("./limits.js");
const {Lines} = require("./lines.js");
const {readPatience, timer, watch} = require("./patience.js");
const {addressFault, isPermanent} = require("./place.js");
const {endedFor, isBusy, listenForEnd, notify, sendAtTheEnd, textOf, unwatchEnd, warn, watchEnd} = require("./program.js");

const LONGEST_ANSWER = 256 << 20;
const UTF8 = new TextDecoder("utf-8", {fatal: true});
const BROKEN = "the connection was lost before the answer came";
// The milliseconds that a connection that ends waits for a daemon that does not read.
const LAST_WRITE = 1_000;
// The least milliseconds between two checks whether the program ends while writes are pending.
const SHORTEST_CHECK = 10;

/**
 * Decides when to connect, what to write, what to write again, and which outcome each call has.
 *
 * A repeatable call is not lost with a connection: it is written again on the next one, in the same order and under the
 * same id.
 */
class Connection {
    // idle: not connected, and nothing to send. greeting: the client waits for the answer to `hello`. open: calls are written as
    // they come. draining: this connection is about to end; written calls and the daemon's requests are answered, but no call
    // is written. waiting: for the next attempt to connect. closed: for good.
    #phase = "idle";
    #calls = new Map();
    #waiting = [];
    #heldBytes = 0;
    #unanswered = 0;
    #underWay = 0;
    #unattended = 0;
    #lastNumber = 0;
    #limits = new Limits();
    #backoff;
    #wasConnected = false;
    #lastFailure = null;
    #state = "idle";
    #hasWarned = false;
    #socket = null;
    // Has one controller for each request of the daemon on this connection that is not answered.
    #owed = new Set();
    // True on a connection that is left because the daemon's limits have changed; true until a call is answered after that.
    #isRelearning = false;
    #hasRelearned = false;
    #lines = new Lines();
    #output = [];
    // The number of writes that the system has not taken yet, and the timer that checks whether the program ends meanwhile.
    #writing = 0;
    #stall;
    #timer = null;
    #postponed = new Set();
    #isScheduled = false;
    #waiters = new Set();
    #isLeaving = false;
    // Set while the process is kept for unattended events.
    #hold = null;
    // The moment at which the process is kept no longer; null since a call was answered.
    #holdEnd = null;
    // True while the last events of the program are sent.
    #isEnding = false;

    /**
     * takeRequest: called with each request of the daemon, a function that writes the answer to it, and a signal that is
     * aborted when the daemon no longer waits for the answer.
     */
    constructor(path, hello, options, takeRequest) {
        this.path = path;
        this.options = options;
        this.takeRequest = takeRequest;
        this.#backoff = new Backoff(options);
        listenForEnd();
        this.hello = encode({jsonrpc: "2.0", id: 0, method: "hello", params: hello}) + "\n";
    }

    /** True if there is room for one more call. */
    get hasRoom() {
        return this.#calls.size < this.options.maxUnanswered && this.#heldBytes < this.options.maxUnansweredBytes;
    }

    /** The number of unanswered calls, without the standing ones. */
    get underWay() {
        return this.#underWay;
    }

    /** Returns a text, followed by the reason if there is no connection. */
    because(text) {
        return this.#isConnected || !this.#lastFailure ? text : `${text}: ${this.#lastFailure.message}`;
    }

    get #isConnected() {
        return this.#phase === "open" || this.#phase === "draining";
    }

    /** Makes a call. Its promise gets the outcome. */
    begin(call, given) {
        try {
            const patience = readPatience(given);
            patience.signal?.throwIfAborted();
            this.#admit(call);
            call.watch(patience, (error) => this.#giveUp(call, error));
        } catch (error) {
            call.reject(error);
        }
        return call.answer;
    }

    /** Makes a call whose promise no caller has. Returns false if there is no room. */
    beginUnattended(call) {
        try {
            this.#admit(call);
        } catch (error) {
            call.reject(error);
            return false;
        }
        // The end of the program was reported already: nothing else sends the event. Events that onDropped tracks there would have no end.
        if (endedFor() !== null && !this.#isEnding) this.endWithProcess();
        return true;
    }

    #admit(call) {
        this.#checkRoom();
        call.encode(++this.#lastNumber);
        this.#checkRoom(); // data may have methods of the program's own, and those may use the client
        this.#add(call);
    }

    #checkRoom() {
        if (this.#phase === "closed" || this.#isLeaving) throw HeadgateError.local("closed", "the client is closed");
        if (!this.hasRoom) throw HeadgateError.local("buffer_full", this.because("too many calls are unanswered"));
    }

    #add(call) {
        this.#calls.set(call.number, call);
        this.#heldBytes += call.bytes;
        if (!(call instanceof Standing)) this.#underWay++;
        if (!call.isAttended && this.#unattended++ === 0) watchEnd(this);
        this.#waiting.push(call.number);
        if (this.#phase === "idle") this.#seek();
        this.#schedule();
    }

    /**
     * Waits until a condition holds, or the client is closed. The condition is checked whenever a call has ended. `late` makes
     * the error of a caller after its timeout.
     */
    async until(condition, given, late) {
        const patience = readPatience(given);
        patience.signal?.throwIfAborted();
        if (condition() || this.#phase === "closed") return;
        const waiter = {condition};
        this.#waiters.add(waiter);
        this.#keepProcess();
        let stop;
        try {
            await new Promise((resolve, reject) => {
                waiter.resolve = resolve;
                stop = watch(patience, late, reject);
            });
        } finally {
            stop();
            this.#waiters.delete(waiter);
            this.#keepProcess();
        }
    }

    /**
     * No longer requests a subscription, and fails the call that waits for it. Returns "granted" if it was granted on the present
     * connection, "asked" if it was requested there, and "nothing" otherwise.
     */
    withdraw(standing) {
        const held = standing.granted ? "granted" : standing.written ? "asked" : "nothing";
        this.#remove(standing);
        standing.granted = false;
        if (!standing.wasGranted) standing.reject(HeadgateError.local("closed", "the program ended the service before the daemon granted it"));
        return held;
    }

    /** Takes no further calls. */
    leave() {
        this.#isLeaving = true;
    }

    /** Ends all calls and the connection. Calls that were written are still sent. */
    close() {
        if (this.#phase === "closed") return;
        this.#send();
        this.#disconnect(true);
        this.#phase = "closed";
        this.#tell("closed", null);
        this.#failAll(HeadgateError.local("closed", "the client is closed"));
        this.#wake();
    }

    // The end of the program.

    /** Keeps a program that has nothing more to do, for a bounded time, until its unattended events are acknowledged. */
    holdProcess() {
        if (this.#hold) return;
        const now = performance.now();
        this.#holdEnd ??= now + this.options.exitTimeout;
        // Events that onDropped tracks again and again get no time of their own.
        if (this.#holdEnd <= now) return;
        const last = this.#lastNumber;
        this.#hold = {clock: timer(this.#holdEnd - now, () => this.#endHold(last))};
        this.#keepProcess();
    }

    /** Drops the events up to a number: later ones are those of a program that goes on. */
    #endHold(last) {
        this.#hold = null;
        this.warnOfLeft("the program ended");
        const error = this.#endOfProgram;
        for (const call of this.#unattendedCalls) if (call.number <= last) this.#finish(call, error);
        if (this.#calls.size === 0 && this.#writing > 0) this.#loseUnread();
        this.#schedule();
    }

    /** Warns of the number of unattended events that are not acknowledged, if there are any. */
    warnOfLeft(when) {
        if (this.#unattended === 0) return;
        warn(this.because(`${this.#unattended} events were not acknowledged when ${when}`), "HEADGATE_LEFT");
    }

    get #endOfProgram() {
        return HeadgateError.local("closed", this.because("the program ended before the answer came"));
    }

    get #unattendedCalls() {
        return [...this.#calls.values()].filter((call) => !call.isAttended);
    }

    /** Has another process send the unattended events of a program that ends at this moment, and says how many are left. */
    endWithProcess() {
        this.#isEnding = true;
        const left = this.#unattendedCalls;
        const lost = this.#sendLast(left);
        for (const call of left) this.#remove(call);
        if (lost.length > 0) this.#tellOfLost(lost);
        this.#isEnding = false;
    }

    /** Returns the calls that were not acknowledged, each with its error. */
    #sendLast(calls) {
        const lines = [this.hello, ...calls.map(({line}) => line)];
        const within = this.options.exitTimeout - endedFor();
        const answers = within > 0 ? sendAtTheEnd(this.path, lines, within) : new Map();
        const error = this.#endOfProgram;
        return calls
            .filter(({number}) => !answers.get(number)?.result)
            .map((call) => ({call, error: HeadgateError.read(answers.get(call.number)?.error) ?? error}));
    }

    #tellOfLost(lost) {
        const message = this.#endOfProgram.message;
        try {
            console.error(`headgate: ${lost.length} events were not acknowledged when the program ended: ${message}`);
            for (const {call, error} of lost) call.dropped(error);
        } catch (failure) {
            console.error(`headgate: a callback of the client failed: ${textOf(failure)}`);
        }
        const again = this.#unattendedCalls;
        for (const call of again) this.#remove(call);
        if (again.length > 0) console.error(`headgate: ${again.length} events were dropped: onDropped tracked them when the program ended`);
    }

    // States.

    #tell(state, error) {
        if (this.#state === state) return;
        this.#state = state;
        notify(this.options.onState, state, error);
    }

    /** Reports that a connection is wanted and cannot be made. It is a warning once until a call is answered again. */
    #missing(error) {
        this.#tell("disconnected", error);
        if (this.#hasWarned) return;
        this.#hasWarned = true;
        warn(error.message, "HEADGATE_UNREACHABLE");
    }

    // Writing is postponed to the end of the present turn, so that many lines go in one piece.

    #schedule() {
        if (this.#isScheduled) return;
        this.#isScheduled = true;
        process.nextTick(() => {
            this.#isScheduled = false;
            this.#proceed();
        });
    }

    #proceed() {
        const isDone = this.#unanswered === 0 || this.#isRelearning;
        if (this.#phase === "draining" && isDone && this.#owed.size === 0) {
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
        const socket = this.#socket;
        this.#writing++;
        this.#watchWrites();
        socket.write(this.#output.join(""), () => {
            if (socket !== this.#socket) return;
            this.#writing--;
            this.#watchWrites();
        });
        this.#output = [];
    }

    /**
     * Bounds pending writes, which keep a program from ending even on an unreferenced socket. When the program has had nothing else
     * to do for nine tenths of `exitTimeout`, the connection is left, and the program waits for the rest of that time.
     *
     * idleSince: the moment since which each check has found that the program has nothing else to do.
     */
    #watchWrites(idleSince = Infinity) {
        clearTimeout(this.#stall);
        if (this.#writing === 0) return;
        const step = Math.max(this.options.exitTimeout / 10, SHORTEST_CHECK);
        const {bytesRead} = this.#socket;
        this.#stall = timer(step, () => {
            const now = performance.now();
            const goesOn = this.#isAwaited || isBusy(this.#socket.bytesRead > bytesRead);
            const since = goesOn ? Infinity : Math.min(idleSince, now);
            if (now - since < 9 * step) return this.#watchWrites(since);
            this.#holdEnd ??= now + step;
            this.#loseUnread();
        });
        this.#stall?.unref();
    }

    #loseUnread() {
        this.#lose(HeadgateError.local("disconnected", "the daemon did not read in time"));
    }

    /** True if a caller waits for a call, or for room. */
    get #isAwaited() {
        return this.#calls.size > this.#unattended || this.#waiters.size > 0;
    }

    /** Lets the program end while no caller waits on the connection. */
    #keepProcess() {
        const isBusy = this.#isAwaited || this.#hold !== null;
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
        this.#timer = timer(milliseconds, then);
        this.#keepProcess();
    }

    #attempt() {
        if (this.#calls.size === 0) return this.#rest();
        const fault = addressFault(this.path);
        if (fault) return this.#couldNotConnect(this.#cannotConnect(fault), true);
        const socket = net.connect(this.path);
        let cause = new Error("the daemon closed the connection");
        const ifPresent = (act) => (value) => socket === this.#socket && act(value);
        this.#socket = socket;
        this.#phase = "greeting";
        this.#lines = new Lines();
        this.#output = [this.hello];
        socket.on("connect", ifPresent(() => this.#send()));
        socket.on("data", ifPresent((chunk) => this.#take(socket, chunk)));
        socket.on("error", (error) => (cause = error));
        socket.on("close", ifPresent(() => this.#disconnected(cause)));
        const silent = "connected, but the daemon does not answer";
        this.#setTimer(this.options.greetingTimeout, () => this.#couldNotConnect(this.#cannotConnect(silent)));
    }

    #cannotConnect(cause) {
        return HeadgateError.local("cannot_connect", `cannot connect to ${this.path}: ${cause}`);
    }

    /**
     * `isFault` is true for an error that waiting does not cure. A client that was connected once waits all the same: while a
     * daemon restarts, its folder may be inaccessible for a moment.
     */
    #couldNotConnect(error, isFault = false) {
        this.#disconnect();
        this.#lastFailure = error;
        this.#missing(error);
        if (!isFault || this.#wasConnected) return this.#retry();
        this.#rest();
        this.#failAll(error);
    }

    #greeted(result) {
        if (this.#phase !== "greeting") return;
        clearTimeout(this.#timer);
        this.#limits = new Limits(result);
        // The connect timeout counts for the first connection only.
        if (!this.#wasConnected) this.#backoff.rest();
        this.#wasConnected = true;
        this.#lastFailure = null;
        this.#phase = "open";
        this.#tell("connected", null);
        this.#schedule();
    }

    #greetingRefused(error) {
        if (this.#phase !== "greeting") return;
        if (error.reason === "shutting_down") return this.#foundStopping(error.message);
        if (error.reason === "limit") return this.#couldNotConnect(this.#cannotConnect(error.message));
        this.#disconnect();
        this.#missing(error);
        this.#rest();
        this.#failAll(error);
    }

    /** Notes that a daemon is stopping. Calls wait as after a lost connection, because the daemon may be restarting. */
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
        const isFault = isPermanent(cause);
        if (this.#phase === "greeting") this.#couldNotConnect(this.#cannotConnect(saying(cause)), isFault);
        else this.#lose(HeadgateError.local("disconnected", BROKEN));
    }

    /** Handles a lost connection: puts repeatable calls back into the queue in their order, and fails the others. */
    #lose(error, isOrderly = false) {
        this.#disconnect(isOrderly);
        this.#lastFailure = error;
        this.#tell("disconnected", error);
        for (const call of [...this.#calls.values()]) {
            call.granted &&= false;
            if (call.bound || (call.written && !call.repeatable)) this.#finish(call, error);
            else this.#unmark(call);
        }
        for (const clock of this.#postponed) clearTimeout(clock);
        this.#postponed.clear();
        this.#waiting = [...this.#calls.keys()];
        this.#retry();
    }

    /** Leaves the connection. If `isOrderly` is true, the daemon still gets the calls that were written. */
    #disconnect(isOrderly = false) {
        clearTimeout(this.#timer);
        clearTimeout(this.#stall);
        this.#writing = 0;
        const socket = this.#socket;
        this.#socket = null;
        this.#output = [];
        this.#isRelearning = false;
        if (!socket) return;
        const owed = this.#owed;
        this.#owed = new Set();
        owed.forEach((one) => one.abort());
        if (!isOrderly) return socket.destroy();
        // Further messages are ignored, but the stream is read on to notice the daemon's end of it.
        socket.resume();
        socket.end();
        socket.unref();
        const clock = timer(LAST_WRITE, () => socket.destroy());
        clock.unref();
        socket.once("close", () => clearTimeout(clock));
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

    // Messages of the daemon.

    #take(socket, chunk) {
        for (const line of this.#lines.push(chunk)) {
            if (socket !== this.#socket) return;
            this.#takeLine(line);
        }
        if (this.#lines.bytes > LONGEST_ANSWER) this.#gotNonsense(`a line has more than ${LONGEST_ANSWER} bytes`);
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
        if (!isObject(message) || message.jsonrpc !== "2.0") return this.#gotNonsense("a line that is not a message");
        if (typeof message.method === "string") return this.#takeCall(message);
        const hasError = "error" in message;
        const error = hasError ? HeadgateError.read(message.error) : null;
        if ("method" in message || hasError === "result" in message || (hasError && !error)) {
            return this.#gotNonsense("a line that is not a message");
        }
        const number = message.id ?? null;
        if (number === null && error) return this.#gotAnonymousError(error);
        if (!Number.isInteger(number)) return this.#gotNonsense("an answer without a request");
        if (number === 0) return error ? this.#greetingRefused(error) : this.#greeted(message.result);
        this.#answered(number, message.result, error);
    }

    #takeCall({id, method, params}) {
        if (id === undefined) return method === "closing" ? this.#closing() : undefined;
        if (!this.#isConnected) return undefined; // an earlier message of the same line has ended the connection
        const owed = this.#owed;
        const asked = new AbortController();
        owed.add(asked);
        // An answer on another connection than that of the request would answer another request.
        this.takeRequest(method, params, (answer) => {
            owed.delete(asked);
            if (owed !== this.#owed || !this.#isConnected) return;
            this.#output.push(this.#encodeAnswer(id, answer));
            this.#schedule();
        }, asked.signal);
    }

    /** Returns the line of an answer, or that of an error if the answer is longer or deeper than the daemon takes. */
    #encodeAnswer(id, answer) {
        const line = encode({jsonrpc: "2.0", id, ...answer}) + "\n";
        const fault = this.#limits.fault({line, bytes: Buffer.byteLength(line)});
        if (!fault) return line;
        warn(`the answer of a worker is not sent: ${fault.message}`, "HEADGATE_ANSWER_REFUSED");
        return encode({jsonrpc: "2.0", id, error: {code: -32603, message: `the answer: ${fault.message}`}}) + "\n";
    }

    #answered(number, result, error) {
        const call = this.#calls.get(number);
        if (!call?.written) return; // its caller no longer waits
        if (error) return this.#refused(call, error);
        this.#succeed();
        if (!isObject(result)) {
            const text = `the result of ${call.method} is not an object`;
            return this.#finish(call, HeadgateError.local("bad_answer", text));
        }
        if (!(call instanceof Standing)) return this.#finish(call, null, result);
        this.#unmark(call);
        call.granted = call.wasGranted = true;
        call.isRefused = false;
        call.resolve(result);
    }

    /** Notes that a call was answered. */
    #succeed() {
        this.#backoff.succeed();
        this.#holdEnd = null;
        this.#hasWarned = false;
        if (!this.#isRelearning) this.#hasRelearned = false;
    }

    #refused(call, error) {
        if (error.reason === "shutting_down" && call.repeatable) {
            this.#unmark(call);
            return this.#drain();
        }
        this.#succeed();
        if (!call.wasGranted) return this.#finish(call, error);
        // After a conflict no refusal is reported: the daemon may not have noticed yet that the earlier connection is gone.
        if (error.reason !== "conflict" && !call.isRefused) {
            call.isRefused = true;
            call.refused(error);
        }
        this.#postpone(call);
    }

    #postpone(call) {
        this.#unmark(call);
        const clock = timer(this.options.backoffCap, () => {
            this.#postponed.delete(clock);
            this.#waiting.push(call.number);
            this.#schedule();
        });
        this.#postponed.add(clock);
    }

    /**
     * Handles a malformed message. The client cannot tell which call it is about, so all written calls fail: repeating them
     * might cause it again, without end.
     */
    #gotNonsense(text) {
        const error = HeadgateError.local("bad_answer", `malformed answer from the daemon: ${text}`);
        if (this.#phase === "greeting") return this.#couldNotConnect(error);
        if (!this.#isConnected) return;
        for (const call of [...this.#calls.values()]) if (call.written) this.#finish(call, error);
        this.#lose(error);
    }

    #gotAnonymousError(error) {
        const isLimit = error.reason === "line_too_long" || error.reason === "limit";
        if (this.#phase === "greeting") this.#greetingRefused(error);
        else if (isLimit && this.#isConnected && !this.#hasRelearned) this.#relearn();
        else if (!this.#isRelearning) this.#gotNonsense(error.message);
    }

    /**
     * Leaves a connection whose daemon takes less than its greeting said: the next greeting has the new limits. The client
     * answers the daemon's requests first.
     */
    #relearn() {
        this.#isRelearning = this.#hasRelearned = true;
        this.#drain();
    }

    // Outcomes of calls.

    #giveUp(call, error) {
        const isLate = error instanceof HeadgateError && error.reason === "timed_out";
        const isAsked = call instanceof Standing && call.written;
        this.#finish(call, isLate && !this.#isConnected && this.#lastFailure ? this.#lastFailure : error);
        if (isAsked) this.#giveBack(call);
    }

    /**
     * Ends a cancelled service at the daemon, which may still grant it. That happens at once, so that it does not affect later
     * requests: the daemon handles requests in order.
     */
    #giveBack(standing) {
        const call = standing.leaving();
        call.answer.catch(() => {}); // no caller has it
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
        if (!call.isAttended && --this.#unattended === 0) this.#endWatch();
        // Cancelled calls must not be remembered while there is no daemon. With a daemon, `#proceed` may be iterating over them.
        if (this.#phase !== "open" && this.#waiting.length > 2 * this.#calls.size + 1024) {
            this.#waiting = this.#waiting.filter((number) => this.#calls.has(number));
        }
        this.#wake();
        this.#schedule();
    }

    #endWatch() {
        unwatchEnd(this);
        clearTimeout(this.#hold?.clock);
        this.#hold = null;
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

/** Returns the text for an error of the socket. */
function saying(error) {
    return error.code === "ENOENT" ? "no such socket" : error.message;
}

module.exports = {Connection};
