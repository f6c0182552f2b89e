package headgate;

import java.util.Map;

/**
 * The receipt of an event.
 *
 * @param id the event's id
 * @param seq the event's sequence number in the daemon; 0 if no dispatcher takes it
 * @param duplicate true if the daemon had stored this id before: by this call's first attempt, or by another event with the same id. That
 *     event may since have been delivered or purged, or have become a dead letter
 * @param unrouted true if no dispatcher takes the event
 */
public record Receipt(String id, long seq, boolean duplicate, boolean unrouted) {
    static Receipt read(Map<String, Object> result) {
        Object seq = result.get("seq");
        if (!(result.get("id") instanceof String id) || !(seq == null || seq instanceof Long)) {
            throw HeadgateException.local("bad_answer", "the result of track is malformed");
        }
        return new Receipt(
            id, seq == null ? 0 : (Long) seq, Boolean.TRUE.equals(result.get("duplicate")), Boolean.TRUE.equals(result.get("unrouted")));
    }
}
