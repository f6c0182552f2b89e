package headgate;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.SimpleFormatter;

/**
 * A handler for {@link java.util.logging} that tracks log records as events.
 *
 * <pre>{@code Logger.getLogger("").addHandler(new LogHandler("shop", "2.1"));}</pre>
 *
 * Each record becomes an event whose data are {@code level}, {@code logger}, {@code message}, {@code function}, {@code process},
 * {@code thread}, for an exception {@code exception}, and the fields of a map that is one of the record's parameters. Docs/Logging.md has
 * the table for all languages.
 *
 * The handler never waits and never throws. It drops records while there is no room ({@code buffer_full}), records that the daemon refuses
 * (the reason of the error), records that cannot be made into an event ({@code bad_record}), and records that are logged while four others
 * of the same thread are being made ({@code nested}). The next event that can be tracked is preceded by one named {@code EVENT.dropped}.
 * Records of the logger {@code headgate} are not tracked: they are the client's own.
 */
public final class LogHandler extends Handler {
    private static final int MOST_NESTED = 4;
    private static final int DEEPEST = 8;
    private static final Duration FLUSH = Duration.ofSeconds(2);
    private static final SimpleFormatter FORMATTER = new SimpleFormatter();

    private final Client client;
    private final boolean isOwn;
    private final String event;
    private final ThreadLocal<Integer> nesting = ThreadLocal.withInitial(() -> 0);
    private final Map<String, Long> ever = new TreeMap<>();
    private Map<String, Long> unreported = new TreeMap<>();
    private Instant since = Instant.EPOCH;

    /** Makes a handler with a client of its own, which keeps records while the daemon is away, without a time limit. */
    public LogHandler(String program, String version) {
        this(new Client(program, version, new Options().connectTimeout(null).closeTimeout(FLUSH)), "log", true);
    }

    /** Makes a handler for a client of the program, which the program closes itself. */
    public LogHandler(Client client) {
        this(client, "log", false);
    }

    /** Makes a handler whose events have another name. */
    public LogHandler(Client client, String event) {
        this(client, event, false);
    }

    private LogHandler(Client client, String event, boolean isOwn) {
        this.client = client;
        this.event = event;
        this.isOwn = isOwn;
    }

    @Override
    public boolean isLoggable(LogRecord record) {
        String name = record == null ? "headgate" : String.valueOf(record.getLoggerName());
        return !name.equals("headgate") && !name.startsWith("headgate.") && super.isLoggable(record);
    }

    /** Tracks a record, or drops it. */
    @Override
    public void publish(LogRecord record) {
        if (nesting.get() >= MOST_NESTED) {
            drop("nested", 1);
            return;
        }
        nesting.set(nesting.get() + 1);
        try {
            if (isLoggable(record)) {
                Event made = Event.of(event, data(record)).time(record.getInstant());
                reportDropped();
                client.tryTrack(made).whenComplete((receipt, error) -> judge(error));
            }
        } catch (HeadgateException error) {
            judge(error);
        } catch (RuntimeException | StackOverflowError error) {
            drop("bad_record", 1);
        } finally {
            nesting.set(nesting.get() - 1);
        }
    }

    /** Waits until all records are acknowledged, but no longer than two seconds. */
    @Override
    public void flush() {
        try {
            reportDropped();
            client.drain(FLUSH);
        } catch (RuntimeException error) {
            // A record that is not acknowledged is counted when the client drops it.
        }
    }

    /** Closes the handler's own client. Writes to standard error how many records were dropped and not reported. */
    @Override
    public void close() {
        if (isOwn) {
            client.close();
        }
        Map<String, Long> reasons = take();
        if (!reasons.isEmpty()) {
            System.err.println("headgate: log records dropped: " + reasons);
        }
    }

    /** Returns the number of records that have been dropped so far, by reason. */
    public Map<String, Long> dropped() {
        synchronized (ever) {
            return new HashMap<>(ever);
        }
    }

