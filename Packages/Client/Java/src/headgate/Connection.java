package headgate;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.AccessDeniedException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Decides when to connect, what to write, what to write again, and which outcome each call has.
 *
 * A repeatable call is not lost with a connection: it is written again on the next one, in the same order and under the same id. One thread
 * connects, reads and writes; one lock guards all state.
 */
final class Connection {
    private enum Phase { IDLE, WAITING, GREETING, OPEN, DRAINING, CLOSED }

    private static final int LONGEST_ANSWER = 256 << 20;
    /** The time that an ending connection waits for a daemon that does not read. */
    private static final Duration LAST_WRITE = Duration.ofSeconds(1);
    private static final Duration MOMENT = Duration.ofMillis(20);
    /** The bytes of output from which on no more calls are written. */
    private static final int MOST_OUTPUT = 256 << 10;
    private static final int LONGEST_PATH = 107;

    private final Options options;
    private final byte[] hello;
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final Hooks hooks = new Hooks();
    private final Backoff backoff;
    private final Map<Long, Call> calls = new LinkedHashMap<>();
    private ArrayDeque<Call> queue = new ArrayDeque<>();
    private final ArrayDeque<ByteBuffer> output = new ArrayDeque<>();
    private ByteArrayOutputStream input = new ByteArrayOutputStream();
    private final ByteBuffer chunk = ByteBuffer.allocate(1 << 16);
    private int outputBytes;
    private long heldBytes;
    private int unanswered;
    private long lastNumber;
    private long longestLine = 1_048_576;
    private long deepest = 64;
    private Phase phase = Phase.IDLE;
    private Moment until = Moment.NEVER;
    private Selector selector;
    private SocketChannel link;
    private Thread thread;
    private String state;
    private HeadgateException lastFailure;
    private boolean wasConnected;
    private boolean hasWarned;
    /** The number of events that were tracked without waiting, and dropped. */
    private int givenUp;
    private boolean isLeaving;
    private boolean isEnding;
    private boolean isRelearning;
    private boolean hasRelearned;

    Connection(byte[] hello, Options options) {
        this.hello = hello;
        this.options = options;
        backoff = new Backoff(options.backoffBase, options.backoffCap);
    }

    // MARK: From any thread

    /** Adds a call as soon as there is room. Throws {@code buffer_full} if there is none until the moment. */
    void begin(Call call, Moment moment) {
        lock.lock();
        try {
            while (!hasRoom() && !isOver()) {
                if (moment.isOver()) {
                    throw HeadgateException.local("buffer_full", because("there was no room for another event in time"));
                }
                await(changed, moment);
            }
            insert(call);
        } finally {
            lock.unlock();
        }
    }

    /** Waits until a call is answered. Cancels the call at the moment, or when the thread is interrupted. */
    Map<String, Object> wait(Call call, Moment moment) {
        lock.lock();
        try {
            while (!call.isDone) {
                if (moment.isOver()) {
                    throw late();
                }
                if (call.condition == null) {
                    call.condition = lock.newCondition();
                }
                await(call.condition, moment);
            }
        } finally {
            if (!call.isDone && remove(call)) {
                wake();
            }
            lock.unlock();
        }
        if (call.error != null) {
            throw call.error.copy();
        }
        return call.result;
    }

    private static void await(Condition condition, Moment moment) {
        try {
            condition.awaitNanos(moment.left());
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new CancellationException("the thread was interrupted while it waited for Headgate");
        }
    }

    /** Returns true if all calls are answered before the moment. */
    boolean isDrained(Moment moment) {
        lock.lock();
        try {
            while (!calls.isEmpty() && !moment.isOver()) {
                await(changed, moment);
            }
            return calls.isEmpty();
        } finally {
            lock.unlock();
        }
    }

    int unanswered() {
        lock.lock();
        try {
            return calls.size();
        } finally {
            lock.unlock();
        }
    }

