// Times given to the client are milliseconds. Whatever goes to the daemon or comes from it has the protocol's names
// (Docs/Protocol.md), so what ends in `_ms` goes to it as it is.

declare global {
    // As newer versions of TypeScript have it.
    interface SymbolConstructor {
        readonly asyncDispose: unique symbol;
    }
}

/** A JSON object. Whole numbers beyond what a double holds are bigint, in what is sent as in what comes. */
export type JSONObject = {[name: string]: any};

/** The error of a call. */
export class HeadgateError extends Error {
    constructor(code: number, message: string, reason?: string | null, path?: string | null, data?: JSONObject);
    /** JSON-RPC's, -32000 for the daemon's own refusals, and 0 for what happened on this side. */
    readonly code: number;
    /**
     * The word to go by, null for JSON-RPC's own errors: the daemon's (`queue_full`, `storage`, `not_found` …), or on this
     * side `cannot_connect`, `disconnected`, `timed_out`, `closed`, `buffer_full`, `bad_answer`, `misuse`.
     */
    readonly reason: string | null;
    /** Which of the params is wrong, such as `events[1].event`. */
    readonly path: string | null;
    /** The daemon's further members of the error. */
    readonly data: JSONObject;
}

/** The version of this package, which is that of the daemon it comes with. */
export const version: string;

/**
 * The state of a client's connection: the daemon has greeted; the connection was lost or could not be made, and the
 * client tries again while calls wait; the client was closed.
 */
export type State = "connected" | "disconnected" | "closed";

/** The options of a client. Infinity is without an end. */
export interface Options {
    /** The daemon's socket; by default in the default places (`defaultSocket`). */
    socketPath?: string;
    /** The namespace of the events' ids; by default that of the user. */
    namespace?: string;
    /**
     * The longest wait of a call for the first connection. One attempt is always made, and 0 makes no other. A daemon that is
     * found stopping counts as a lost connection. Default: 10 000.
     */
    connectTimeout?: number;
    /** The longest wait of calls after a lost connection; 0 does not wait. Default: Infinity. */
    reconnectTimeout?: number;
    /** The longest wait for the answer to `hello`. Default: 10 000. */
    greetingTimeout?: number;
    /**
     * The longest time that the program is kept at its end for events of `trackSoon` that are not acknowledged. Then
     * `onDropped` is called with those that are left, and a warning says how many they are. Default: 5 000.
     */
    exitTimeout?: number;
    /** The greatest number of unanswered calls; one more fails with `buffer_full`. Default: 16 384. */
    maxUnanswered?: number;
    /** The greatest number of unanswered bytes. One call is always let through. Default: 8 MiB. */
    maxUnansweredBytes?: number;
    /** About how long the first wait between two attempts to connect is; each next one is twice as long. Default: 50. */
    backoffBase?: number;
    /** The longest wait between two attempts to connect. Default: 5 000. */
    backoffCap?: number;
    /**
     * Called with each event of `trackSoon` that is not stored, and the reason. Without it the first one becomes a warning.
     * An error that it throws becomes a warning.
     */
    onDropped?: (error: Error, event: Event) => void;
    /** Called when the state of the connection changes; the error says why it is `disconnected`. It may call the client. */
    onState?: (state: State, error: HeadgateError | null) => void;
}

/** The longest wait of a caller. */
export interface Patience {
    /**
     * Then the call fails with `timed_out`, or with why there is no connection. A wait for room fails with `buffer_full`.
     * By default, and if it is null, without an end.
     */
    timeout?: number | null;
    /**
     * When it is aborted the call fails with the signal's reason. What was not written yet is taken back; what was may
     * have been done.
     */
    signal?: AbortSignal | null;
}

