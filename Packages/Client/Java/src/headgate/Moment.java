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

    /** Returns the moment after a duration from now; null is never. */
    static Moment after(Duration duration) {
        long wait = nanoseconds(duration);
        return wait == Long.MAX_VALUE ? NEVER : new Moment(System.nanoTime() + wait, false);
    }

    /** Returns a duration in nanoseconds. Null, or a century and more, never ends; a negative duration is 0. */
    static long nanoseconds(Duration duration) {
        if (duration == null || duration.compareTo(LONGEST) > 0) {
            return Long.MAX_VALUE;
        }
        return duration.isNegative() ? 0 : duration.toNanos();
    }

    static Moment now() {
        return after(Duration.ZERO);
    }

    /** Returns the nanoseconds until the moment, 0 if it has passed. */
    long left() {
        return isNever ? Long.MAX_VALUE : Math.max(0, at - System.nanoTime());
    }

    boolean isOver() {
        return left() == 0;
    }
}
