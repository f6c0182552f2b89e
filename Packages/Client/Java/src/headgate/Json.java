package headgate;

import java.lang.reflect.Array;
import java.lang.reflect.RecordComponent;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.time.temporal.TemporalAccessor;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.regex.Pattern;

/**
 * Writes values as JSON, and reads JSON.
 *
 * Reading returns maps, lists, strings, Booleans and null. A whole number is a Long or a BigInteger; another number is a Double, or a
 * BigDecimal if a Double would lose digits.
 */
public final class Json {
    private static final int DEEPEST_READ = 1_000;
    private static final int DEEPEST_WRITTEN = 500;
    private static final int MOST_DIGITS = 10_000;
    private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*+)(\\.[0-9]++)?([eE][+-]?[0-9]++)?");

    private Json() {}

    /** Thrown for text that is not JSON. */
    static final class Malformed extends Exception {
        private static final long serialVersionUID = 1L;

        Malformed(String message) {
            super(message, null, false, false);
        }
    }

    /** Returns a value if it is an object, or else an empty map. */
    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return value instanceof Map<?, ?> map ? (Map<String, Object>) map : Map.of();
    }

    /** Returns true if a text is a JSON number. The text of a {@link Number} may be {@code NaN}, {@code 1/2}, or anything else. */
    static boolean isNumber(String text) {
        return NUMBER.matcher(text).matches();
    }

    /** Returns a value as JSON. Throws {@code misuse} for a value that JSON cannot represent. */
    public static String write(Object value) {
        Writer writer = new Writer();
        writer.write(value, 0);
        return writer.text.toString();
    }

    /** Writes a value, and records its nesting depth. */
    static final class Writer {
        final StringBuilder text = new StringBuilder();
        int deepest;

        void write(Object value, int depth) {
            if (value == null || value instanceof Boolean) {
                text.append(value);
            } else if (value instanceof CharSequence || value instanceof Character || value instanceof UUID) {
                string(value.toString());
            } else if (value instanceof Number number) {
                number(number);
            } else if (value instanceof Map<?, ?> map) {
                object(map, enter(depth));
            } else if (value instanceof Iterable<?> list) {
                array(list, enter(depth));
            } else if (value.getClass().isArray()) {
                array(listOf(value), enter(depth));
            } else if (value instanceof Record) {
                object(members(value), enter(depth));
            } else if (value instanceof Optional<?> optional) {
                write(optional.orElse(null), depth);
            } else {
                string(plain(value));
            }
        }

        private int enter(int depth) {
            if (depth >= DEEPEST_WRITTEN) {
                throw misuse("a value is nested deeper than " + DEEPEST_WRITTEN + " levels");
            }
            deepest = Math.max(deepest, depth + 1);
            return depth + 1;
        }

        private static HeadgateException misuse(String message) {
            return HeadgateException.local("misuse", message);
        }

        private static String plain(Object value) {
            if (value instanceof Enum<?> constant) {
                return constant.name();
            } else if (value instanceof Date date) {
                return Instant.ofEpochMilli(date.getTime()).toString();
            } else if (value instanceof OffsetDateTime time) {
                return time.toInstant().toString();
            } else if (value instanceof ZonedDateTime time) {
                return time.toInstant().toString();
            } else if (value instanceof TemporalAccessor) {
                return value.toString();
            }
            throw misuse("JSON cannot represent a " + value.getClass().getName());
        }

        private static List<Object> listOf(Object array) {
            List<Object> list = new ArrayList<>();
            for (int place = 0; place < Array.getLength(array); place++) {
                list.add(Array.get(array, place));
            }
            return list;
        }

        private static Map<String, Object> members(Object value) {
            Map<String, Object> members = new LinkedHashMap<>();
            try {
                for (RecordComponent component : value.getClass().getRecordComponents()) {
                    component.getAccessor().setAccessible(true);
                    members.put(component.getName(), component.getAccessor().invoke(value));
                }
            } catch (ReflectiveOperationException | RuntimeException error) {
                throw misuse("the record cannot be read: " + value.getClass().getName());
            }
            return members;
        }

        private void number(Number number) {
            String digits = number.toString();
            if (!isNumber(digits)) {
                throw misuse("JSON has no number for " + digits);
            }
            text.append(digits);
        }

        private void object(Map<?, ?> map, int depth) {
            text.append('{');
            String comma = "";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                text.append(comma);
                string(String.valueOf(entry.getKey()));
                text.append(':');
                write(entry.getValue(), depth);
                comma = ",";
            }
            text.append('}');
        }

        private void array(Iterable<?> list, int depth) {
            text.append('[');
            String comma = "";
            for (Object value : list) {
                text.append(comma);
                write(value, depth);
                comma = ",";
            }
            text.append(']');
        }

        private void string(String value) {
            text.append('"');
            for (int place = 0; place < value.length(); place++) {
                char letter = value.charAt(place);
                if (letter == '"' || letter == '\\') {
                    text.append('\\').append(letter);
                } else if (letter < ' ') {
                    text.append(String.format("\\u%04x", (int) letter));
                } else if (!Character.isSurrogate(letter)) {
                    text.append(letter);
                } else if (Character.isHighSurrogate(letter) && place + 1 < value.length() && Character.isLowSurrogate(value.charAt(place + 1))) {
                    text.append(letter).append(value.charAt(++place));
                } else {
                    text.append('\ufffd'); // a lone surrogate
                }
            }
            text.append('"');
        }
    }

    /** Reads JSON. Throws {@code bad_answer} for text that is not JSON. */
    public static Object read(String text) {
        try {
            return parse(text);
        } catch (Malformed error) {
            throw HeadgateException.local("bad_answer", error.getMessage());
        }
    }

    static Object parse(String text) throws Malformed {
        Reader reader = new Reader(text);
        Object value = reader.value(0);
        reader.space();
        if (reader.place < text.length()) {
            throw new Malformed("text after the end of JSON");
        }
        return value;
    }

    private static final class Reader {
        private final String text;
        private int place;

        Reader(String text) {
            this.text = text;
        }

        void space() {
            while (place < text.length() && " \t\r\n".indexOf(text.charAt(place)) >= 0) {
                place++;
            }
        }

        private char peek() {
            return place < text.length() ? text.charAt(place) : 0;
        }

        private boolean takes(char letter) {
            space();
            boolean isThere = peek() == letter && place < text.length();
            if (isThere) {
                place++;
            }
            return isThere;
        }

        Object value(int depth) throws Malformed {
            space();
            if (depth > DEEPEST_READ) {
                throw new Malformed("JSON is nested too deep");
            }
            return switch (peek()) {
                case '{' -> object(depth);
                case '[' -> array(depth);
                case '"' -> string();
                case 't' -> word("true", true);
                case 'f' -> word("false", false);
                case 'n' -> word("null", null);
                default -> number();
            };
        }

        private Object word(String word, Object value) throws Malformed {
            if (!text.startsWith(word, place)) {
                throw new Malformed("not JSON");
            }
            place += word.length();
            return value;
        }

        private Map<String, Object> object(int depth) throws Malformed {
            Map<String, Object> members = new LinkedHashMap<>();
            place++;
            if (takes('}')) {
                return members;
            }
            do {
                space();
                if (peek() != '"') {
                    throw new Malformed("a member without a name");
                }
                String name = string();
                if (!takes(':')) {
                    throw new Malformed("a member without a value");
                }
                members.put(name, value(depth + 1));
            } while (takes(','));
            if (!takes('}')) {
                throw new Malformed("an object is not closed");
            }
            return members;
        }

        private List<Object> array(int depth) throws Malformed {
            List<Object> list = new ArrayList<>();
            place++;
            if (takes(']')) {
                return list;
            }
            do {
                list.add(value(depth + 1));
            } while (takes(','));
            if (!takes(']')) {
                throw new Malformed("an array is not closed");
            }
            return list;
        }

        private String string() throws Malformed {
            StringBuilder into = new StringBuilder();
            place++;
            while (place < text.length()) {
                char letter = text.charAt(place++);
                if (letter == '"') {
                    return into.toString();
                } else if (letter < ' ') {
                    break;
                }
                into.append(letter == '\\' ? escape() : letter);
            }
            throw new Malformed("a string is not closed");
        }

        private char escape() throws Malformed {
            char letter = peek();
            place++;
            int index = "\"\\/bfnrt".indexOf(letter);
            if (index >= 0) {
                return "\"\\/\b\f\n\r\t".charAt(index);
            }
            int code = 0;
            for (int end = place + 4; letter == 'u' && place < end; place++) {
                int digit = peek() < 128 ? Character.digit(peek(), 16) : -1;
                code = digit < 0 ? -1 : code << 4 | digit;
                if (code < 0) {
                    break;
                }
            }
            if (letter != 'u' || code < 0) {
                throw new Malformed("an unknown escape");
            }
            return (char) code;
        }

        private boolean digits() {
            int begin = place;
            while (peek() >= '0' && peek() <= '9') {
                place++;
            }
            return place > begin;
        }

        private Object number() throws Malformed {
            int begin = place;
            if (peek() == '-') {
                place++;
            }
            int first = place;
            boolean isSound = digits() && (text.charAt(first) != '0' || place == first + 1);
            boolean isWhole = true;
            if (isSound && peek() == '.') {
                place++;
                isWhole = false;
                isSound = digits();
            }
            if (isSound && (peek() == 'e' || peek() == 'E')) {
                place++;
                isWhole = false;
                if (peek() == '+' || peek() == '-') {
                    place++;
                }
                isSound = digits();
            }
            if (!isSound) {
                throw new Malformed("not JSON");
            }
            String number = text.substring(begin, place);
            return isWhole && !number.equals("-0") ? whole(number) : real(number);
        }

        /** Returns a whole number, as text if it has very many digits: arithmetic with it would take too long. */
        private static Object whole(String number) {
            if (number.length() < 19) {
                return Long.valueOf(number);
            } else if (number.length() > MOST_DIGITS) {
                return number;
            }
            BigInteger value = new BigInteger(number);
            if (value.bitLength() < 64) {
                return value.longValueExact();
            }
            return value;
        }

        private static Object real(String number) {
            double value = Double.parseDouble(number);
            if (!Double.isInfinite(value)) {
                return value;
            }
            try {
                return number.length() > MOST_DIGITS ? number : new BigDecimal(number);
            } catch (NumberFormatException error) {
                return number;
            }
        }
    }
}
