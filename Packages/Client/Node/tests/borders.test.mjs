// Tests of the client's edge cases: an absent daemon, the end of the program, failing callbacks, unusual values.
import assert from "node:assert/strict";
import {execFile} from "node:child_process";
import {once} from "node:events";
import {mkdtemp, rm, writeFile} from "node:fs/promises";
import net from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {test} from "node:test";
import {setTimeout as sleep} from "node:timers/promises";
import {fileURLToPath} from "node:url";
import {promisify} from "node:util";

import {Client, HeadgateError} from "../index.mjs";
import {Daemon} from "./daemon.mjs";

const INDEX = fileURLToPath(new URL("../lib/index.js", import.meta.url));
const reason = (word) => (error) => error instanceof HeadgateError && error.code === 0 && error.reason === word;

/** Makes a folder without a daemon, which is removed after the test. */
async function folder(t) {
    const path = await mkdtemp(join(tmpdir(), "headgate-"));
    t.after(() => rm(path, {recursive: true}));
    return path;
}

async function pair(t, options) {
    const daemon = await Daemon.start(t);
    const client = new Client("test", "1.0", {socketPath: daemon.path, backoffBase: 10, backoffCap: 50, ...options});
    t.after(() => client.destroy());
    return [daemon, client];
}

/** Returns a client with a worker, and the connection on which the worker was granted. */
async function working(t, work, options) {
    const [daemon, client] = await pair(t);
    const granted = client.subscribe("jobs", work, options);
    const connection = await daemon.greet();
    connection.answer(await connection.request("dispatcher.subscribe"), {});
    await granted;
    return [daemon, client, connection];
}

function dispatch(connection, events = []) {
    connection.tell({id: "d", method: "dispatch", params: {dispatcher: "jobs", batch: "b", attempt: 1, events}});
}

/** Returns an array that collects the client's warnings from now on. */
function warnings(t) {
    const heard = [];
    const hear = (warning) => warning.name === "HeadgateWarning" && heard.push(warning);
    process.on("warning", hear);
    t.after(() => process.off("warning", hear));
    return heard;
}

/** Runs a program in another process, in which `client` is a client of the daemon at this path. Returns its output and exit code. */
function runProgram(path, text, exitTimeout) {
    const program = `const {Client} = require(${JSON.stringify(INDEX)});
        const client = new Client("a", "", {socketPath: ${JSON.stringify(path)}, exitTimeout: ${exitTimeout},
            onDropped: (error, {event}) => console.log("dropped", event, error.reason)});
        ${text}`;
    return promisify(execFile)(process.execPath, ["-e", program], {timeout: 60_000});
}

test("a permanent fault is an error at once, with one warning", async (t) => {
    const path = await folder(t);
    await writeFile(join(path, "file"), "");
    for (const socketPath of [join(path, "long".repeat(40)), join(path, "file", "d.sock"), join(path, "a\0b")]) {
        const states = [];
        const client = new Client("test", "", {socketPath, connectTimeout: Infinity, onState: (...told) => states.push(told)});
        await assert.rejects(client.track("x"), reason("cannot_connect"));
        await assert.rejects(client.track("y"), reason("cannot_connect"));
        client.destroy();
        await new Promise(setImmediate);
        assert.deepEqual(states.map(([state, error]) => [state, error?.reason]), [
            ["disconnected", "cannot_connect"], ["closed", undefined],
        ]);
    }
});

test("a missing daemon causes one warning, and states are reported", async (t) => {
    const heard = warnings(t);
    const states = [];
    const [daemon, client] = await pair(t, {onState: (state) => states.push(state)});
    const first = client.track("x");
    const connection = await daemon.greet();
    connection.acknowledge(await connection.request("track"));
    await first;
    await daemon.close();
    connection.socket.destroy();
    const waiting = client.track("y");
    while (heard.length === 0) await new Promise(setImmediate);
    await assert.rejects(client.track("z", undefined, {timeout: 1}), reason("cannot_connect"));
    await daemon.listen();
    const second = await daemon.greet();
    second.acknowledge(await second.request("track"));
    await waiting;
    assert.deepEqual(states, ["connected", "disconnected", "connected"]);
    assert.deepEqual(heard.map(({code}) => code), ["HEADGATE_UNREACHABLE"]);
});

test("the wait for the first connection is limited", async (t) => {
    const socketPath = join(await folder(t), "d.sock");
    const client = new Client("test", "", {socketPath, connectTimeout: 50, backoffBase: 10});
    await assert.rejects(client.track("x"), reason("cannot_connect"));
});

