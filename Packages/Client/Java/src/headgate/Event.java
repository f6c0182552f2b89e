package headgate;

import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Something that happened. An event is immutable: each method returns another one.
 *
 * <pre>{@code Event.of("order_placed", Map.of("order", 17)).key("user-7")}</pre>
 */
public final class Event {
    private final Map<String, Object> params;

    private Event(Map<String, Object> params) {
        this.params = params;
    }

    /** Makes an event without data. */
    public static Event of(String name) {
        return of(name, null);
    }

    /** Makes an event. The data are a map, a record, or null. */
    public static Event of(String name, Object data) {
        Map<String, Object> params = new LinkedHashMap<>();
        params.put("event", name);
        if (data != null) {
            params.put("data", data);
        }
        return new Event(params);
    }

    /** Sets the id by which the daemon recognises a repeat (Behaviour Q7). Without it the client makes a UUIDv7. */
    public Event id(String id) {
        return with("id", id);
    }

    /** Sets the key: events of one key keep their order also where several batches are in flight. */
    public Event key(String key) {
        return with("key", key);
    }

    /** Sets the time of the event. Without it the daemon sets the time at which it receives the event. */
    public Event time(Instant time) {
        return with("time", time);
    }

    /** Sets the only dispatchers that get the event. Without them the event follows the routes. */
    public Event dispatchers(List<String> dispatchers) {
        return with("dispatchers", dispatchers);
    }

    /** Sets the time from its receipt after which the event expires, in whole milliseconds. */
    public Event ttl(Duration ttl) {
        return with("ttl_ms", ttl.toMillis());
    }

    private Event with(String name, Object value) {
        Map<String, Object> changed = new LinkedHashMap<>(params);
        changed.put(name, value);
        return new Event(changed);
    }

    /** Returns the params of {@code track}, with an id. */
    Map<String, Object> params() {
        return params.containsKey("id") ? params : with("id", Ids.next()).params;
    }
}
