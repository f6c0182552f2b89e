// A daemon for tests, whose messages the test writes.
import {once} from "node:events";
import {mkdtemp, rm} from "node:fs/promises";
import net from "node:net";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {createInterface} from "node:readline";

/** A client's connection, read and written in messages. */
class Connection {
    constructor(socket) {
        this.socket = socket;
        socket.on("error", () => {});
        this.lines = createInterface({input: socket})[Symbol.asyncIterator]();
    }

    /** Returns the next message, or undefined if the client has closed its side. */
    async read() {
        const {value} = await this.lines.next();
        return value && JSON.parse(value);
    }

    async request(method) {
        const message = await this.read();
        if (message?.method !== method) throw new Error(`expected ${method}, got ${JSON.stringify(message)}`);
        return message;
    }

    tell(message) {
        this.socket.write(JSON.stringify({jsonrpc: "2.0", ...message}) + "\n");
    }

    answer({id}, result) {
        this.tell({id, result});
    }

    acknowledge(request) {
        this.answer(request, {id: request.params.id, seq: 1});
    }

    /** Returns true if the client has sent nothing: its next message is the answer to a request made now. */
    async isSilent() {
        this.tell({id: "are you there", method: "no.such.method"});
        return (await this.read())?.id === "are you there";
    }
}

/** A daemon that listens in a folder of its own, which is removed when it is closed. */
export class Daemon {
    static async start(test) {
        const daemon = new Daemon();
        daemon.folder = await mkdtemp(join(tmpdir(), "headgate-"));
        daemon.path = join(daemon.folder, "d.sock");
        daemon.sockets = [];
        await daemon.listen();
        test.after(() => daemon.stop());
        return daemon;
    }

    async listen() {
        this.server = net.createServer();
        this.server.on("connection", (socket) => this.sockets.push(socket));
        this.server.listen(this.path);
        await once(this.server, "listening");
    }

    /** Stops listening, and removes the socket. */
    async close() {
        this.server.close();
        await rm(this.path, {force: true});
    }

    async accept() {
        const [socket] = await once(this.server, "connection");
        return new Connection(socket);
    }

    /** Accepts the next connection, and answers its greeting. */
    async greet() {
        const connection = await this.accept();
        connection.answer(await connection.request("hello"), {protocol: 1});
        return connection;
    }

    async stop() {
        this.sockets.forEach((socket) => socket.destroy());
        this.server.close();
        await rm(this.folder, {recursive: true});
    }
}
