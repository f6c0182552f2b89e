// Tests of the transports for pino and winston. They use winston itself if Debian's package is installed; Debian has no pino.
import assert from "node:assert/strict";
import {execFile} from "node:child_process";
import {once} from "node:events";
import Module, {createRequire} from "node:module";
import {test} from "node:test";
import {promisify} from "node:util";
import {Worker} from "node:worker_threads";

import {Daemon} from "./daemon.mjs";

const require = createRequire(import.meta.url);
const pinoTransport = require("../lib/pino.js");
const {WinstonTransport} = require("../lib/winston.js");

// Debian's Node finds packages there without a setting.
process.env.NODE_PATH = "/usr/share/nodejs";
Module._initPaths();
let winston;
try {
    winston = require("winston");
} catch {
    winston = undefined;
}

/** Acknowledges as many events, and returns their params. */
async function events(connection, count) {
    const all = [];
    while (all.length < count) {
        const request = await connection.request("track");
        connection.acknowledge(request);
        all.push(request.params);
    }
    return all;
}

test("a line of pino becomes an event", async (t) => {
    const daemon = await Daemon.start(t);
    const stream = pinoTransport({program: "test", socketPath: daemon.path});
    const line = {level: 40, time: 1_700_000_000_000, pid: 7, hostname: "h", name: "till", msg: "ü slow", order: 17, err: {message: "no", stack: "Error: no\n  at x"}};
    const bytes = Buffer.from(JSON.stringify(line) + "\n");
    const split = bytes.indexOf(0xc3) + 1; // in the middle of a letter
    stream.write(bytes.subarray(0, split));
    stream.write(bytes.subarray(split));
    const connection = await daemon.greet();
    const [{event, time, data}] = await events(connection, 1);
    assert.deepEqual([event, time], ["log", "2023-11-14T22:13:20.000Z"]);
    assert.deepEqual(data, {
        order: 17, level: "WARNING", logger: "till", message: "ü slow", process: 7, hostname: "h", exception: "Error: no\n  at x",
    });
    for (const level of [10, 20, 30, 35, 50, 60]) stream.write(JSON.stringify({level, time: 0, msg: "x"}) + "\n");
    const levels = (await events(connection, 6)).map((one) => one.data.level);
    assert.deepEqual(levels, ["TRACE", "DEBUG", "INFO", "INFO", "ERROR", "CRITICAL"]);
    stream.end();
    await once(stream, "close");
});

// Stands in for pino's thread: it imports the target, writes text to the stream, and ends the thread when the stream is closed.
const PINO_THREAD = `
    const {parentPort, workerData} = require("node:worker_threads");
    import(workerData.target).then(async ({default: build}) => {
        const stream = await build(workerData.options);
        stream.on("error", (error) => { throw error; });
        stream.on("close", () => process.exit(0));
        parentPort.on("message", (text) => (text === null ? stream.end() : stream.write(text)));
    });
`;

test("in pino's thread, the records are stored before the stream is closed", async (t) => {
    const daemon = await Daemon.start(t);
    const options = {program: "test", socketPath: daemon.path};
    const thread = new Worker(PINO_THREAD, {eval: true, workerData: {target: require.resolve("../lib/pino.js"), options}});
    for (const msg of ["first", "last"]) thread.postMessage(JSON.stringify({level: 30, time: 0, msg}) + "\n");
    thread.postMessage(null);
    const connection = await daemon.greet();
    const requests = [await connection.request("track"), await connection.request("track")];
    assert.deepEqual(requests.map((request) => request.params.data.message), ["first", "last"]);
    for (const request of requests) connection.acknowledge(request);
    assert.deepEqual(await once(thread, "exit"), [0]);
});