test("the error of a wait for room says why there is no connection", async (t) => {
    const socketPath = join(await folder(t), "d.sock");
    let lost;
    const disconnected = new Promise((resolve) => (lost = resolve));
    const client = new Client("test", "", {socketPath, maxUnanswered: 1, onState: lost});
    t.after(() => client.destroy());
    client.track("x").catch(() => {});
    await disconnected;
    await assert.rejects(client.room({timeout: 1}), (error) => reason("buffer_full")(error) && /cannot connect/.test(error.message));
    await assert.rejects(client.drain({timeout: 1}), reason("timed_out"));
});

test("times that timers cannot represent are no limit, and neither is null", async (t) => {
    const [daemon, client] = await pair(t, {greetingTimeout: Infinity, connectTimeout: null, backoffCap: 2 ** 40});
    const calls = [null, Infinity, 2 ** 40, undefined].map((timeout) => client.call("ping", {}, {timeout, signal: null}));
    const connection = await daemon.accept();
    const hello = await connection.request("hello");
    await new Promise(setImmediate);
    connection.answer(hello, {});
    for (const call of calls) {
        connection.answer(await connection.request("ping"), {});
        await call;
    }
    await assert.rejects(client.track("x", {}, {timeout: NaN}), TypeError);
    await assert.rejects(client.track("x", {}, {timeout: "1"}), TypeError);
    await assert.rejects(client.track("x", {}, {signal: {}}), TypeError);
    assert.equal(client.unanswered, 0, "what failed was not begun");
    for (const options of [{connectTimeout: "1 s"}, {backoffBase: NaN}, {maxUnanswered: 0}, {onDropped: 1}, {onState: "x"}]) {
        assert.throws(() => new Client("test", "", options), TypeError);
    }
});

test("many calls with one signal cause no warning", async (t) => {
    const heard = [];
    const hear = (warning) => heard.push(warning.name);
    process.on("warning", hear);
    t.after(() => process.off("warning", hear));
    const [daemon, client] = await pair(t);
    const {signal} = new AbortController();
    const end = client.trackEach(Array.from({length: 30}, () => ({event: "x"})), {signal});
    const connection = await daemon.greet();
    for (let n = 0; n < 30; n++) connection.acknowledge(await connection.request("track"));
    await end;
    await new Promise(setImmediate);
    assert.deepEqual(heard, []);
});

test("a callback that throws does not end the client", async (t) => {
    const heard = warnings(t);
    const fail = () => { throw Object.create(null); };
    const reject = async () => { throw new Error("later"); };
    const [daemon, client] = await pair(t, {maxUnanswered: 1, onDropped: fail, onState: reject});
    const first = client.track("x");
    assert.equal(client.trackSoon("lost"), false);
    const connection = await daemon.greet();
    connection.acknowledge(await connection.request("track"));
    await first;
    await new Promise(setImmediate);
    assert.deepEqual(heard.map(({code}) => code), ["HEADGATE_CALLBACK_FAILED", "HEADGATE_CALLBACK_FAILED"]);
});

test("a client that is destroyed in a callback does not come back", async (t) => {
    let destroyed;
    const ended = new Promise((resolve) => (destroyed = resolve));
    const [daemon, client] = await pair(t, {reconnectTimeout: 0, onState: (state) => state === "disconnected" && client.destroy()});
    const granted = client.subscribe("jobs", () => {}, {onEnd: (error) => { client.destroy(); destroyed(error); throw error; }});
    const connection = await daemon.greet();
    connection.answer(await connection.request("dispatcher.subscribe"), {});
    await granted;
    let returned = false;
    daemon.server.on("connection", () => (returned = true));
    connection.tell({id: null, error: {code: -32700, message: "no"}});
    await ended;
    await assert.rejects(client.track("x"), reason("closed"));
    assert.equal(returned, false);
});

test("an unusual value in an event is an error of its caller", async (t) => {
    const [daemon, client] = await pair(t);
    await assert.rejects(client.track("x", {}, {time: new Date(NaN)}), TypeError);
    await assert.rejects(client.track("x", {toJSON() { throw new TypeError("no"); }}), TypeError);
    for (const data of [() => {}, Symbol("x"), new Map([["a", 1]]), new Set()]) {
        await assert.rejects(client.track("x", data), TypeError);
    }
    const tracked = client.track("x", null, {key: null, time: null, dispatchers: null, ttl_ms: null, id: "1"});
    const connection = await daemon.greet();
    const request = await connection.request("track");
    assert.deepEqual(request.params, {event: "x", id: "1"});
    connection.acknowledge(request);
    await tracked;
});

