package headgate;

import java.time.Duration;

/** A moment of the monotonic clock, or never. */
final class Moment {
    static final Moment NEVER = new Moment(0, true);
    private static final Duration LONGEST = Duration.ofDays(36_500);
    private final long at;
    private final boolean isNever;

    private Moment(long at, boolean isNever) {
        this.at = at;
        this.isNever = isNever;
    }

    /** Returns the moment after so long; null is never. */
    static Moment after(Duration duration) {
        long wait = nanoseconds(duration);
        return wait == Long.MAX_VALUE ? NEVER : new Moment(System.nanoTime() + wait, false);
    }

    /** Returns a wait of any length in nanoseconds: null and a century are without an end, and a negative one is none. */
    static long nanoseconds(Duration duration) {
        if (duration == null || duration.compareTo(LONGEST) > 0) {
            return Long.MAX_VALUE;
        }
        return duration.isNegative() ? 0 : duration.toNanos();
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
