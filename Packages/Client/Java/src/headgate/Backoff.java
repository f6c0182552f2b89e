package headgate;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;

/** The wait before the next attempt to connect, and the moment after which there is none. Moments are those of {@link System#nanoTime}. */
final class Backoff {
    private final long base;
    private final long cap;
    private Moment end;
    int failures;

    Backoff(Duration base, Duration cap) {
        this.base = Moment.nanoseconds(base);
        this.cap = Moment.nanoseconds(cap);
    }

    /** Sets the moment of the last attempt, unless it is set already. */
    void begin(Duration patience) {
        if (end == null) {
            end = Moment.after(patience);
        }
    }

    /** Forgets the end: the next call that waits has the whole timeout. */
    void rest() {
        end = null;
    }

    /** Notes that a call was answered. */
    void succeed() {
        failures = 0;
        end = null;
    }

    boolean isOver() {
        return end != null && end.isOver();
    }

    /**
     * Returns the moment of the next attempt. The wait is random, between half and all of the present wait, so that clients that lost the
     * daemon together do not reconnect together.
     */
    Moment next() {
        double longest = Math.min(cap, base * Math.pow(2, Math.min(failures - 1, 32)));
        long wait = (long) (longest * (0.5 + ThreadLocalRandom.current().nextDouble() / 2));
        return end != null && end.left() < wait ? end : Moment.after(Duration.ofNanos(wait));
    }
}
