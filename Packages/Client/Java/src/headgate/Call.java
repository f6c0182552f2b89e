package headgate;

import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.function.BiConsumer;

/** A request that has no outcome yet. Its number is the request's id on every connection. */
final class Call {
    final String method;
    /** True if the call may be written again after a connection broke under it. */
    final boolean isRepeatable;
    /** True for an event whose caller does not wait for the acknowledgement. */
    final boolean isSoon;
    final int depth;
    private String body;
    long number;
    byte[] line;
    boolean isWritten;
    boolean isDone;
    Map<String, Object> result;
    HeadgateException error;
    Condition condition;
    /** Called on a thread of the hooks once there is an outcome; null if a caller waits for the call. */
    BiConsumer<Map<String, Object>, HeadgateException> whenDone;

    Call(String method, Map<String, ?> params, boolean isRepeatable, boolean isSoon) {
        this.method = method;
        this.isRepeatable = isRepeatable;
        this.isSoon = isSoon;
        Map<String, Object> message = new LinkedHashMap<>();
        message.put("method", method);
        message.put("params", params);
        Json.Writer writer = new Json.Writer();
        writer.write(message, 0);
        depth = writer.deepest;
        body = writer.text.substring(1);
    }

    void setNumber(long number) {
        this.number = number;
        line = ("{\"jsonrpc\":\"2.0\",\"id\":" + number + "," + body + "\n").getBytes(StandardCharsets.UTF_8);
        body = null;
    }
}