    private void judge(Throwable error) {
        if (error instanceof HeadgateException refusal) {
            String reason = refusal.reason() == null ? "refused" : refusal.reason();
            drop(reason.equals("misuse") ? "bad_record" : reason, 1);
        }
    }

    private void drop(String reason, long count) {
        synchronized (ever) {
            ever.merge(reason, count, Long::sum);
            since = unreported.isEmpty() ? Instant.now() : since;
            unreported.merge(reason, count, Long::sum);
        }
    }

    private Map<String, Long> take() {
        synchronized (ever) {
            Map<String, Long> reasons = unreported;
            unreported = new TreeMap<>();
            return reasons;
        }
    }

    private void putBack(Map<String, Long> reasons, Instant first) {
        synchronized (ever) {
            since = first;
            reasons.forEach((reason, count) -> unreported.merge(reason, count, Long::sum));
        }
    }

    private void reportDropped() {
        Instant first = since;
        Map<String, Long> reasons = client.hasRoom() ? take() : Map.of();
        if (reasons.isEmpty()) {
            return;
        }
        long count = reasons.values().stream().mapToLong(Long::longValue).sum();
        try {
            Event report = Event.of(event + ".dropped", Map.of("count", count, "reasons", reasons, "since", first.toString()));
            client.tryTrack(report).whenComplete((receipt, error) -> {
                if (error != null) {
                    putBack(reasons, first);
                }
            });
        } catch (HeadgateException error) {
            putBack(reasons, first);
        }
    }

    private static Map<String, Object> data(LogRecord record) {
        Map<String, Object> data = new LinkedHashMap<>();
        if (record.getParameters() != null) {
            for (Object parameter : record.getParameters()) {
                if (parameter instanceof Map<?, ?> fields) {
                    fields.forEach((name, value) -> data.put(String.valueOf(name), plain(value, 0)));
                }
            }
        }
        data.put("level", level(record.getLevel()));
        data.put("message", String.valueOf(FORMATTER.formatMessage(record)));
        if (record.getLoggerName() != null && !record.getLoggerName().isEmpty()) {
            data.put("logger", record.getLoggerName());
        }
        if (record.getSourceClassName() != null) {
            data.put("function", record.getSourceClassName() + "." + record.getSourceMethodName());
        }
        data.put("process", ProcessHandle.current().pid());
        data.put("thread", Thread.currentThread().getName());
        if (record.getThrown() != null) {
            data.put("exception", stack(record.getThrown()));
        }
        return data;
    }

    private static String level(Level level) {
        int value = level.intValue();
        if (value >= Level.SEVERE.intValue()) {
            return "ERROR";
        } else if (value >= Level.WARNING.intValue()) {
            return "WARNING";
        } else if (value >= Level.INFO.intValue()) {
            return "INFO";
        }
        return value >= Level.FINE.intValue() ? "DEBUG" : "TRACE";
    }

    private static String stack(Throwable thrown) {
        StringWriter text = new StringWriter();
        thrown.printStackTrace(new PrintWriter(text));
        return text.toString().stripTrailing();
    }

    /** Returns a value that JSON can represent. Other values become text. */
    private static Object plain(Object value, int depth) {
        if (value instanceof Map<?, ?> map && depth < DEEPEST) {
            Map<String, Object> members = new LinkedHashMap<>();
            map.forEach((name, member) -> members.put(String.valueOf(name), plain(member, depth + 1)));
            return members;
        } else if (value instanceof Iterable<?> list && depth < DEEPEST) {
            java.util.List<Object> all = new java.util.ArrayList<>();
            list.forEach(member -> all.add(plain(member, depth + 1)));
            return all;
        }
        boolean isNumber = value instanceof Number && Json.isNumber(value.toString());
        boolean isPlain = value == null || value instanceof Boolean || isNumber || value instanceof Instant;
        return isPlain ? value : String.valueOf(value);
    }
}
