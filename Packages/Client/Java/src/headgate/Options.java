package headgate;

import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** The options of a client. Each method changes these options and returns them. A null duration never ends. */
public final class Options {
    String socketPath;
    String namespace;
    Duration connectTimeout = Duration.ofSeconds(10);
    Duration reconnectTimeout;
    Duration greetingTimeout = Duration.ofSeconds(10);
    Duration closeTimeout = Duration.ofSeconds(5);
    int maxUnanswered = 16_384;
    long maxUnansweredBytes = 8 << 20;
    Duration backoffBase = Duration.ofMillis(50);
    Duration backoffCap = Duration.ofSeconds(5);
    BiConsumer<String, HeadgateException> onState = (state, error) -> {};
    Consumer<String> log = text -> System.getLogger("headgate").log(System.Logger.Level.WARNING, text);

    /** Sets the path of the daemon's socket. Null, the default, is {@link Client#defaultSocket}. */
    public Options socketPath(String path) {
        socketPath = path;
        return this;
    }

    /** Sets the namespace of the events' ids (Behaviour Q7). Null, the default, is that of the user. */
    public Options namespace(String name) {
        namespace = name;
        return this;
    }

    /**
     * Sets the longest wait of a call for the first connection; by default 10 s. One attempt is always made; zero allows no other. A daemon
     * that is found stopping counts as a lost connection.
     */
    public Options connectTimeout(Duration timeout) {
        connectTimeout = timeout;
        return this;
    }

    /** Sets the longest wait of a call after a lost connection; by default null, without an end. Zero does not wait. */
    public Options reconnectTimeout(Duration timeout) {
        reconnectTimeout = timeout;
        return this;
    }

    /** Sets the longest wait for the answer to {@code hello}; by default 10 s. */
    public Options greetingTimeout(Duration timeout) {
        greetingTimeout = timeout;
        return this;
    }

    /** Sets the longest wait of {@link Client#close()}, and of the end of the program, for answers; by default 5 s. */
    public Options closeTimeout(Duration timeout) {
        closeTimeout = timeout;
        return this;
    }

    /** Sets the greatest number of unanswered calls; by default 16 384. */
    public Options maxUnanswered(int count) {
        maxUnanswered = count;
        return this;
    }

    /** Sets the greatest size of unanswered calls in bytes; by default 8 MiB. One call is always let through. */
    public Options maxUnansweredBytes(long bytes) {
        maxUnansweredBytes = bytes;
        return this;
    }

    /** Sets the first and the longest wait between two attempts to connect; by default 50 ms and 5 s. */
    public Options backoff(Duration base, Duration cap) {
        backoffBase = base;
        backoffCap = cap;
        return this;
    }

    /**
     * Sets a hook that is called with each state: {@code connected}, {@code disconnected} (and the error) or {@code closed}. It runs on a
     * thread of its own, and may call the client.
     */
    public Options onState(BiConsumer<String, HeadgateException> hook) {
        onState = hook;
        return this;
    }

    /** Sets a hook that is called with each warning; by default the logger {@code headgate} of {@link System#getLogger}. */
    public Options log(Consumer<String> hook) {
        log = hook;
        return this;
    }

    Options copy() {
        Options copy = new Options();
        copy.socketPath = socketPath == null ? Client.defaultSocket() : socketPath;
        copy.namespace = namespace;
        copy.connectTimeout = connectTimeout;
        copy.reconnectTimeout = reconnectTimeout;
        copy.greetingTimeout = greetingTimeout;
        copy.closeTimeout = closeTimeout;
        copy.maxUnanswered = maxUnanswered;
        copy.maxUnansweredBytes = maxUnansweredBytes;
        copy.backoffBase = backoffBase;
        copy.backoffCap = backoffCap;
        copy.onState = onState;
        copy.log = log;
        return copy;
    }
}
