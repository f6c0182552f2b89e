// Types of the client. Times are milliseconds. Members that are sent to the daemon or come from it have the protocol's names
// (Docs/Protocol.md); those that end in `_ms` are sent unchanged.

declare global {
    // Declares what newer versions of TypeScript declare themselves.
    interface SymbolConstructor {
        readonly asyncDispose: unique symbol;
    }
}

/** A JSON object. Whole numbers that a double cannot hold exactly are bigint, both in params and in results. */
export type JSONObject = {[name: string]: any};

/** The error of a call. */
export class HeadgateError extends Error {
    constructor(code: number, message: string, reason?: string | null, path?: string | null, data?: JSONObject);
    /** JSON-RPC's code, -32000 for the daemon's own refusals, or 0 for an error of the client. */
    readonly code: number;
    /**
     * The machine-readable reason, null for JSON-RPC's own errors: the daemon's (`queue_full`, `storage`, `not_found` …), or the
     * client's `cannot_connect`, `disconnected`, `timed_out`, `closed`, `buffer_full`, `bad_answer`, `misuse`.
     */
    readonly reason: string | null;
    /** The path of the wrong parameter, such as `events[1].event`, or null. */
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

/** The options of a client. Infinity never ends. */
export interface Options {
    /** The path of the daemon's socket; by default `defaultSocket()`. */
    socketPath?: string;
    /** The namespace of the events' ids; by default that of the user. */
    namespace?: string;
    /**
     * The longest wait of a call for the first connection. One attempt is always made; 0 allows no other. A daemon that is
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
    /** The first wait between two attempts to connect, with a random part; each next one is twice as long. Default: 50. */
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

/** A bound on the wait of a call: a timeout, a signal, or both. */
export interface Patience {
    /**
     * The timeout. After it the call fails with `timed_out`, or with the reason why there is no connection. A wait for room
     * fails with `buffer_full`. By default, and if it is null, there is no timeout.
     */
    timeout?: number | null;
    /**
     * A signal that cancels the call. The call then fails with the signal's reason. A call that was not written is not sent;
     * a call that was written may have been done.
     */
    signal?: AbortSignal | null;
}

/** The members of an event besides its name and its data. A member that is null is not sent. */
export interface EventOptions {
    /** The event's id, by which the daemon recognises a repeat (Behaviour Q7); by default a new UUIDv7. */
    id?: string | null;
    /** The ordering key: events of one key keep their order also while several batches are in flight. */
    key?: string | null;
    /** The time of the event, in RFC 3339; by default the time at which the daemon receives it. */
    time?: string | Date | null;
    /** The only dispatchers that get the event; an unknown one is an error. */
    dispatchers?: readonly string[] | null;
    /** The time from its receipt after which the event expires. */
    ttl_ms?: number | null;
}

/** An event: the params of `track`. */
export interface Event extends EventOptions {
    /** The event's name, which is not empty. */
    event: string;
    data?: object | null;
}

/** The receipt of an event that is stored, or that no dispatcher takes. */
export interface Receipt {
    id: string;
    /** The event's sequence number in the daemon; null if it is unrouted. */
    seq: number | bigint | null;
    /**
     * True if the daemon had stored this id before: by this call's first attempt, or by another event with the same id. That
     * event may since have been delivered or purged, or have become a dead letter.
     */
    duplicate: boolean;
    /** True if no dispatcher takes the event. */
    unrouted: boolean;
}

/** The receipt of events that are stored together. */
export interface ManyReceipt {
    ids: string[];
    /** The lowest of the events' sequence numbers; null if all are unrouted. */
    first_seq: number | bigint | null;
    last_seq: number | bigint | null;
    duplicates: number;
    unrouted: number;
}

/** The result of a flush. `ended` and `dispatchers` are there only if the call waited for its end. */
export interface Flush {
    flush: string;
    ended?: "settled" | "timeout" | "cancelled";
    dispatchers?: {[dispatcher: string]: {sent: number; failed: number; left: number; blocked_by: string[]}};
}

/** The result of a flush whose end the call waited for. */
export type EndedFlush = Required<Flush>;

export interface FlushOptions extends Patience {
    /** The dispatchers to be flushed; by default all. */
    dispatchers?: readonly string[];
    /** True to wait until the flush has ended. */
    wait?: boolean;
    /** The time after which the flush ends; 0 is no timeout. Default: 30 000. */
    timeout_ms?: number;
    /** The flush's id, for `flush.cancel`. */
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

/** A batch of events that a worker delivers. */
export interface Batch {
    dispatcher: string;
    /** The batch's id, which stays the same at every attempt. */
    batch: string;
    attempt: number;
    events: DeliveredEvent[];
}

export type Outcome = "delivered" | "retry" | "dead";

/** Outcomes by the events' ids. Events that are not named are delivered. */
export type Outcomes = {[id: string]: Outcome} | Map<string, Outcome>;

/**
 * Delivers a batch. All events of the batch are retried if it throws an error, or returns a value that is neither
 * outcomes nor undefined, such as false. The signal is aborted when the connection is lost, because the batch then goes to
 * another worker, and when the client is closed.
 */
export type Work = (
    batch: Batch,
    signal: AbortSignal,
) => Outcomes | void | null | undefined | Promise<Outcomes | void | null | undefined>;

export interface WorkerOptions extends Patience {
    /** The number of batches that the worker takes at once: no more handlers run at the same time. Default: 1. */
    credit?: number;
    /** The greatest number of events in a batch. */
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
 * A client of the daemon. It connects when it is first called, and again whenever the connection is lost. Events that were not
 * acknowledged are sent again in their order and under their ids: none is lost, none is stored twice (Behaviour Q7).
 *
 * All methods that return a promise fail with `HeadgateError`, with the reason of an aborted signal, or with a `TypeError`
 * for arguments that are no JSON. A client on which no caller waits does not keep the program from ending.
 */
export class Client {
    /** Makes a client. The program's name and version together are the events' `context.client`. */
    constructor(name: string, version?: string, options?: Options);

