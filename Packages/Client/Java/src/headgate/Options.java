package headgate;

import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/** The options of a client. Each method changes these options and returns them. A null duration is without an end. */
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

    /** Sets the daemon's socket. Null looks in the default places ({@link Client#defaultSocket}). */
    public Options socketPath(String path) {
        socketPath = path;
        return this;
    }

    /** Sets the namespace of the ids (Behaviour Q7). Null is that of the user. */
    public Options namespace(String name) {
        namespace = name;
        return this;
    }

    /**
     * Sets how long a call waits for the first connection; 10 s. One attempt is always made, and zero makes no other. A daemon that is
     * found stopping counts as a lost connection.
     */
    public Options connectTimeout(Duration timeout) {
        connectTimeout = timeout;
        return this;
    }

    /** Sets how long a call waits for a connection that was lost; null. Zero does not wait. */
    public Options reconnectTimeout(Duration timeout) {
        reconnectTimeout = timeout;
        return this;
    }

    /** Sets how long the daemon may take to answer {@code hello}; 10 s. */
    public Options greetingTimeout(Duration timeout) {
        greetingTimeout = timeout;
        return this;
    }

    /** Sets how long {@link Client#close()}, and the end of the program, wait for answers; 5 s. */
    public Options closeTimeout(Duration timeout) {
        closeTimeout = timeout;
        return this;
    }

    /** Sets how many calls may be unanswered; 16 384. */
    public Options maxUnanswered(int count) {
        maxUnanswered = count;
        return this;
    }

    /** Sets how many bytes of calls may be unanswered; 8 MiB. One call is always let through. */
    public Options maxUnansweredBytes(long bytes) {
        maxUnansweredBytes = bytes;
        return this;
    }

    /** Sets the first and the longest wait between two attempts to connect; 50 ms and 5 s. */
    public Options backoff(Duration base, Duration cap) {
        backoffBase = base;
        backoffCap = cap;
        return this;
    }

    /**
     * Sets what is called with {@code connected}, {@code disconnected} (and the error) or {@code closed}, on a thread of its own. It may call
     * the client.
     */
    public Options onState(BiConsumer<String, HeadgateException> hook) {
        onState = hook;
        return this;
    }

    /** Sets what is called with each warning; by default the logger {@code headgate} of {@link System#getLogger}. */
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
