#!/usr/bin/env node
// The Node client as a program with the verbs of Docs/Clients.md.
import {createInterface} from "node:readline";
import {parseArgs} from "node:util";

import {Client, HeadgateError} from "../../../Packages/Client/Node/index.mjs";

// Integers keep all digits, since the output must equal the input.
const {decode, encode} = await import("../../../Packages/Client/Node/lib/json.js").then((module) => module.default);

const texts = ["socket", "namespace", "tell", "signals"];
const numbers = [
    "max-unanswered", "greeting-timeout-ms", "connect-timeout-ms", "reconnect-timeout-ms", "deadline-ms",
];
const options = Object.fromEntries([...texts, ...numbers].map((name) => [name, {type: "string"}]));
const {values, positionals} = parseArgs({options, allowPositionals: true});
const given = (name) => (values[name] === undefined ? undefined : Number(values[name]));
const patience = {timeout: given("deadline-ms")};
const [verb, ...rest] = positionals;

// The errors of dropped events of the verb `try`, by event number.
const dropped = new Map();

const client = new Client("certified", "1.0", {
    exitTimeout: rest[0] === "late" ? 60_000 : undefined, // each event starts a process, which takes time on a busy machine
    socketPath: values.socket,
    namespace: values.namespace,
    maxUnanswered: given("max-unanswered"),
    greetingTimeout: given("greeting-timeout-ms"),
    connectTimeout: given("connect-timeout-ms"),
    reconnectTimeout: given("reconnect-timeout-ms"),
    backoffBase: 10,
    backoffCap: 200,
    onDropped: (error, {data}) => dropped.set(data.n, error),
    onState: values.tell && ((state) => put({state})),
});
process.removeAllListeners("warning");
process.on("warning", ({message}) => {
    if (values.tell) put({warning: message});
    else if (verb === "end") console.error(message);
});
if (values.signals) process.on("SIGUSR1", () => {});

function put(value) {
    process.stdout.write(encode(value) + "\n");
}

function refusal(error) {
    if (!(error instanceof HeadgateError)) throw error;
    const {code, reason, message, path} = error;
    return {error: {code, reason, message, path}};
}

const CALLS = {
    track: ({event, data, ...more}) => client.track(event, data, {...more, ...patience}),
    track_many: ({events}) => client.trackMany(events, patience),
    flush: (values) => client.flush({...values, ...patience}),
    status: () => client.status(patience),
};

async function calls() {
    for await (const line of createInterface({input: process.stdin})) {
        const {method, arguments: values = {}} = decode(line);
        const call = CALLS[method] ?? ((values) => client.call(method, values, patience));
        put(await call(values).then((result) => ({result}), refusal));
    }
}

function* events(count, name, size = 0) {
    const more = size > 0 ? {text: "x".repeat(size)} : {};
    for (let n = 0; n < count; n++) yield {event: name, data: {n, ...more}};
}

/** Tracks events without waiting between them, and writes the outcomes in order. */
async function track(count, name) {
    const outcomes = await client.trackEach(events(Number(count), name));
    outcomes.forEach((outcome, n) => put({n, ...(outcome instanceof Error ? refusal(outcome) : {result: outcome})}));
}

/** Tracks events with calls that never wait. It writes refusals at once, and the other outcomes later. */
async function tryTo(count, name, size) {
    const taken = [];
    for (const {event, data} of events(Number(count), name, Number(size ?? 0))) {
        if (client.trackSoon(event, data)) {
            taken.push(data.n);
            continue;
        }
        await undefined; // callbacks run after the present step
        await undefined;
        put({n: data.n, ...refusal(dropped.get(data.n))});
    }
    put("tried");
    await client.drain();
    for (const n of taken) put({n, ...(dropped.has(n) ? refusal(dropped.get(n)) : {result: null})});
}

/** Tracks an event that uses the available room, and another that waits for room until the deadline. */
async function room(name) {
    const outcome = (promise) => promise.then((result) => ({result}), refusal);
    const first = outcome(client.track(name));
    put(await outcome(client.room(patience).then(() => client.track(name, undefined, patience))));
    put(await first);
}

/** Tracks events without waiting, then ends the program in the given way. */
async function end(how, count, name) {
    const begin = () => {
        for (const {event, data} of events(Number(count), name)) client.trackSoon(event, data);
    };
    if (how === "late") {
        await client.track(name);
        return process.on("exit", begin);
    }
    begin();
    if (how === "exit") process.exit(0);
    if (how === "throw") setImmediate(() => { throw new Error("as was asked"); });
    if (how === "close") await client.close();
    if (dropped.size > 0) console.error(`${dropped.size} events`);
}

const waiting = [];
const FAILURES = {
    fail: () => new Error("as was asked"),
    leave: () => new Error("as was asked"),
    long: () => new Error("x".repeat(100_000)),
    cancel: () => AbortSignal.abort().reason,
    mute: () => Object.create(null),
};

/** Handles each event as its name requests. */
async function work({events, attempt}) {
    put({batch: events.map(({id}) => id), attempt});
    const names = new Map(events.map(({id, event}) => [id, event]));
    const has = (name) => [...names.values()].includes(name);
    if (has("wait")) await new Promise((resolve) => waiting.push(resolve));
    for (const [word, failure] of Object.entries(FAILURES)) if (has(word)) throw failure();
    if (has("wrong")) return false;
    if (has("retry_once") && attempt > 1) return null;
    const outcomes = {dead: "dead", retry: "retry", retry_once: "retry"};
    return new Map([...names].filter(([, name]) => name in outcomes).map(([id, name]) => [id, outcomes[name]]));
}

/** Works for `worker:ID` until the input ends. A line of the input lets waiting handlers continue. */
async function handle(...names) {
    for (const name of names) {
        const [kind, id] = name.split(":");
        if (kind !== "worker") throw new Error(`this client cannot serve ${name}`);
        await client.subscribe(id, work);
    }
    put("ready");
    for await (const line of createInterface({input: process.stdin})) waiting.splice(0).forEach((goOn) => goOn(line));
}

await {calls, track, try: tryTo, room, end, handle}[verb](...rest);
if (verb !== "end") await client.close();