    readonly socketPath: string;

    /** Tracks an event. The promise is fulfilled when the daemon has stored it (Behaviour P1). */
    track(event: string, data?: object | null, options?: EventOptions & Patience): Promise<Receipt>;

    /**
     * Tracks an event without a promise. Returns false if the event is not taken: there is no room, it is no JSON, or
     * the client is closed. `onDropped` is called with every event that is dropped, now or later. At its end the program
     * waits for such events up to `exitTimeout`. If it ends at once, by `process.exit` or an uncaught error, it starts a
     * process that sends them within that time, if the daemon runs. The number of events that are left is
     * written to standard error.
     */
    trackSoon(event: string, data?: object | null, options?: EventOptions): boolean;

    /**
     * Tracks events each on its own, in their order, many in flight at once. Returns the outcome of each, in the same
     * order; one that is refused does not hinder the others. Waits for room.
     */
    trackEach(events: Iterable<Event> | AsyncIterable<Event>, patience?: Patience): Promise<(Receipt | Error)[]>;

    /** Tracks events atomically: all are stored, or none. They are sent in one line, whose length the daemon limits. */
    trackMany(events: Iterable<Event>, patience?: Patience): Promise<ManyReceipt>;

    /** Makes dispatchers send their pending events, through flushable barriers (Behaviour F1). */
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
     * The promise is fulfilled when the daemon has granted the subscription.
     */
    subscribe(dispatcher: string, work: Work, options?: WorkerOptions): Promise<void>;

    /** Takes no more batches. The promise is fulfilled when the present batches are answered. */
    unsubscribe(dispatcher: string, patience?: Patience): Promise<void>;

    /** True if there is room for one more call. */
    readonly hasRoom: boolean;

    /** The number of unanswered calls; workers are not counted. */
    readonly unanswered: number;

    /** Waits until there is room for one more call. Fails with `buffer_full` when the timeout is over. */
    room(patience?: Patience): Promise<void>;

    /**
     * Waits until all calls are answered: all events of this client are stored then. Other libraries call this `flush`; the
     * client's `flush` makes dispatchers send their pending events.
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

    /** Closes the client as `close` does, for `await using`. */
    [Symbol.asyncDispose](): Promise<void>;
}

/** Returns a UUIDv7 (RFC 9562) that is greater than all earlier ones of this process. */
export function newId(): string;

/**
 * Returns the path of the daemon's socket if the program names none: `$HEADGATE_SOCKET`, else below `$XDG_RUNTIME_DIR` if the daemon's
 * folder is there, else below `/run`.
 */
export function defaultSocket(environment?: {[name: string]: string | undefined}): string;
