// Tests of the Node client in its own process. The drivers of Tests/Clients see a program from outside only.
import assert from "node:assert/strict";
import {execFile} from "node:child_process";
import {createRequire} from "node:module";
import {test} from "node:test";
import {fileURLToPath} from "node:url";
import {promisify} from "node:util";

import headgate, {Client, HeadgateError, newId} from "../index.mjs";
import {Daemon} from "./daemon.mjs";

const require = createRequire(import.meta.url);
const {decode, depth, encode} = require("../lib/json.js");
const {defaultSocket} = require("../lib/place.js");

async function pair(t, options) {
    const daemon = await Daemon.start(t);
    const client = new Client("test", "1.0", {socketPath: daemon.path, backoffBase: 10, backoffCap: 100, ...options});
    t.after(() => client.destroy());
    return [daemon, client];
}

const reason = (word) => (error) => error instanceof HeadgateError && error.code === 0 && error.reason === word;

test("require and import give the same", () => {
    assert.equal(require("../lib/index.js").Client, Client);
    assert.equal(headgate.Client, Client);
});

test("a call without room fails at once, and is reported", async (t) => {
    const dropped = [];
    const [daemon, client] = await pair(t, {maxUnanswered: 2, onDropped: (error, event) => dropped.push([error, event])});
    const first = client.track("x");
    assert.equal(client.trackSoon("y"), true);
    await assert.rejects(client.track("z"), reason("buffer_full"));
    assert.equal(client.trackSoon("lost", {n: 1}), false);
    const connection = await daemon.greet();
    connection.acknowledge(await connection.request("track"));
    await first;
    await client.room();
    assert.deepEqual(dropped.map(([error, event]) => [error.reason, event.event]), [["buffer_full", "lost"]]);
    const third = client.track("z");
    connection.acknowledge(await connection.request("track"));
    connection.acknowledge(await connection.request("track"));
    await third;
    await client.drain();
});

test("trackEach waits for room", async (t) => {
    const [daemon, client] = await pair(t, {maxUnanswered: 2});
    const end = client.trackEach(["a", "b", "c"].map((event) => ({event})));
    const connection = await daemon.greet();
    for (const name of ["a", "b", "c"]) {
        const request = await connection.request("track");
        assert.equal(request.params.event, name);
        connection.acknowledge(request);
    }
    assert.equal((await end).length, 3);
});

test("a signal cancels a call that is not written, and ends the wait for one that is", async (t) => {
    const [daemon, client] = await pair(t);
    const controller = new AbortController();
    const taken = client.track("taken back", undefined, {signal: controller.signal});
    const kept = client.track("kept");
    controller.abort();
    await assert.rejects(taken, {name: "AbortError"});
    const connection = await daemon.greet();
    const request = await connection.request("track");
    assert.equal(request.params.event, "kept");
    const second = new AbortController();
    const written = client.call("ping", {}, {signal: second.signal});
    const ping = await connection.request("ping");
    second.abort();
    await assert.rejects(written, {name: "AbortError"});
    connection.answer(ping, {}); // its caller no longer waits: no error
    connection.acknowledge(request);
    await kept;
    await assert.rejects(client.track("late", undefined, {signal: controller.signal}), {name: "AbortError"});
});

test("a call ends at its timeout", async (t) => {
    const [daemon, client] = await pair(t);
    const ping = client.call("ping");
    const connection = await daemon.greet();
    connection.answer(await connection.request("ping"), {});
    await ping;
    await assert.rejects(client.call("ping", {}, {timeout: 1}), reason("timed_out"));
    await assert.rejects(
        new Client("test", "", {socketPath: "/nowhere/d.sock", connectTimeout: 0}).track("x"), reason("cannot_connect"));
});

test("arguments may change after the call", async (t) => {
    const [daemon, client] = await pair(t);
    const data = {n: 1};
    const tracked = client.track("x", data);
    data.n = 2;
    const connection = await daemon.greet();
    const request = await connection.request("track");
    assert.deepEqual(request.params.data, {n: 1});
    connection.acknowledge(request);
    await tracked;
});

test("close waits for the answers", async (t) => {
    const [daemon, client] = await pair(t);
    const tracked = client.track("x");
    const closed = client.close();
    await assert.rejects(client.track("too late"), reason("closed"));
    const connection = await daemon.greet();
    connection.acknowledge(await connection.request("track"));
    assert.equal((await tracked).seq, 1);
    assert.equal(await closed, 0);
    assert.equal(await connection.read(), undefined);
});

