"use strict";
// Streams that track log records. Pino and winston load them as transports; they need neither package.
const {writeSync} = require("node:fs");
const {Writable} = require("node:stream");

const {Client} = require("./client.js");

const DEEPEST = 8;
const LEVELS = {
    trace: "TRACE", silly: "TRACE", debug: "DEBUG", verbose: "DEBUG", http: "INFO", info: "INFO", notice: "NOTICE", warn: "WARNING",
    warning: "WARNING", error: "ERROR", crit: "CRITICAL", critical: "CRITICAL", fatal: "CRITICAL", alert: "CRITICAL", emerg: "CRITICAL",
};

/** Returns the name of a level of pino, which is a number. */
function ofNumber(level) {
    const steps = [[60, "CRITICAL"], [50, "ERROR"], [40, "WARNING"], [30, "INFO"], [20, "DEBUG"]];
    return (steps.find(([least]) => level >= least) ?? [0, "TRACE"])[1];
}

/** Returns a value that JSON can represent. Other values become text. */
function plain(value, depth = 0) {
    if (value instanceof Error) return value.stack ?? String(value);
    if (typeof value === "number" && !Number.isFinite(value)) return String(value);
    if (["bigint", "symbol", "function"].includes(typeof value)) return String(value);
    if (value === null || typeof value !== "object" || value instanceof Date) return value;
    if (depth >= DEEPEST) return Array.isArray(value) ? "array" : "object";
    if (Array.isArray(value)) return value.map((one) => plain(one, depth + 1));
    if (typeof value.toJSON === "function") return plain(value.toJSON(), depth + 1);
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, plain(one, depth + 1)]));
}

/** Tracks records, and reports those that are dropped. It never waits and throws nothing. */
class Sink {
    #client;
    #event;
    #dropped = new Map();
    #unreported = new Map();
    #since;

    /** The options are `program`, `version`, `event` (the events' name), and those of `Client`. */
    constructor({program = "node", version = "", event = "log", onDropped, ...options} = {}) {
        this.#event = event;
        const report = `${event}.dropped`;
        const drop = (error, dropped) => {
            if (dropped.event === report) this.#putBack(dropped.data);
            else this.#drop(error.reason ?? "refused");
            onDropped?.(error, dropped);
        };
        this.#client = new Client(program, version, {connectTimeout: Infinity, exitTimeout: 2_000, ...options, onDropped: drop});
    }

    /** Returns the number of records that were dropped so far, by reason. */
    get dropped() {
        return Object.fromEntries(this.#dropped);
    }

    /** Tracks a record. `make` returns its data and its time. */
    track(make) {
        let made;
        try {
            made = make();
        } catch {
            return this.#drop("bad_record");
        }
        this.#report();
        this.#client.trackSoon(this.#event, {...made.data, process: made.data.process ?? process.pid}, {time: made.time});
    }

    /** Waits until all records are acknowledged, but no longer than two seconds, and closes the client. */
    async close() {
        await this.#client.drain({timeout: 1_000}).catch(() => {}); // makes room for the report
        this.#report();
        await this.#client.close({timeout: 1_000});
        if (this.#unreported.size === 0) return;
        const reasons = [...this.#unreported].map(([reason, count]) => `${count} ${reason}`).join(", ");
        try {
            // process.stderr of a thread writes through the main thread, and its error there would end the program.
            writeSync(2, `headgate: log records dropped: ${reasons}\n`);
        } catch {
            // The reader of standard error has gone.
        }
    }

    #drop(reason, count = 1) {
        this.#dropped.set(reason, (this.#dropped.get(reason) ?? 0) + count);
        this.#putBack({since: new Date(), reasons: {[reason]: count}});
    }

    #putBack({since, reasons}) {
        if (this.#unreported.size === 0) this.#since = since;
        for (const [reason, count] of Object.entries(reasons)) {
            this.#unreported.set(reason, (this.#unreported.get(reason) ?? 0) + count);
        }
    }

    #report() {
        if (this.#unreported.size === 0 || !this.#client.hasRoom) return;
        const reasons = Object.fromEntries(this.#unreported);
        this.#unreported.clear();
        const count = Object.values(reasons).reduce((sum, one) => sum + one, 0);
        this.#client.trackSoon(`${this.#event}.dropped`, {count, reasons, since: this.#since});
    }
}

/** Returns the data and the time of a line of pino. */
function ofPino(line) {
    const {level, time, msg, pid, hostname, name, err, ...fields} = JSON.parse(line);
    const exception = err?.stack ?? undefined;
    const data = {
        ...fields, level: typeof level === "number" ? ofNumber(level) : LEVELS[level] ?? "INFO", logger: name, message: msg ?? err?.message ?? "",
        process: pid, hostname, exception,
    };
    const at = typeof time === "number" ? new Date(time) : time;
    return {data, time: at === undefined ? undefined : new Date(at).toISOString()};
}

/** The function that pino loads as `target`: returns a stream that takes lines. */
function pinoTransport(options) {
    const sink = new Sink(options);
    const decoder = new TextDecoder();
    let rest = "";
    return new Writable({
        write(chunk, _, done) {
            const lines = (rest + decoder.decode(chunk, {stream: true})).split("\n");
            rest = lines.pop();
            for (const line of lines) if (line.trim() !== "") sink.track(() => ofPino(line));
            done();
        },
        final(done) {
            sink.close().then(() => done(), done);
        },
    });
}

/** A transport of winston: `winston.createLogger({transports: [new WinstonTransport({program: "shop"})]})`. */
class WinstonTransport extends Writable {
    #sink;

    constructor({level, silent = false, ...options} = {}) {
        super({objectMode: true, highWaterMark: 1_024});
        this.#sink = new Sink(options);
        this.level = level;
        this.silent = silent;
        this.once("pipe", (logger) => {
            this.levels = logger.levels;
            this.parent = logger;
        });
    }

    get dropped() {
        return this.#sink.dropped;
    }

    /** Called by winston for each record. */
    log(info, done) {
        this.#sink.track(() => {
            const {level, message, timestamp, stack, ...fields} = info;
            const name = info[Symbol.for("level")] ?? level;
            const data = plain({...fields, exception: stack}); // winston puts an error's stack into the record
            const at = new Date(timestamp ?? Date.now());
            const time = (Number.isNaN(at.getTime()) ? new Date() : at).toISOString();
            return {data: {...data, level: LEVELS[name] ?? "INFO", message: String(message)}, time};
        });
        done?.();
    }

    _write(info, _, done) {
        const least = this.level ?? this.parent?.level;
        const isOff = this.silent || (least !== undefined && this.levels && this.levels[least] < this.levels[info[Symbol.for("level")]]);
        isOff || (info.exception === true && !this.handleExceptions) ? done() : this.log(info, done);
    }

    _final(done) {
        this.#sink.close().then(() => done(), done);
    }
}

module.exports = {WinstonTransport, pinoTransport};