for (const [name, result] of [
    ["false", false], ["true", true], ["a number", 0], ["a text", "dead"], ["a list", []], ["a set", new Set()],
    ["an outcome that is not there", {"1": undefined}],
]) {
    test(`a worker that gives ${name} has its batch retried`, async (t) => {
        const [, , connection] = await working(t, () => result);
        dispatch(connection);
        assert.equal((await connection.read()).error.code, -32603);
    });
}

test("a worker that throws a value without text has its batch retried", async (t) => {
    const [, , connection] = await working(t, () => { throw Object.create(null); });
    dispatch(connection);
    assert.equal((await connection.read()).error.code, -32603);
});

test("an answer beyond the daemon's limits is replaced by an error", async (t) => {
    warnings(t);
    const [daemon, client] = await pair(t);
    const works = [() => { throw new Error("x".repeat(5_000)); }, () => ({["i".repeat(3_000)]: "dead"})];
    const granted = client.subscribe("jobs", () => works.shift()());
    const connection = await daemon.accept();
    connection.answer(await connection.request("hello"), {limits: {max_line_bytes: 2_000}});
    connection.answer(await connection.request("dispatcher.subscribe"), {});
    await granted;
    for (let n = 0; n < 2; n++) {
        dispatch(connection);
        const answer = await connection.read();
        assert.equal(answer.error.code, -32603);
        assert.ok(JSON.stringify(answer).length < 2_000);
    }
});

test("lowered limits are read again, and calls that may be repeated are repeated", async (t) => {
    const [daemon, client] = await pair(t);
    const small = client.track("small");
    const first = await daemon.greet();
    const request = await first.request("track");
    const large = client.track("large", {text: "x".repeat(500)});
    const pause = client.call("dispatcher.pause", {id: "collect"});
    pause.catch(() => {});
    large.catch(() => {});
    await first.request("track");
    await first.request("dispatcher.pause");
    first.tell({id: null, error: {code: -32000, message: "too long", data: {reason: "line_too_long"}}});
    const second = await daemon.accept();
    second.answer(await second.request("hello"), {limits: {max_line_bytes: 300}});
    const again = await second.request("track");
    assert.equal(again.params.id, request.params.id);
    second.acknowledge(again);
    await small;
    await assert.rejects(large, {reason: "line_too_long", code: -32000});
    await assert.rejects(pause, reason("disconnected"));
    assert.equal(await second.isSilent(), true);
});

test("a limit error that comes again without an answer in between fails the calls", async (t) => {
    const [daemon, client] = await pair(t);
    const tracked = client.track("x");
    tracked.catch(() => {});
    for (let n = 0; n < 2; n++) {
        const connection = await daemon.greet();
        await connection.request("track");
        connection.tell({id: null, error: {code: -32000, message: "too deep", data: {reason: "limit"}}});
    }
    await assert.rejects(tracked, reason("bad_answer"));
});

test("D11: a handler's answer is sent before the client leaves a stopping daemon", async (t) => {
    let finish;
    const [daemon, client, connection] = await working(t, () => new Promise((resolve) => (finish = resolve)));
    dispatch(connection);
    assert.equal(await connection.isSilent(), true);
    connection.tell({method: "closing", params: {reason: "shutting_down"}});
    assert.equal(await connection.isSilent(), true);
    const ping = client.call("ping");
    assert.equal(await connection.isSilent(), true);
    finish({"1": "dead"});
    assert.deepEqual((await connection.read()).result, {outcomes: {"1": "dead"}});
    assert.equal(await connection.read(), undefined);
    const second = await daemon.greet();
    second.answer(await second.request("dispatcher.subscribe"), {});
    second.answer(await second.request("ping"), {});
    await ping;
});

test("a worker that is refused on a later connection warns once, and subscribes again", async (t) => {
    const heard = warnings(t);
    const refusals = [];
    const [daemon, client, first] = await working(t, () => {}, {onRefused: ({reason}) => refusals.push(reason)});
    first.socket.destroy();
    const second = await daemon.greet();
    for (let n = 0; n < 2; n++) {
        const {id} = await second.request("dispatcher.subscribe");
        second.tell({id, error: {code: -32000, message: "gone", data: {reason: "not_found"}}});
    }
    second.answer(await second.request("dispatcher.subscribe"), {});
    dispatch(second);
    assert.deepEqual((await second.read()).result, {});
    assert.deepEqual(refusals, ["not_found"]);
    assert.deepEqual(heard.map(({code}) => code), ["HEADGATE_REFUSED"]);
    await client.unsubscribe("jobs", {signal: AbortSignal.abort()}).catch(() => {});
});

