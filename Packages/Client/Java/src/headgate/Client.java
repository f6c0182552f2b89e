package headgate;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * A client of Headgate, the local event-delivery daemon, for any number of threads.
 *
 * <pre>{@code
 * try (Client headgate = new Client("shop", "2.1")) {
 *     Receipt receipt = headgate.track("order_placed", Map.of("order", 17));   // returns when the daemon has stored the event
 *     headgate.tryTrack(Event.of("page_viewed"));                             // never waits
 * }
 * }</pre>
 *
 * A client connects at its first call, and again whenever the connection is lost. Every event gets an id before it is sent, and is sent under
 * this id until it is acknowledged: a restart of the daemon loses no event and stores none twice (Behaviour Q7).
 *
 * Methods that wait throw {@link HeadgateException}, or {@link java.util.concurrent.CancellationException} if the thread is interrupted. A null
 * timeout never ends. A program that ends waits for the events of clients that it has not closed.
 */
public final class Client implements AutoCloseable {
    /** The client's version, the same as the daemon's. */
    public static final String VERSION = "0.2.0";

    // written by Tools/protocol: repeatable
    private static final Set<String> REPEATABLE = Set.of(
        "ping", "rights", "rpc.discover", "flush.list", "status", "barrier.list", "dispatcher.list", "queue.peek",
        "dead_letters.list", "config.get", "metrics", "event.trace", "client.list");
    // end of what Tools/protocol has written

    private final Options options;
    private final Connection connection;
    private final Thread end = new Thread(this::endWithProgram, "headgate end");
    private volatile boolean isAtEnd;

    /** Makes a client with default options. The name and the version are the program's; together they are the events' {@code context.client}. */
    public Client(String name, String version) {
        this(name, version, new Options());
    }

    /** Makes a client. */
    public Client(String name, String version, Options options) {
        this.options = options.copy();
        connection = new Connection(hello(name, version, options.namespace), this.options);
        try {
            Runtime.getRuntime().addShutdownHook(end);
        } catch (IllegalStateException error) {
            isAtEnd = true; // the program ends already
        }
    }

    private static byte[] hello(String name, String version, String namespace) {
        Map<String, Object> client = new LinkedHashMap<>();
        client.put("name", name);
        if (!version.isEmpty()) {
            client.put("version", version);
        }
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("client", client);
        params.put("protocol", 1);
        if (namespace != null) {
            params.put("namespace", namespace);
        }
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("jsonrpc", "2.0");
        message.put("id", 0);
        message.put("method", "hello");
        message.put("params", params);
        return (Json.write(message) + "\n").getBytes(StandardCharsets.UTF_8);
    }

    /**
     * Returns the path of the daemon's socket if the program names none: $HEADGATE_SOCKET, else below $XDG_RUNTIME_DIR if the daemon's folder
     * is there, else below /run. An empty variable counts as not set, and so does a relative XDG_RUNTIME_DIR.
     */
    public static String defaultSocket() {
        return defaultSocket(System::getenv);
    }

    static String defaultSocket(UnaryOperator<String> environment) {
        String given = environment.apply("HEADGATE_SOCKET");
        if (given != null && !given.isEmpty()) {
            return given;
        }
        List<String> folders = Stream.of(String.valueOf(environment.apply("XDG_RUNTIME_DIR")), "/run")
            .filter(folder -> folder.startsWith("/")).map(folder -> folder + "/headgate").toList();
        return folders.stream().filter(folder -> Files.isDirectory(Path.of(folder))).findFirst().orElse(folders.get(0)) + "/headgate.sock";
    }

    /** Returns a UUIDv7 that is greater than all that this process has made before. */
    public static String newId() {
        return Ids.next();
    }

    /** Tracks an event, and returns its receipt when the daemon has stored it. */
    public Receipt track(String name, Object data) {
        return track(Event.of(name, data), null);
    }

    /** Tracks an event, and returns its receipt when the daemon has stored it. */
    public Receipt track(Event event) {
        return track(event, null);
    }

    /** Tracks an event, and returns its receipt when the daemon has stored it. */
    public Receipt track(Event event, Duration timeout) {
        return Receipt.read(run(new Call("track", event.params(), true, false), timeout));
    }

    /**
     * Tracks an event without waiting for its acknowledgement; waits for room only. The events of one thread keep the order of these calls. The
     * future is completed on a thread of the client's hooks.
     */
    public CompletableFuture<Receipt> trackSoon(Event event) {
        return trackSoon(event, null);
    }

    /** Tracks an event without waiting for its acknowledgement. The timeout is the longest wait for room. */
    public CompletableFuture<Receipt> trackSoon(Event event, Duration timeout) {
        Call call = new Call("track", event.params(), true, true);
        CompletableFuture<Receipt> future = new CompletableFuture<>();
        call.whenDone = (result, error) -> complete(future, result, error);
        connection.begin(call, Moment.after(timeout));
        if (isAtEnd) {
            endWithProgram();
        }
        return future;
    }

