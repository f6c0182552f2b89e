import headgate.Client;
import headgate.Event;
import headgate.HeadgateException;
import headgate.Json;
import headgate.ManyReceipt;
import headgate.Options;
import headgate.Receipt;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;

/** The Java client as a program with the verbs of Docs/Clients.md. */
final class Certified {
    private static final PrintStream OUT = new PrintStream(System.out, false, StandardCharsets.UTF_8);

    private Certified() {}

    static synchronized void put(Object value) {
        OUT.print(Json.write(value) + "\n");
        OUT.flush();
    }

    static Map<String, Object> object(Object... members) {
        Map<String, Object> object = new LinkedHashMap<>();
        for (int place = 0; place < members.length; place += 2) {
            object.put((String) members[place], members[place + 1]);
        }
        return object;
    }

    static Map<String, Object> refusal(HeadgateException error) {
        return object("code", error.code(), "reason", error.reason(), "message", error.getMessage(), "path", error.path());
    }

    static Map<String, Object> outcome(Supplier<Object> work) {
        try {
            return object("result", work.get());
        } catch (HeadgateException error) {
            return object("error", refusal(error));
        } catch (CompletionException error) {
            return object("error", refusal((HeadgateException) error.getCause()));
        }
    }

    static Object orNull(long number) {
        return number == 0 ? null : number;
    }

    static Object plain(Receipt said) {
        return object("id", said.id(), "seq", orNull(said.seq()), "duplicate", said.duplicate(), "unrouted", said.unrouted());
    }

    static Object plain(ManyReceipt said) {
        return object(
            "ids", said.ids(), "first_seq", orNull(said.firstSeq()), "last_seq", orNull(said.lastSeq()), "duplicates", said.duplicates(),
            "unrouted", said.unrouted());
    }

    @SuppressWarnings("unchecked")
    static Event event(Map<String, Object> given) {
        Event event = Event.of((String) given.get("event"), given.get("data"));
        event = given.get("id") instanceof String id ? event.id(id) : event;
        event = given.get("key") instanceof String key ? event.key(key) : event;
        event = given.get("time") instanceof String time ? event.time(Instant.parse(time)) : event;
        event = given.get("dispatchers") instanceof List<?> list ? event.dispatchers((List<String>) list) : event;
        return given.get("ttl_ms") instanceof Long ttl ? event.ttl(Duration.ofMillis(ttl)) : event;
    }

    @SuppressWarnings("unchecked")
    static Object call(Client client, String method, Map<String, Object> values, Duration timeout) {
        return switch (method) {
            case "track" -> plain(client.track(event(values), timeout));
            case "track_many" -> plain(client.trackMany(
                ((List<Map<String, Object>>) values.get("events")).stream().map(Certified::event).toList(), timeout));
            case "flush" -> client.flush(values, timeout);
            case "status" -> client.status(timeout);
            default -> client.call(method, values, timeout);
        };
    }

    @SuppressWarnings("unchecked")
    static void calls(Client client, Duration timeout) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            Map<String, Object> asked = (Map<String, Object>) Json.read(line);
            Map<String, Object> values = (Map<String, Object>) asked.getOrDefault("arguments", Map.of());
            put(outcome(() -> call(client, (String) asked.get("method"), values, timeout)));
        }
    }

    static List<Event> events(String count, String name, int size) {
        List<Event> events = new ArrayList<>();
        for (int n = 0; n < Integer.parseInt(count); n++) {
            events.add(Event.of(name, size > 0 ? Map.of("n", n, "text", "x".repeat(size)) : Map.of("n", n)));
        }
        return events;
    }

    static void putOutcome(int n, CompletableFuture<Receipt> future) {
        Map<String, Object> line = object("n", n);
        line.putAll(outcome(() -> plain(future.join())));
        put(line);
    }

    /** Tracks events without waiting between them, and writes the outcomes in order. */
    static void track(Client client, String count, String name) {
        int n = 0;
        for (CompletableFuture<Receipt> future : client.trackEach(events(count, name, 0))) {
            putOutcome(n++, future);
        }
    }

    /** Tracks events with calls that never wait. Writes refusals at once, and the other outcomes later. */
    static void tryAll(Client client, String count, String name, int size) {
        Map<Integer, CompletableFuture<Receipt>> taken = new TreeMap<>();
        int n = 0;
        for (Event event : events(count, name, size)) {
            try {
                taken.put(n, client.tryTrack(event));
            } catch (HeadgateException error) {
                put(object("n", n, "error", refusal(error)));
            }
            n++;
        }
        put("tried");
        taken.forEach(Certified::putOutcome);
    }

    /** Tracks an event that uses the available room, and another that waits for room until the deadline. */
    static void room(Client client, String name, Duration timeout) {
        CompletableFuture<Receipt> first = client.trackSoon(Event.of(name));
        put(outcome(() -> plain(client.track(Event.of(name), timeout))));
        put(outcome(() -> plain(first.join())));
    }

    /** Tracks events without waiting, then ends the program in the given way. */
    static void end(Client client, String how, String count, String name) {
        if (how.equals("late")) {
            client.track(Event.of(name));
            Runtime.getRuntime().addShutdownHook(new Thread(() -> events(count, name, 0).forEach(client::trackSoon)));
            return;
        }
        events(count, name, 0).forEach(client::trackSoon);
        switch (how) {
            case "close" -> client.close();
            case "exit" -> System.exit(0);
            case "throw" -> throw new IllegalStateException("as was asked");
            default -> { }
        }
    }

    public static void main(String[] arguments) throws IOException {
        Map<String, String> given = new HashMap<>();
        int place = 0;
        for (; arguments[place].startsWith("--"); place += 2) {
            given.put(arguments[place].substring(2), arguments[place + 1]);
        }
        Options options = new Options().socketPath(given.get("socket")).namespace(given.get("namespace"))
            .backoff(Duration.ofMillis(10), Duration.ofMillis(200)).log(System.err::println);
        given.computeIfPresent("connect-timeout-ms", (key, text) -> { options.connectTimeout(milliseconds(text)); return text; });
        given.computeIfPresent("reconnect-timeout-ms", (key, text) -> { options.reconnectTimeout(milliseconds(text)); return text; });
        given.computeIfPresent("greeting-timeout-ms", (key, text) -> { options.greetingTimeout(milliseconds(text)); return text; });
        given.computeIfPresent("max-unanswered", (key, text) -> { options.maxUnanswered(Integer.parseInt(text)); return text; });
        if (given.containsKey("tell")) {
            options.onState((state, error) -> put(object("state", state))).log(text -> put(object("warning", text)));
        }
        Duration deadline = given.containsKey("deadline-ms") ? milliseconds(given.get("deadline-ms")) : null;
        Client client = new Client("certified", "1.0", options);
        String[] rest = java.util.Arrays.copyOfRange(arguments, place, arguments.length);
        switch (rest[0]) {
            case "calls" -> calls(client, deadline);
            case "track" -> track(client, rest[1], rest[2]);
            case "try" -> tryAll(client, rest[1], rest[2], rest.length > 3 ? Integer.parseInt(rest[3]) : 0);
            case "room" -> room(client, rest[1], deadline);
            default -> end(client, rest[1], rest[2], rest[3]);
        }
        if (!rest[0].equals("end")) {
            client.close();
        }
    }

    private static Duration milliseconds(String text) {
        return Duration.ofMillis(Long.parseLong(text));
    }
}