    boolean hasRoomNow() {
        lock.lock();
        try {
            return hasRoom() && !isOver();
        } finally {
            lock.unlock();
        }
    }

    /** Waits until all calls are answered, at most until the moment. Returns the number of events that are not acknowledged. */
    int settle(Moment moment) {
        try {
            isDrained(moment);
        } catch (CancellationException error) {
            // The thread was interrupted: the wait ends now.
        }
        lock.lock();
        try {
            int left = givenUp + unacknowledged();
            givenUp = 0;
            return left;
        } finally {
            lock.unlock();
        }
    }

    /** Returns the number of unacknowledged events that were tracked without waiting. */
    private int unacknowledged() {
        return (int) calls.values().stream().filter(call -> call.isSoon).count();
    }

    /** Ends all calls and the connection. Returns the number of events that were not acknowledged. */
    int close(Moment moment) {
        lock.lock();
        isLeaving = true;
        lock.unlock();
        int left = settle(moment);
        Thread running;
        lock.lock();
        try {
            if (phase != Phase.CLOSED) {
                endForGood(moment);
            }
            running = thread;
        } finally {
            lock.unlock();
        }
        try {
            if (running != null) {
                running.join(2 * LAST_WRITE.toMillis());
            }
            hooks.await(moment.isOver() || moment == Moment.NEVER ? Moment.after(MOMENT.multipliedBy(10)) : moment);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        return left;
    }

    void log(String text) {
        options.log.accept("headgate: " + text);
    }

    // MARK: With the lock

    private boolean hasRoom() {
        return calls.size() < options.maxUnanswered && heldBytes < options.maxUnansweredBytes;
    }

    private boolean isOver() {
        return phase == Phase.CLOSED || isLeaving;
    }

    private void insert(Call call) {
        if (isOver()) {
            throw HeadgateException.local("closed", "the client is closed");
        }
        start();
        call.setNumber(++lastNumber);
        calls.put(call.number, call);
        heldBytes += call.line.length;
        queue.add(call);
        if (phase == Phase.IDLE) {
            phase = Phase.WAITING;
            until = Moment.now();
            backoff.begin(wasConnected ? options.reconnectTimeout : options.connectTimeout);
        }
        wake();
    }

    private void start() {
        if (thread != null) {
            return;
        }
        Thread made = new Thread(this::run, "headgate");
        made.setDaemon(true);
        try {
            if (selector == null) {
                selector = Selector.open();
            }
            made.start();
        } catch (IOException | OutOfMemoryError error) { // OutOfMemoryError if the system has no more threads
            throw cannotConnect(error.getMessage());
        }
        thread = made;
    }

    private void wake() {
        if (selector != null) {
            selector.wakeup();
        }
    }

    private void endForGood(Moment moment) {
        phase = Phase.CLOSED;
        until = Moment.after(moment.isOver() ? MOMENT : LAST_WRITE);
        setState("closed", null);
        failAll(HeadgateException.local("closed", "the client is closed"));
        changed.signalAll();
        wake();
    }

    private boolean isConnected() {
        return phase == Phase.OPEN || phase == Phase.DRAINING;
    }

    /** Returns the error of a call whose timeout has passed. */
    private HeadgateException late() {
        boolean isAway = !isConnected() && lastFailure != null;
        return isAway ? lastFailure.copy() : HeadgateException.local("timed_out", "no answer came in time");
    }

    /** Returns a text, followed by the reason if there is no connection. */
    private String because(String text) {
        return isConnected() || lastFailure == null ? text : text + ": " + lastFailure.getMessage();
    }

    private void setState(String next, HeadgateException error) {
        if (!next.equals(state)) {
            state = next;
            hooks.add(() -> options.onState.accept(next, error));
        }
    }

    /** Reports that a connection is wanted and cannot be made. It is logged once until a call is answered again. */
    private void missing(HeadgateException error) {
        lastFailure = error;
        setState("disconnected", error);
        if (!hasWarned) {
            hasWarned = true;
            hooks.add(() -> log(error.getMessage()));
        }
    }

    // MARK: The thread

    private void run() {
        while (true) {
            try {
                if (!turn()) {
                    return;
                }
            } catch (Throwable error) { // callers must not wait without end, whatever the error
                lock.lock();
                try {
                    giveUp(HeadgateException.local("bad_answer", "the client failed: " + error));
                } finally {
                    lock.unlock();
                }
            }
        }
    }

    /** Waits for something to do, and does it. Returns false when the connection is closed for good. */
    private boolean turn() throws IOException {
        long timeout;
        lock.lock();
        try {
            passTime();
            proceed();
            if (phase == Phase.CLOSED && (link == null || output.isEmpty() || until.isOver())) {
                forgetLink();
                selector.close();
                return false;
            }
            if (link != null) {
                link.keyFor(selector).interestOps(SelectionKey.OP_READ | (output.isEmpty() ? 0 : SelectionKey.OP_WRITE));
            }
            boolean hasEnd = phase == Phase.WAITING || phase == Phase.GREETING || phase == Phase.CLOSED || isEnding;
            timeout = hasEnd ? Math.min(until.left() / 1_000_000 + 1, 86_400_000) : 0;
        } finally {
            lock.unlock();
        }
        selector.select(timeout);
        lock.lock();
        try {
            SelectionKey key = link == null ? null : link.keyFor(selector);
            selector.selectedKeys().clear();
            if (key != null && key.isValid() && key.isWritable()) {
                send();
            }
            if (key != null && key.isValid() && key.isReadable() && link != null) {
                receive();
            }
        } finally {
            lock.unlock();
        }
        return true;
    }

    private void passTime() {
        if (phase == Phase.WAITING && until.isOver()) {
            attempt();
        } else if (phase == Phase.GREETING && until.isOver()) {
            couldNotConnect(cannotConnect("connected, but the daemon does not answer"));
        } else if (phase == Phase.DRAINING && isEnding && until.isOver()) {
            lose(HeadgateException.local("disconnected", "the daemon is stopping"), false);
        }
    }

    private void attempt() {
        if (calls.isEmpty()) {
            rest();
            return;
        }
        try {
            UnixDomainSocketAddress address = UnixDomainSocketAddress.of(options.socketPath);
            link = SocketChannel.open(StandardProtocolFamily.UNIX);
            link.configureBlocking(false);
            if (!link.connect(address)) {
                throw new IOException("too many programs are waiting to connect");
            }
            link.register(selector, SelectionKey.OP_READ);
        } catch (IOException | InvalidPathException error) {
            couldNotConnect(reasonOf(error));
            return;
        }
        write(hello);
        phase = Phase.GREETING;
        until = Moment.after(options.greetingTimeout);
    }

    private HeadgateException cannotConnect(String cause) {
        return HeadgateException.local("cannot_connect", "cannot connect to " + options.socketPath + ": " + cause);
    }

    /** Returns the error of a failed attempt. Java does not give the system's error, so the path is examined. */
    private HeadgateException reasonOf(Exception error) {
        String fault = faultOfPath(error);
        if (fault != null) {
            String message = cannotConnect(fault).getMessage();
            return new HeadgateException(0, message, "cannot_connect", null, Map.of(), true);
        }
        boolean isThere = Files.exists(Path.of(options.socketPath));
        return cannotConnect(isThere ? String.valueOf(error.getMessage()) : "no such socket");
    }

    /** Returns the fault of the path that stays until a person changes the path or the rights, or null. */
    private String faultOfPath(Exception error) {
        if (error instanceof InvalidPathException) {
            return "the path contains a NUL byte";
        } else if (options.socketPath.getBytes(StandardCharsets.UTF_8).length > LONGEST_PATH) {
            return "the path is too long for a socket";
        }
        Path path = Path.of(options.socketPath);
        try {
            Files.readAttributes(path, "size");
        } catch (NoSuchFileException missing) {
            return null;
        } catch (AccessDeniedException denied) {
            return "Permission denied";
        } catch (FileSystemException other) {
            return other.getReason();
        } catch (IOException | RuntimeException other) {
            return null;
        }
        return Files.isWritable(path) ? null : "Permission denied";
    }

    private void couldNotConnect(HeadgateException error) {
        forgetLink();
        missing(error);
        // A client that was connected once waits: while a daemon starts again its folder may be shut for a moment.
        if (error.isFault && !wasConnected) {
            giveUp(error);
        } else {
            retry(error);
        }
    }

    private void giveUp(HeadgateException error) {
        givenUp += unacknowledged();
        forgetLink();
        if (phase != Phase.CLOSED) {
            rest();
        }
        failAll(error);
    }

    private void retry(HeadgateException error) {
        backoff.failures++;
        if (calls.isEmpty()) {
            rest();
            return;
        }
        backoff.begin(options.reconnectTimeout);
        if (backoff.isOver()) {
            giveUp(error);
            return;
        }
        phase = Phase.WAITING;
        until = backoff.next();
    }

    private void rest() {
        phase = Phase.IDLE;
        backoff.rest();
    }

    private void forgetLink() {
        if (link != null) {
            try {
                link.close();
                selector.selectNow(); // the descriptor is freed when the key is taken out
            } catch (IOException error) {
                // The connection is closed in any case.
            }
        }
        link = null;
        output.clear();
        outputBytes = 0;
        input = new ByteArrayOutputStream();
        isEnding = false;
        isRelearning = false;
    }

    /** Handles a lost connection: puts repeatable calls back into the queue in their order, and fails the others. */
    private void lose(HeadgateException error, boolean isNonsense) {
        forgetLink();
        lastFailure = error;
        setState("disconnected", error);
        for (Call call : new ArrayList<>(calls.values())) {
            // The client cannot tell which call a malformed message is about. Repeating the written calls might cause it again, without end.
            if (call.isWritten && (isNonsense || !call.isRepeatable)) {
                finish(call, null, error);
            } else {
                unmark(call);
            }
        }
        queue = new ArrayDeque<>(calls.values());
        retry(error);
    }

    /** Writes queued calls, or ends a connection that has nothing left to write or answer. */
    private void proceed() {
        if (phase == Phase.DRAINING && !isEnding && (unanswered == 0 || isRelearning)) {
            isEnding = true;
            until = output.isEmpty() ? Moment.now() : Moment.after(LAST_WRITE);
        }
        while (phase == Phase.OPEN && outputBytes < MOST_OUTPUT && !queue.isEmpty()) {
            Call call = queue.poll();
            if (call.isWritten || calls.get(call.number) != call) {
                continue;
            }
            HeadgateException fault = faultOf(call);
            if (fault == null) {
                call.isWritten = true;
                unanswered++;
                write(call.line);
            } else {
                finish(call, null, fault);
            }
        }
    }

    /** Returns the error of a call that is beyond the daemon's limits: the daemon would answer it without its number. */
    private HeadgateException faultOf(Call call) {
        if (call.line.length - 1 > longestLine) {
            return HeadgateException.limit("line_too_long", "the message is longer than the " + longestLine + " bytes that the daemon accepts");
        } else if (call.depth > deepest) {
            return HeadgateException.limit("limit", "nested deeper than the " + deepest + " levels that the daemon accepts");
        }
        return null;
    }

    private void write(byte[] line) {
        output.add(ByteBuffer.wrap(line));
        outputBytes += line.length;
    }

    private void send() {
        try {
            ByteBuffer[] some = output.stream().limit(64).toArray(ByteBuffer[]::new);
            outputBytes -= (int) link.write(some);
            while (!output.isEmpty() && !output.peek().hasRemaining()) {
                output.poll();
            }
        } catch (IOException error) {
            output.clear(); // reading notices the failure, after the daemon's last messages
            outputBytes = 0;
        }
        if (output.isEmpty() && isEnding) {
            until = Moment.now();
        }
    }

    private void receive() {
        try {
            int count = link.read(chunk.clear());
            if (count < 0) {
                disconnected();
                return;
            }
        } catch (IOException error) {
            disconnected();
            return;
        }
        SocketChannel present = link;
        byte[] bytes = chunk.array();
        int begin = 0;
        int end = chunk.position();
        for (int place = 0; place < end && link == present; place++) {
            if (bytes[place] == '\n') {
                input.write(bytes, begin, place - begin);
                begin = place + 1;
                byte[] line = input.toByteArray();
                input.reset();
                takeLine(line);
            }
        }
        if (link == present && begin < end) {
            input.write(bytes, begin, end - begin);
            if (input.size() > LONGEST_ANSWER) {
                gotNonsense("a line has more than " + LONGEST_ANSWER + " bytes");
            }
        }
    }

    private void disconnected() {
        if (phase == Phase.GREETING) {
            couldNotConnect(cannotConnect("the daemon closed the connection"));
        } else if (phase == Phase.CLOSED) {
            forgetLink();
        } else {
            lose(HeadgateException.local("disconnected", "the connection was lost before the answer came"), false);
        }
    }

    // MARK: From the daemon

    private void takeLine(byte[] line) {
        Object message;
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(line)).toString();
            if (text.isBlank()) {
                return;
            }
            message = Json.parse(text);
        } catch (CharacterCodingException | Json.Malformed error) {
            gotNonsense("a line that is not JSON");
            return;
        }
        SocketChannel present = link;
        List<?> all = message instanceof List<?> list && !list.isEmpty() ? list : java.util.Collections.singletonList(message);
        for (Object one : all) {
            if (link == present) {
                take(one);
            }
        }
    }

    private void take(Object value) {
        Map<String, Object> message = Json.object(value);
        boolean hasError = message.containsKey("error");
        HeadgateException error = hasError ? HeadgateException.read(message.get("error")) : null;
        boolean isAnswer = hasError != message.containsKey("result") && hasError == (error != null);
        if ("2.0".equals(message.get("jsonrpc")) && message.get("method") instanceof String method) {
            takeCall(method, message);
        } else if (!"2.0".equals(message.get("jsonrpc")) || message.containsKey("method") || !isAnswer) {
            gotNonsense("a line that is not a message");
        } else {
            takeAnswer(message.get("id"), message.get("result"), error);
        }
    }

    private void takeCall(String method, Map<String, Object> message) {
        if (message.containsKey("id")) {
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("jsonrpc", "2.0");
            answer.put("id", message.get("id"));
            answer.put("error", Map.of("code", -32_601, "message", "there is no method " + method));
            write((Json.write(answer) + "\n").getBytes(StandardCharsets.UTF_8));
        } else if (method.equals("closing") && phase == Phase.GREETING) {
            foundStopping("the daemon is stopping");
        } else if (method.equals("closing") && phase == Phase.OPEN) {
            phase = Phase.DRAINING;
        }
    }

    private void takeAnswer(Object id, Object result, HeadgateException error) {
        if (id == null && error != null) {
            gotAnonymousError(error);
        } else if (!(id instanceof Long || id instanceof java.math.BigInteger)) {
            gotNonsense("an answer without a request");
        } else if (phase != Phase.GREETING) {
            answered(calls.get(id), result, error);
        } else if (id.equals(0L) && error == null) {
            greeted(Json.object(Json.object(result).get("limits")));
        } else if (id.equals(0L)) {
            greetingRefused(error);
        }
    }

    private void greeted(Map<String, Object> limits) {
        longestLine = limits.get("max_line_bytes") instanceof Long bytes ? bytes : 1_048_576;
        deepest = limits.get("max_depth") instanceof Long depth ? depth : 64;
        if (!wasConnected) {
            backoff.rest(); // the connect timeout counts for the first connection only
        }
        wasConnected = true;
        lastFailure = null;
        phase = Phase.OPEN;
        setState("connected", null);
    }

    private void greetingRefused(HeadgateException error) {
        if ("shutting_down".equals(error.reason())) {
            foundStopping(error.getMessage());
        } else if ("limit".equals(error.reason())) {
            couldNotConnect(cannotConnect(error.getMessage()));
        } else {
            missing(error);
            giveUp(error);
        }
    }

    /** Notes that a daemon is stopping. Calls wait as after a lost connection, because the daemon may be restarting. */
    private void foundStopping(String cause) {
        if (!wasConnected) {
            backoff.rest();
        }
        wasConnected = true;
        couldNotConnect(cannotConnect(cause));
    }

    @SuppressWarnings("unchecked")
    private void answered(Call call, Object result, HeadgateException refusal) {
        if (call == null || !call.isWritten) {
            return; // its caller does not wait any more
        }
        if (refusal != null && "shutting_down".equals(refusal.reason()) && call.isRepeatable) {
            unmark(call);
            phase = phase == Phase.OPEN ? Phase.DRAINING : phase;
            return;
        }
        backoff.succeed();
        hasWarned = false;
        hasRelearned = hasRelearned && isRelearning;
        HeadgateException error = refusal;
        if (error == null && !(result instanceof Map)) {
            error = HeadgateException.local("bad_answer", "the result of " + call.method + " is not an object");
        }
        finish(call, error == null ? (Map<String, Object>) result : null, error);
    }

    private void gotNonsense(String text) {
        HeadgateException error = HeadgateException.local("bad_answer", "malformed answer from the daemon: " + text);
        if (phase == Phase.GREETING) {
            couldNotConnect(error);
        } else if (phase != Phase.CLOSED) {
            lose(error, true);
        }
    }

    /** Handles an error that names no request. The limits may have changed since the greeting, so the client reconnects to learn them. */
    private void gotAnonymousError(HeadgateException error) {
        boolean isLimit = "line_too_long".equals(error.reason()) || "limit".equals(error.reason());
        if (phase == Phase.GREETING) {
            greetingRefused(error);
        } else if (!isRelearning && (!isLimit || hasRelearned)) {
            gotNonsense(error.getMessage());
        } else if (!isRelearning) {
            isRelearning = true;
            hasRelearned = true;
            phase = phase == Phase.OPEN ? Phase.DRAINING : phase;
        }
    }

    // MARK: Outcomes of calls

    private void unmark(Call call) {
        unanswered -= call.isWritten ? 1 : 0;
        call.isWritten = false;
    }

    /** Removes a call from the table. Returns false if it is not in the table. */
    private boolean remove(Call call) {
        if (calls.remove(call.number) == null) {
            return false;
        }
        unmark(call);
        heldBytes -= call.line.length;
        // Cancelled calls must not be remembered while there is no daemon.
        if (phase != Phase.OPEN && queue.size() > 2 * calls.size() + 1024) {
            queue = new ArrayDeque<>(calls.values());
        }
        changed.signalAll();
        return true;
    }

    private void finish(Call call, Map<String, Object> result, HeadgateException error) {
        if (!remove(call)) {
            return;
        }
        call.result = result;
        call.error = error;
        call.isDone = true;
        if (call.condition != null) {
            call.condition.signalAll();
        }
        if (call.whenDone != null) {
            hooks.add(() -> call.whenDone.accept(result, error));
        }
    }

    private void failAll(HeadgateException error) {
        for (Call call : new ArrayList<>(calls.values())) {
            finish(call, null, error);
        }
    }
}
