package headgate;

import java.util.Map;

/** The error of a failed call. */
public final class HeadgateException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final long code;
    private final String reason;
    private final String path;
    private final transient Map<String, Object> data;
    /** True for an error of the socket that stays until a person changes the path or the rights. */
    final boolean isFault;

    HeadgateException(long code, String message, String reason, String path, Map<String, Object> data, boolean isFault) {
        super(message);
        this.code = code;
        this.reason = reason;
        this.path = path;
        this.data = data;
        this.isFault = isFault;
    }

    /** Returns JSON-RPC's code, -32000 for the daemon's own refusals, or 0 for an error of the client itself. */
    public long code() {
        return code;
    }

    /**
     * Returns the machine-readable reason, or null for JSON-RPC's own errors. It is the daemon's ({@code queue_full}, {@code storage} …), or
     * the client's: {@code cannot_connect}, {@code disconnected}, {@code timed_out}, {@code buffer_full}, {@code closed},
     * {@code bad_answer}, {@code misuse}.
     */
    public String reason() {
        return reason;
    }

    /** Returns the path of the wrong parameter, such as {@code events[1].event}, or null. */
    public String path() {
        return path;
    }

    /** Returns the other members of the daemon's error. */
    public Map<String, Object> data() {
        return data == null ? Map.of() : data;
    }

    static HeadgateException local(String reason, String message) {
        return new HeadgateException(0, message, reason, null, Map.of(), false);
    }

    static HeadgateException limit(String reason, String message) {
        return new HeadgateException(-32_000, message, reason, null, Map.of(), false);
    }

    /** Reads the member {@code error} of an answer. Returns null if it is no error of JSON-RPC. */
    static HeadgateException read(Object error) {
        if (!(error instanceof Map<?, ?> members && members.get("code") instanceof Long code && members.get("message") instanceof String message)) {
            return null;
        }
        Map<String, Object> data = Json.object(members.get("data"));
        String reason = data.get("reason") instanceof String text ? text : null;
        String path = data.get("path") instanceof String text ? text : null;
        return new HeadgateException(code, message, reason, path, data, false);
    }

    /** Returns a copy with the stack trace of the calling thread. */
    HeadgateException copy() {
        HeadgateException copy = new HeadgateException(code, getMessage(), reason, path, data, isFault);
        copy.initCause(this);
        return copy;
    }
}