test("an event of trackSoon keeps the program for a limited time only", async (t) => {
    const path = join(await folder(t), "d.sock");
    const {stdout, stderr} = await runProgram(path, `client.trackSoon("kept");`, 20);
    assert.equal(stdout, "dropped kept closed\n");
    assert.match(stderr, /1 events were not acknowledged when the program ended/);
});

test("a program stores its events before it ends", async (t) => {
    const daemon = await Daemon.start(t);
    const ended = runProgram(daemon.path, `for (let n = 0; n < 40; n++) client.trackSoon("e" + n);`, 60_000);
    const connection = await daemon.greet();
    for (let n = 0; n < 40; n++) {
        const request = await connection.request("track");
        assert.equal(request.params.event, `e${n}`);
        connection.acknowledge(request);
    }
    const {stdout, stderr} = await ended;
    assert.equal(stdout + stderr, "");
});

for (const [name, text] of [["process.exit", "process.exit(0);"], ["an error", "throw new Error('as was asked');"]]) {
    test(`${name} has the last events stored by another process`, async (t) => {
        const daemon = await Daemon.start(t);
        const program = `for (let n = 0; n < 40; n++) client.trackSoon("e" + n); ${text}`;
        const ended = runProgram(daemon.path, program, 60_000).catch((error) => error);
        const connection = await daemon.greet();
        for (let n = 0; n < 40; n++) {
            const request = await connection.request("track");
            assert.equal(request.params.event, `e${n}`);
            if (n > 0) connection.acknowledge(request);
            else connection.tell({id: request.id, error: {code: -32000, message: "no", data: {reason: "storage"}}});
        }
        const {stdout, stderr} = await ended;
        assert.equal(stdout, "dropped e0 storage\n");
        assert.match(stderr, /headgate: 1 events were not acknowledged when the program ended/);
    });
}

for (const [name, text] of [
    ["before", "process.exitCode = 3; process.prependListener('exit', () => client.trackSoon('late'));"],
    ["behind", "process.on('exit', () => client.trackSoon('late'));"],
]) {
    test(`a listener ${name} the client's own tracks at the end of the program`, async (t) => {
        const daemon = await Daemon.start(t);
        const ended = runProgram(daemon.path, text, 60_000).catch((error) => error);
        const connection = await daemon.greet();
        const request = await connection.request("track");
        assert.equal(request.params.event, "late");
        connection.acknowledge(request);
        const {stdout, stderr} = await ended;
        assert.equal(stdout + stderr, "");
    });
}

test("events that onDropped tracks when the program ends are reported as dropped", async (t) => {
    const path = join(await folder(t), "d.sock");
    const again = `const again = new Client("b", "", {socketPath: client.socketPath, onDropped: () => again.trackSoon("again")});`;
    const {stderr} = await runProgram(path, `${again} again.trackSoon("first"); process.exit(0);`, 60_000);
    assert.match(stderr, /headgate: 1 events were dropped: onDropped tracked them/);
});

test("a daemon that does not read does not keep a program from ending", async (t) => {
    const path = join(await folder(t), "d.sock");
    const greeting = JSON.stringify({jsonrpc: "2.0", id: 0, result: {server: {name: "deaf"}, protocol: 1, session: "1"}});
    const sockets = [];
    const server = net.createServer({pauseOnConnect: true}, (socket) => sockets.push(socket.on("error", () => {})) && socket.write(greeting + "\n"));
    t.after(() => {
        sockets.forEach((socket) => socket.destroy());
        server.close();
    });
    await once(server.listen(path), "listening");
    const track = `for (let n = 0; n < 8; n++) client.trackSoon("x", {text: "x".repeat(900_000)});`;
    for (const text of [track, `${track} setTimeout(() => {}, 100)`, `${track} setTimeout(() => client.destroy(), 100)`]) {
        const {stdout} = await runProgram(path, text, 400);
        assert.equal(stdout, "dropped x closed\n".repeat(8));
    }
});

test("a program that goes on stays connected to a daemon that reads late", async (t) => {
    const [daemon, client] = await pair(t, {exitTimeout: 10});
    const work = setInterval(() => {}, 1_000);
    t.after(() => clearInterval(work));
    for (let n = 0; n < 200; n++) client.trackSoon("x", {text: "x".repeat(20_000)});
    const connection = await daemon.greet();
    connection.socket.pause();
    await sleep(300);
    connection.socket.resume();
    for (let n = 0; n < 200; n++) connection.acknowledge(await connection.request("track"));
    await client.drain();
    assert.equal(daemon.sockets.length, 1);
});

