package headgate;

import java.time.Duration;

/** A moment of the monotonic clock, or never. */
final class Moment {
    static final Moment NEVER = new Moment(0, true);
    static final Duration LONGEST = Duration.ofDays(36_500);
    private final long at;
    private final boolean isNever;

    private Moment(long at, boolean isNever) {
        this.at = at;
        this.isNever = isNever;
    }

    /** Returns the moment after so long; null is never. */
    static Moment after(Duration duration) {
        if (duration == null || duration.compareTo(LONGEST) > 0) {
            return NEVER;
        }
        return new Moment(System.nanoTime() + Math.max(0, duration.toNanos()), false);
    }

    static Moment now() {
        return after(Duration.ZERO);
    }

    /** Returns the nanoseconds until then, 0 if it is over. */
    long left() {
        return isNever ? Long.MAX_VALUE : Math.max(0, at - System.nanoTime());
    }

    boolean isOver() {
        return left() == 0;
    }
}
