package headgate;

import java.security.SecureRandom;
import java.util.UUID;

/** Makes ids from the time and random bits. Within a millisecond the next id is the last one plus one. */
final class Ids {
    private static final SecureRandom CHANCE = new SecureRandom();
    private static final long LOW = (1L << 62) - 1;
    private static long milliseconds;
    private static long high; // the 12 bits after the time
    private static long low; // the 62 bits after those

    private Ids() {}

    /** Returns a UUIDv7 (RFC 9562) that is greater than all that this process has made before. */
    static synchronized String next() {
        long now = System.currentTimeMillis();
        if (now > milliseconds) {
            milliseconds = now;
            high = CHANCE.nextInt(1 << 11); // the first bit is 0, so that counting on does not overflow
            low = CHANCE.nextLong() & LOW;
        } else {
            low += 1 + (CHANCE.nextInt() & 0xffff_ffffL);
            high += low >>> 62;
            low &= LOW;
            milliseconds += high >>> 12;
            high &= 0xfff;
        }
        return new UUID(milliseconds << 16 | 7 << 12 | high, 2L << 62 | low).toString();
    }
}