/** The members of an event besides its name and its data. A member that is null is not sent. */
export interface EventOptions {
    /** The event's id, by which the daemon recognises a repeat (Behaviour Q7); by default a new UUIDv7. */
    id?: string | null;
    /** Events of one key keep their order also while several batches are in flight. */
    key?: string | null;
    /** When it happened, in RFC 3339; by default when the daemon receives it. */
    time?: string | Date | null;
    /** To which dispatchers alone it goes; an unknown one is an error. */
    dispatchers?: readonly string[] | null;
    /** After how long it is not worth being delivered, from its receipt. */
    ttl_ms?: number | null;
}

/** An event: the params of `track`. */
export interface Event extends EventOptions {
    /** Its name, which is not empty. */
    event: string;
    data?: object | null;
}

/** An event is stored, or there is nothing to be stored. */
export interface Receipt {
    id: string;
    /** Its place among all events of the daemon; null if it is unrouted. */
    seq: number | bigint | null;
    /**
     * True if the daemon had stored this id before: by this call's first attempt, or by another event with the same id. That
     * event may since have been delivered or purged, or have become a dead letter.
     */
    duplicate: boolean;
    /** True if no dispatcher wants it. */
    unrouted: boolean;
}

/** Several events are stored together. */
export interface ManyReceipt {
    ids: string[];
    /** The lowest place among them; null when all are unrouted. */
    first_seq: number | bigint | null;
    last_seq: number | bigint | null;
    duplicates: number;
    unrouted: number;
}

/** A flush; how it ended only if it was waited for. */
export interface Flush {
    flush: string;
    ended?: "settled" | "timeout" | "cancelled";
    dispatchers?: {[dispatcher: string]: {sent: number; failed: number; left: number; blocked_by: string[]}};
}

/** A flush that was waited for. */
export type EndedFlush = Required<Flush>;

export interface FlushOptions extends Patience {
    /** Which dispatchers; by default all. */
    dispatchers?: readonly string[];
    /** True to wait until it has ended. */
    wait?: boolean;
    /** When it ends at the latest; 0 is never, the default 30 000. */
    timeout_ms?: number;
    /** An id to cancel it by. */
    flush?: string;
}

/** An event as it is delivered. */
export interface DeliveredEvent {
    id: string;
    seq: number | bigint;
    event: string;
    time: string;
    received_at: string;
    key?: string;
    attempt: number;
    context: JSONObject;
    data: JSONObject;
}

/** Events that a worker is to deliver. */
export interface Batch {
    dispatcher: string;
    /** The same for the same events at every attempt. */
    batch: string;
    attempt: number;
    events: DeliveredEvent[];
}

export type Outcome = "delivered" | "retry" | "dead";

/** Outcomes by the events' ids. Events that are not named are delivered. */
export type Outcomes = {[id: string]: Outcome} | Map<string, Outcome>;

/**
 * Delivers a batch. An error that it throws has all events of the batch retried, and so has a result that is neither
 * outcomes nor nothing, such as false. The signal is aborted when the connection is lost,
 * for then the batch goes to another worker, and when the client is closed.
 */
export type Work = (
    batch: Batch,
    signal: AbortSignal,
) => Outcomes | void | null | undefined | Promise<Outcomes | void | null | undefined>;

export interface WorkerOptions extends Patience {
    /** The number of batches that it takes at once: no more of its handlers run at the same time. Default: 1. */
    credit?: number;
    /** The most events in a batch. */
    limit?: number;
    /**
     * Called with the reason when the daemon refuses the subscription on a later connection, once until it is granted again.
     * The client asks again after each `backoffCap`. A warning says the same.
     */
    onRefused?: (error: HeadgateError) => void;
    /**
     * Called with the reason when the subscription ends other than by `unsubscribe` or `close`: the worker gets nothing more.
     * That is so when `reconnectTimeout` is over, or when the client is destroyed.
     */
    onEnd?: (error: HeadgateError) => void;
}

