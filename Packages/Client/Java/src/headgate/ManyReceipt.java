package headgate;

import java.util.List;
import java.util.Map;

/**
 * The receipt of events that are stored together.
 *
 * @param ids the events' ids, in order
 * @param firstSeq the lowest of their sequence numbers; 0 if all are unrouted
 * @param lastSeq the highest of their sequence numbers; 0 if all are unrouted
 * @param duplicates the number of events that the daemon had stored before
 * @param unrouted the number of events that no dispatcher takes
 */
public record ManyReceipt(List<String> ids, long firstSeq, long lastSeq, long duplicates, long unrouted) {
    static ManyReceipt read(Map<String, Object> result) {
        if (!(result.get("ids") instanceof List<?> ids)) {
            throw HeadgateException.local("bad_answer", "the result of track_many is malformed");
        }
        return new ManyReceipt(
            ids.stream().map(String::valueOf).toList(), number(result, "first_seq"), number(result, "last_seq"),
            number(result, "duplicates"), number(result, "unrouted"));
    }

    private static long number(Map<String, Object> result, String name) {
        return result.get(name) instanceof Long number ? number : 0;
    }
}