test("a line that is no record is dropped, and reported", async (t) => {
    const daemon = await Daemon.start(t);
    const stream = pinoTransport({program: "test", socketPath: daemon.path});
    stream.write('{"level":\n{"level":30,"msg":"next"}\n');
    const connection = await daemon.greet();
    const [report, next] = await events(connection, 2);
    assert.deepEqual([report.event, report.data.count, report.data.reasons], ["log.dropped", 1, {bad_record: 1}]);
    assert.equal(next.data.message, "next");
    stream.end();
    await once(stream, "close");
});

test("memory is bounded while the daemon is away", async (t) => {
    const daemon = await Daemon.start(t);
    const transport = new WinstonTransport({program: "test", socketPath: daemon.path, maxUnanswered: 2});
    const level = {[Symbol.for("level")]: "info", level: "info"};
    for (let n = 0; n < 5; n++) transport.log({...level, message: `r${n}`});
    await new Promise(setImmediate); // the client calls back a little later
    assert.deepEqual(transport.dropped, {buffer_full: 3});
    const connection = await daemon.greet();
    await events(connection, 2);
    transport.end();
    const [report] = await events(connection, 1);
    assert.deepEqual(report.data.reasons, {buffer_full: 3});
    await once(transport, "close");
});

const RECORD = {[Symbol.for("level")]: "info", level: "info", message: "x"};
for (const [name, make] of [["pino", pinoTransport], ["winston", (options) => new WinstonTransport(options)]]) {
    test(`${name}'s transport ends after two seconds while the daemon is away`, {timeout: 20_000}, async (t) => {
        const daemon = await Daemon.start(t);
        await daemon.close();
        const stream = make({program: "test", socketPath: daemon.path});
        stream.write(name === "pino" ? '{"level":30,"msg":"x"}\n' : RECORD);
        const began = performance.now();
        stream.end();
        await once(stream, "close");
        assert.ok(performance.now() - began < 4_000);
    });
}

/** Runs a program in another process, in which `stream` is pino's transport to the daemon at this path. */
function runProgram(path, text) {
    const options = JSON.stringify({program: "test", socketPath: path});
    const program = `const stream = require(${JSON.stringify(require.resolve("../lib/pino.js"))})(${options}); ${text}`;
    return promisify(execFile)(process.execPath, ["-e", program], {timeout: 60_000});
}

test("a program that does not end its transport waits two seconds for it", async (t) => {
    const daemon = await Daemon.start(t);
    await daemon.close();
    const text = `stream.write('{"level":30,"msg":"x"}\\n'); process.on("exit", () => console.log(performance.now()));`;
    const {stdout} = await runProgram(daemon.path, text);
    assert.ok(Number(stdout) < 4_000);
});

test("a transport ends when the reader of standard error has gone", async (t) => {
    const daemon = await Daemon.start(t);
    const ended = runProgram(daemon.path, `stream.end("no record\\n"); stream.on("close", () => console.log("closed"));`);
    ended.child.stderr.destroy();
    const connection = await daemon.greet();
    const {id} = await connection.request("track");
    connection.tell({id, error: {code: -32000, message: "no", data: {reason: "storage"}}});
    assert.equal((await ended).stdout, "closed\n");
});

test("a record of winston becomes an event", {skip: winston === undefined && "winston is not installed"}, async (t) => {
    const daemon = await Daemon.start(t);
    const transport = new WinstonTransport({program: "test", socketPath: daemon.path});
    const logger = winston.createLogger({level: "info", format: winston.format.errors({stack: true}), transports: [transport]});
    logger.debug("off");
    logger.warn("slow", {order: 17, odd: NaN, big: 1n});
    logger.error(new Error("as was asked"));
    const connection = await daemon.greet();
    const [slow, failed] = await events(connection, 2);
    assert.deepEqual(slow.data, {order: 17, odd: "NaN", big: "1", level: "WARNING", message: "slow", process: process.pid});
    assert.equal(failed.data.level, "ERROR");
    assert.match(failed.data.exception, /Error: as was asked\n +at /);
    logger.end();
    await once(transport, "close");
});