test("close returns the number of unanswered calls", async (t) => {
    const [daemon, client] = await pair(t);
    const calls = [client.track("x"), client.track("y")];
    const ended = Promise.allSettled(calls);
    const connection = await daemon.greet();
    connection.acknowledge(await connection.request("track"));
    await connection.request("track");
    await calls[0];
    assert.equal(await client.close({timeout: 20}), 1);
    const [first, second] = await ended;
    assert.equal(first.status, "fulfilled");
    assert.equal(second.reason.reason, "closed");
});

test("a time that is not in an object is an error of the caller", async (t) => {
    const [daemon, client] = await pair(t);
    for (const method of ["close", "drain", "room", "status"]) await assert.rejects(client[method](1_000), TypeError);
    await assert.rejects(client.unsubscribe("jobs", 1_000), TypeError);
    const tracked = client.track("x");
    const connection = await daemon.greet();
    connection.acknowledge(await connection.request("track"));
    await tracked;
    assert.equal(await client.close(), 0);
});

test("close lets a worker finish its batches, and takes no more", async (t) => {
    const [daemon, client] = await pair(t);
    let finish;
    const granted = client.subscribe("jobs", () => new Promise((resolve) => (finish = resolve)));
    const connection = await daemon.greet();
    connection.answer(await connection.request("dispatcher.subscribe"), {});
    await granted;
    await assert.rejects(client.subscribe("jobs", () => {}), reason("misuse"));
    connection.tell({id: "d", method: "dispatch", params: {dispatcher: "jobs", batch: "b", attempt: 1, events: []}});
    assert.equal(await connection.isSilent(), true);
    const closed = client.close();
    const leave = await connection.request("dispatcher.unsubscribe");
    finish({"1": "retry"});
    assert.deepEqual((await connection.read()).result, {outcomes: {"1": "retry"}});
    connection.answer(leave, {});
    assert.equal(await closed, 0);
});

/** Returns a client with a worker, and the connection on which the worker was granted. */
async function working(t, work = () => {}) {
    const [daemon, client] = await pair(t);
    const granted = client.subscribe("jobs", work);
    const connection = await daemon.greet();
    connection.answer(await connection.request("dispatcher.subscribe"), {});
    await granted;
    return [daemon, client, connection];
}

for (const isRefused of [false, true]) {
    test(`a worker that ends while it begins again ends at the daemon, refused: ${isRefused}`, async (t) => {
        const [daemon, client, first] = await working(t);
        first.socket.destroy();
        const second = await daemon.greet();
        const again = await second.request("dispatcher.subscribe");
        const ended = client.unsubscribe("jobs");
        for (const request of [again, await second.request("dispatcher.unsubscribe")]) {
            if (isRefused) second.tell({id: request.id, error: {code: -32000, message: "no", data: {reason: "not_found"}}});
            else second.answer(request, {});
        }
        await ended;
        assert.equal(await second.isSilent(), true);
    });
}

test("a worker that is cancelled is ended before another begins", async (t) => {
    const [daemon, client] = await pair(t, {maxUnanswered: 1});
    const control = new AbortController();
    const late = client.subscribe("jobs", () => {}, {signal: control.signal});
    const connection = await daemon.greet();
    const first = await connection.request("dispatcher.subscribe");
    control.abort();
    await assert.rejects(late, {name: "AbortError"});
    const given = await connection.request("dispatcher.unsubscribe");
    connection.answer(first, {});
    connection.answer(given, {});
    await client.drain();
    const granted = client.subscribe("jobs", () => {});
    connection.answer(await connection.request("dispatcher.subscribe"), {});
    await granted;
    assert.equal(await connection.isSilent(), true);
});

test("the end of a worker is not sent on another connection", async (t) => {
    const [daemon, client, first] = await working(t);
    const ping = client.call("ping");
    await first.request("ping");
    first.tell({method: "closing", params: {reason: "shutting_down"}});
    assert.equal(await first.isSilent(), true); // nothing is written any more
    const ended = client.unsubscribe("jobs");
    first.socket.destroy();
    const second = await daemon.greet();
    second.answer(await second.request("ping"), {});
    await ping;
    await ended;
    assert.equal(await second.isSilent(), true);
});

test("a worker that has not begun when it is ended gets an error", async (t) => {
    const [daemon, client] = await pair(t);
    const late = client.subscribe("jobs", () => {});
    const connection = await daemon.greet();
    const first = await connection.request("dispatcher.subscribe");
    const ended = client.unsubscribe("jobs");
    await assert.rejects(late, reason("closed"));
    await assert.rejects(client.unsubscribe("jobs"), {reason: "not_found"});
    const given = await connection.request("dispatcher.unsubscribe");
    connection.answer(first, {});
    connection.answer(given, {});
    await ended;
    assert.equal(await connection.isSilent(), true);
});

