#!/usr/bin/env node
// The Node client as a program, by the verbs of Docs/Clients.md.
import {createInterface} from "node:readline";
import {parseArgs} from "node:util";

import {Client, HeadgateError} from "../../../Packages/Client/Node/index.mjs";

// Whole numbers keep their digits: what is written here must be what was read.
const {decode, encode} = await import("../../../Packages/Client/Node/lib/json.js").then((module) => module.default);

const texts = ["socket", "namespace"];
const numbers = ["max-unanswered", "greeting-timeout-ms", "connect-timeout-ms", "reconnect-timeout-ms"];
const options = Object.fromEntries([...texts, ...numbers].map((name) => [name, {type: "string"}]));
const {values, positionals} = parseArgs({options, allowPositionals: true});
const given = (name) => (values[name] === undefined ? undefined : Number(values[name]));

const client = new Client("certified", "1.0", {
    socketPath: values.socket,
    namespace: values.namespace,
    maxUnanswered: given("max-unanswered"),
    greetingTimeout: given("greeting-timeout-ms"),
    connectTimeout: given("connect-timeout-ms"),
    reconnectTimeout: given("reconnect-timeout-ms"),
    backoffBase: 10,
    backoffCap: 200,
});

function put(value) {
    process.stdout.write(encode(value) + "\n");
}

function refusal(error) {
    if (!(error instanceof HeadgateError)) throw error;
    const {code, reason, message, path} = error;
    return {error: {code, reason, message, path}};
}

const CALLS = {
    track: ({event, data, ...more}) => client.track(event, data, more),
    track_many: ({events}) => client.trackMany(events),
    flush: (values) => client.flush(values),
    status: () => client.status(),
};

async function calls() {
    for await (const line of createInterface({input: process.stdin})) {
        const {method, arguments: values = {}} = decode(line);
        const call = CALLS[method] ?? ((values) => client.call(method, values));
        put(await call(values).then((result) => ({result}), refusal));
    }
}

function* events(count, name) {
    for (let n = 0; n < count; n++) yield {event: name, data: {n}};
}

/** Tracks as many events without waiting in between; tells what came of each, in order. */
async function track(count, name) {
    const outcomes = await client.trackEach(events(Number(count), name));
    outcomes.forEach((outcome, n) => put({n, ...(outcome instanceof Error ? refusal(outcome) : {result: outcome})}));
}

/** Events are dealt with as their names say. */
function work({events, attempt}) {
    put({batch: events.map(({id}) => id), attempt});
    const names = new Map(events.map(({id, event}) => [id, event]));
    const has = (name) => [...names.values()].includes(name);
    if (has("fail")) throw new Error("as the event asked");
    if (has("retry_once") && attempt > 1) return null;
    const outcomes = {dead: "dead", retry: "retry", retry_once: "retry"};
    return new Map([...names].filter(([, name]) => name in outcomes).map(([id, name]) => [id, outcomes[name]]));
}

/** Works for what is named, until the input ends: `worker:ID`. */
async function handle(...names) {
    for (const name of names) {
        const [kind, id] = name.split(":");
        if (kind !== "worker") throw new Error(`this client cannot serve ${name}`);
        await client.subscribe(id, work);
    }
    put("ready");
    await new Promise((resolve) => process.stdin.on("end", resolve).resume());
}

const [verb, ...rest] = positionals;
await {calls, track, handle}[verb](...rest);
await client.close();