/**
 * A client of the daemon. It connects when it is first called, and again whenever the connection is lost. What was not
 * acknowledged is written again, in its order and under its ids: nothing is lost, nothing doubled (Behaviour Q7).
 *
 * All methods that give a promise fail with `HeadgateError`, with the reason of an aborted signal, or with a `TypeError`
 * for arguments that are no JSON. A client on which nothing is waited for does not keep the program from ending.
 */
export class Client {
    /** name, version: the program's; together they are the events' `context.client`. */
    constructor(name: string, version?: string, options?: Options);

    readonly socketPath: string;

    /** Tracks an event; done when the daemon has stored it (Behaviour P1). */
    track(event: string, data?: object | null, options?: EventOptions & Patience): Promise<Receipt>;

    /**
     * Tracks an event without a promise. False if the event is not taken, since there is no room for it, it is no JSON, or
     * the client is closed. `onDropped` is called with every event that is dropped, now or later. At its end the program is
     * kept for such events for `exitTimeout`. Where it ends at once, by `process.exit` or an uncaught error, a
     * process that is started then sends them within that time, if the daemon is there. The number of events that are left is written to standard error.
     */
    trackSoon(event: string, data?: object | null, options?: EventOptions): boolean;

    /**
     * Tracks events each on its own, in their order, many in flight at once. Returns the outcome of each, in the same
     * order; one that is refused does not hinder the others. Waits for room.
     */
    trackEach(events: Iterable<Event> | AsyncIterable<Event>, patience?: Patience): Promise<(Receipt | Error)[]>;

    /** Tracks events all together: all are stored, or none. They go in one line, whose length the daemon bounds. */
    trackMany(events: Iterable<Event>, patience?: Patience): Promise<ManyReceipt>;

    /** Has dispatchers send what they have queued, through flushable barriers (Behaviour F1). */
    flush(options: FlushOptions & {wait: true}): Promise<EndedFlush>;
    flush(options?: FlushOptions): Promise<Flush>;

    /** Returns the status of the daemon, its store, dispatchers and barriers. */
    status(patience?: Patience): Promise<JSONObject>;

    /**
     * Calls any method. When the connection breaks, methods that change nothing are called again on the next one; others
     * fail with `disconnected` if they had been written: they may or may not have been done.
     */
    call(method: string, params?: object, patience?: Patience): Promise<JSONObject>;

    /**
     * Delivers a worker dispatcher's batches (Behaviour K3) until `unsubscribe` or `close`, also on later connections.
     * Done when the daemon has granted it.
     */
    subscribe(dispatcher: string, work: Work, options?: WorkerOptions): Promise<void>;

    /** Takes no more batches; done when the present ones are answered. */
    unsubscribe(dispatcher: string, patience?: Patience): Promise<void>;

    /** True if there is room for one more call. */
    readonly hasRoom: boolean;

    /** The number of unanswered calls; workers are not counted. */
    readonly unanswered: number;

    /** Done when there is room. Fails with `buffer_full` when the timeout is over. */
    room(patience?: Patience): Promise<void>;

    /**
     * Done when all calls are answered: all events of this client are stored then. Elsewhere this is called `flush`; the
     * client's `flush` has the daemon send what it has queued.
     */
    drain(patience?: Patience): Promise<void>;

    /**
     * Takes no more calls, waits until all are answered and the workers have answered their batches, then closes the
     * connection. Returns the number of calls that were not answered in time (5 000 unless given): their promises fail with `closed`.
     * Their events may be stored or not. A handler must not wait for it, since it waits for the handler.
     */
    close(patience?: Patience): Promise<number>;

    /** Closes the connection at once. Running calls, and later ones, fail with `closed`. */
    destroy(): void;

    /** `close`, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
}

/** A UUIDv7 (RFC 9562), greater than all that this process has made before. */
export function newId(): string;

/**
 * The path of the daemon's socket if the program names none: `$HEADGATE_SOCKET`, else below `$XDG_RUNTIME_DIR` if the daemon's
 * folder is there, else below `/run`.
 */
export function defaultSocket(environment?: {[name: string]: string | undefined}): string;