test("an unknown outcome is an error", async (t) => {
    const [daemon, client] = await pair(t);
    const granted = client.subscribe("jobs", async () => ({"1": "eaten"}));
    const connection = await daemon.greet();
    connection.answer(await connection.request("dispatcher.subscribe"), {});
    await granted;
    connection.tell({id: "d", method: "dispatch", params: {dispatcher: "jobs", batch: "b", attempt: 1, events: []}});
    assert.equal((await connection.read()).error.code, -32603);
});

test("a worker's signal is aborted when its connection is lost, and its answer is dropped", async (t) => {
    const [daemon, client] = await pair(t);
    let finish, signal;
    const granted = client.subscribe("jobs", (_, given) => new Promise((resolve) => ([finish, signal] = [resolve, given])));
    const first = await daemon.greet();
    first.answer(await first.request("dispatcher.subscribe"), {});
    await granted;
    first.tell({id: "d", method: "dispatch", params: {dispatcher: "jobs", batch: "b", attempt: 1, events: []}});
    assert.equal(await first.isSilent(), true);
    assert.equal(signal.aborted, false);
    first.socket.destroy();
    const second = await daemon.greet();
    second.answer(await second.request("dispatcher.subscribe"), {});
    assert.equal(signal.aborted, true);
    finish();
    assert.equal(await second.isSilent(), true);
});

test("arguments that are no JSON are an error of the caller", async (t) => {
    const [, client] = await pair(t);
    const circle = {};
    circle.circle = circle;
    await assert.rejects(client.track("x", circle), TypeError);
    assert.equal(client.unanswered, 0);
});

test("an idle client does not keep the program", async (t) => {
    const daemon = await Daemon.start(t);
    const index = fileURLToPath(new URL("../lib/index.js", import.meta.url));
    const program = `new (require(${JSON.stringify(index)}).Client)("a", "", {socketPath: process.argv[1]})
        .track("x").then(({seq}) => console.log(seq))`;
    const ended = promisify(execFile)(process.execPath, ["-e", program, daemon.path]);
    const connection = await daemon.greet();
    connection.acknowledge(await connection.request("track"));
    assert.equal((await ended).stdout, "1\n");
});

test("whole numbers keep their digits", () => {
    const text = '{"a":9007199254740993,"b":[-90071992547409930,1,1.5,1e20],"c":"9007199254740993\\""}';
    const value = decode(text);
    assert.equal(value.a, 9007199254740993n);
    assert.equal(value.b[0], -90071992547409930n);
    assert.equal(value.b[1], 1);
    assert.equal(value.c, '9007199254740993"');
    assert.equal(encode(value), '{"a":9007199254740993,"b":[-90071992547409930,1,1.5,100000000000000000000],"c":"9007199254740993\\""}');
    assert.throws(() => decode('{"a":9007199254740993'), SyntaxError);
});

test("the nesting depth counts arrays and objects", () => {
    for (const [text, wanted] of [["1", 0], ["{}", 1], ['[{"a":[]},{}]', 3], ['["[[\\"[["]', 1]]) {
        assert.equal(depth(text), wanted, text);
    }
});

test("ids are UUIDs of version 7, and grow", () => {
    const ids = Array.from({length: 10_000}, newId);
    assert.deepEqual(ids, [...new Set(ids)].sort());
    const form = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    assert.ok(ids.every((id) => form.test(id)));
    assert.ok(Math.abs(parseInt(ids[0].replace("-", "").slice(0, 12), 16) - Date.now()) < 60_000);
});

test("the socket is where Docs/Decisions/0010 says", () => {
    const [machine, own] = ["/run/headgate", "/b/headgate"];
    for (const [variables, folders, wanted] of [
        [{HEADGATE_SOCKET: "/a", XDG_RUNTIME_DIR: "/b"}, [own], "/a"],
        [{HEADGATE_SOCKET: "", XDG_RUNTIME_DIR: "/b"}, [], `${own}/headgate.sock`],
        [{XDG_RUNTIME_DIR: "/b"}, [machine], `${machine}/headgate.sock`],
        [{XDG_RUNTIME_DIR: "/b"}, [machine, own], `${own}/headgate.sock`],
        [{XDG_RUNTIME_DIR: "b"}, [], `${machine}/headgate.sock`],
        [{}, [], `${machine}/headgate.sock`],
    ]) {
        assert.equal(defaultSocket(variables, (path) => folders.includes(path)), wanted);
    }
});
