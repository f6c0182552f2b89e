package headgate;

import java.util.List;
import java.util.Map;

/**
 * The receipt of events that are stored together.
 *
 * @param ids their ids, in order
 * @param firstSeq the lowest number among them; 0 if all are unrouted
 * @param lastSeq the highest number among them; 0 if all are unrouted
 * @param duplicates how many the daemon had stored before
 * @param unrouted how many no dispatcher wants
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