    private static void complete(CompletableFuture<Receipt> future, Map<String, Object> result, HeadgateException error) {
        try {
            if (error == null) {
                future.complete(Receipt.read(result));
            } else {
                future.completeExceptionally(error);
            }
        } catch (HeadgateException bad) {
            future.completeExceptionally(bad);
        }
    }

    /** Tracks an event without any wait: throws {@code buffer_full} if there is no room. */
    public CompletableFuture<Receipt> tryTrack(Event event) {
        return trackSoon(event, Duration.ZERO);
    }

    /**
     * Tracks events each on its own, in their order, without waiting in between. Returns a future for each, in the same order; all are done. One
     * that is refused does not hinder the others.
     */
    public List<CompletableFuture<Receipt>> trackEach(List<Event> events) {
        List<CompletableFuture<Receipt>> futures = new ArrayList<>();
        for (Event event : events) {
            try {
                futures.add(trackSoon(event));
            } catch (HeadgateException error) {
                futures.add(CompletableFuture.failedFuture(error));
            }
        }
        futures.forEach(future -> future.handle((receipt, error) -> null).join());
        return futures;
    }

    /** Tracks events atomically: all are stored, or none. They are sent in one line, whose length the daemon limits. */
    public ManyReceipt trackMany(List<Event> events, Duration timeout) {
        Map<String, Object> params = Map.of("events", events.stream().map(Event::params).toList());
        return ManyReceipt.read(run(new Call("track_many", params, true, false), timeout));
    }

    /**
     * Makes dispatchers send their pending events (Behaviour F1). It does not wait for this client's events: {@link #drain} does. The params are
     * {@code dispatchers}, {@code wait}, {@code timeout_ms} and {@code flush}. The result's {@code ended} is {@code settled},
     * {@code timeout} or {@code cancelled}.
     */
    public Map<String, Object> flush(Map<String, ?> params, Duration timeout) {
        Map<String, Object> result = call("flush", params, timeout);
        boolean isKnown = result.get("ended") instanceof String ended && Set.of("settled", "timeout", "cancelled").contains(ended);
        if (Boolean.TRUE.equals(params.get("wait")) && !isKnown) {
            throw HeadgateException.local("bad_answer", "the result of flush has an unknown end");
        }
        return result;
    }

    /** Returns the daemon's status. */
    public Map<String, Object> status(Duration timeout) {
        return call("status", Map.of(), timeout);
    }

    /**
     * Calls any method of the protocol (Docs/Protocol.md), and returns its result. When the connection breaks, methods that change nothing are
     * called again on the next one; others throw {@code disconnected} if they had been written.
     */
    public Map<String, Object> call(String method, Map<String, ?> params, Duration timeout) {
        return run(new Call(method, params, REPEATABLE.contains(method), false), timeout);
    }

    private Map<String, Object> run(Call call, Duration timeout) {
        Moment moment = Moment.after(timeout);
        connection.begin(call, moment);
        return connection.wait(call, moment);
    }

    /** Waits until the daemon has all events of this client. Throws {@code timed_out} if that takes longer. */
    public void drain(Duration timeout) {
        if (!connection.isDrained(Moment.after(timeout))) {
            throw HeadgateException.local("timed_out", "not all calls were answered in time");
        }
    }

    /** Returns the number of unanswered calls. */
    public int unanswered() {
        return connection.unanswered();
    }

    /** Returns true if {@link #tryTrack} would find room. */
    public boolean hasRoom() {
        return connection.hasRoomNow();
    }

    /**
     * Takes no more calls, waits until all are answered, but no longer than {@link Options#closeTimeout}, then closes the connection. Logs how
     * many events were not acknowledged. Further calls do nothing.
     */
    @Override
    public void close() {
        close(options.closeTimeout);
    }

    /** Closes the client with another timeout. Returns the number of events that were not acknowledged. */
    public int close(Duration timeout) {
        try {
            Runtime.getRuntime().removeShutdownHook(end);
        } catch (IllegalStateException error) {
            // The hook cannot be removed while the program ends.
        }
        int left = connection.close(Moment.after(timeout));
        if (left > 0) {
            connection.log(left + " events were not acknowledged when the client was closed");
        }
        return left;
    }

    /** Waits for all events at the end of the program. From now on each call that tracks an event waits for it. */
    private void endWithProgram() {
        isAtEnd = true;
        int left = connection.settle(Moment.after(options.closeTimeout));
        if (left > 0) {
            connection.log(left + " events were not acknowledged when the program ended");
        }
    }
}