test("a program that reads its input stays connected to a daemon that reads slowly", async (t) => {
    const daemon = await Daemon.start(t);
    const track = `for (let n = 0; n < 200; n++) client.trackSoon("x", {text: "x".repeat(20_000)});`;
    const ended = runProgram(daemon.path, `process.stdin.resume(); ${track}`, 1_000);
    const connection = await daemon.greet();
    for (let n = 0; n < 200; n++) {
        connection.socket.resume();
        connection.acknowledge(await connection.request("track"));
        connection.socket.pause();
        if (n < 50) await sleep(30);
    }
    ended.child.stdin.end();
    assert.equal((await ended).stdout, "");
    assert.equal(daemon.sockets.length, 1);
});

test("a program goes on when the reader of its standard error has gone", async (t) => {
    const path = join(await folder(t), "d.sock");
    const other = `const other = new Client("b", "", {socketPath: client.socketPath, connectTimeout: 50}); other.trackSoon("x");`;
    const ended = runProgram(path, `${other} setTimeout(() => console.log("alive"), 300);`, 20);
    ended.child.stderr.destroy();
    assert.equal((await ended).stdout, "alive\n");
});

test("onDropped may track each event again, and the program ends all the same", async (t) => {
    const path = join(await folder(t), "d.sock");
    const options = "{socketPath: client.socketPath, exitTimeout: 50, onDropped: (error, {event}) => again.trackSoon(event)}";
    const {stderr} = await runProgram(path, `const again = new Client("b", "", ${options}); again.trackSoon("first");`, 50);
    assert.match(stderr, /headgate: 1 events were dropped: onDropped tracked them/);
});

test("data may close the client while it is encoded", async (t) => {
    const daemon = await Daemon.start(t);
    const client = new Client("a", "", {socketPath: daemon.path});
    const closing = {toJSON: () => client.destroy()};
    await assert.rejects(client.track("x", {closing}), reason("closed"));
    const dropped = [];
    const other = new Client("a", "", {socketPath: daemon.path, onDropped: (error) => dropped.push(error.reason)});
    assert.equal(other.trackSoon("x", {closing: {toJSON: () => other.destroy()}}), false);
    await new Promise(setImmediate);
    assert.deepEqual(dropped, ["closed"]);
});

test("a batch waits for a handler of a lost connection, and does not begin if its own connection is lost", async (t) => {
    const begun = [];
    const finish = [];
    const [daemon, , first] = await working(t, ({events}) => {
        begun.push(events[0].id);
        return new Promise((resolve) => finish.push(resolve));
    });
    dispatch(first, [{id: "1"}]);
    dispatch(first, [{id: "2"}]);
    assert.equal(await first.isSilent(), true);
    first.socket.destroy();
    const second = await daemon.greet();
    second.answer(await second.request("dispatcher.subscribe"), {});
    dispatch(second, [{id: "3"}]);
    assert.equal(await second.isSilent(), true);
    finish[0]();
    while (finish.length < 2) await new Promise(setImmediate);
    finish[1]({"3": "dead"});
    assert.deepEqual((await second.read()).result, {outcomes: {"3": "dead"}});
    assert.deepEqual(begun, ["1", "3"]);
});

test("each batch has a signal of its own", async (t) => {
    const signals = [];
    const [, , connection] = await working(t, (_, signal) => void signals.push(signal));
    for (let n = 0; n < 2; n++) {
        dispatch(connection);
        await connection.read();
    }
    connection.socket.destroy();
    assert.notEqual(signals[0], signals[1]);
});

test("process.exit reports lost events", async (t) => {
    const path = join(await folder(t), "d.sock");
    const {stdout, stderr} = await runProgram(path, `client.trackSoon("lost"); process.exit(0);`, 60_000);
    assert.equal(stdout, "dropped lost closed\n");
    assert.match(stderr, /headgate: 1 events were not acknowledged/);
});

test("a wait for room keeps the program, also if its events are unattended", async (t) => {
    const daemon = await Daemon.start(t);
    const text = `(async () => { for (let n = 0; n < 3; n++) { await small.room(); small.trackSoon("e" + n); } console.log("all"); })();`;
    const ended = runProgram(daemon.path, `const small = new Client("b", "", {socketPath: client.socketPath, maxUnanswered: 1}); ${text}`, 60_000);
    const connection = await daemon.greet();
    for (let n = 0; n < 3; n++) connection.acknowledge(await connection.request("track"));
    assert.equal((await ended).stdout, "all\n");
});
