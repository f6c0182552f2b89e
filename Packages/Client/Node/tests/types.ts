// A program that is compiled only, as CommonJS and as a module. It has allowed uses of the types, and uses that must be errors.
import {Batch, Client, HeadgateError, Receipt, State, newId, defaultSocket, version} from "headgate";

async function tracks(client: Client): Promise<void> {
    const receipt: Receipt = await client.track("signup", {plan: "free"}, {key: "user-7", timeout: 100});
    const place: number | bigint | null = receipt.seq;
    const soon: boolean = client.trackSoon("x");
    for (const outcome of await client.trackEach([{event: "a", id: newId(), time: new Date()}])) {
        if (outcome instanceof HeadgateError) console.log(outcome.reason, outcome.path);
    }
    const {ended} = await client.flush({wait: true, timeout_ms: 5_000});
    const word: "settled" | "timeout" | "cancelled" = ended;
    // @ts-expect-error: a flush that is not waited for has no end
    const none: string = (await client.flush()).ended;
    // @ts-expect-error: an event has a name
    await client.trackMany([{data: {}}]);
    const left: number = await client.close({timeout: 100});
    const disposed: Promise<void> = client[Symbol.asyncDispose]();
    console.log(place, soon, word, none, left, defaultSocket(), version, disposed);
}

async function works(client: Client): Promise<void> {
    await client.subscribe("jobs", async (batch: Batch) => ({[batch.events[0].id]: "dead"}), {credit: 4});
    await client.subscribe("jobs", () => {}, {onRefused: (error) => console.log(error.reason), timeout: null});
    // @ts-expect-error: false is no outcome
    await client.subscribe("jobs", () => false);
    // @ts-expect-error: there is no such outcome
    await client.subscribe("jobs", () => ({a: "eaten"}));
}

const client = new Client("shop", "2.1", {
    onDropped: (error, event) => console.log(error.message, event.event),
    onState: (state: State, error) => console.log(state, error?.reason),
});
void tracks(client).then(() => works(client));
// @ts-expect-error: milliseconds are a number
new Client("shop", "2.1", {connectTimeout: "1 s"});
