package headgate;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.math.BigDecimal;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.logging.Level;
import java.util.logging.Logger;

/** Tests of the Java client in its own process. The drivers of Tests/Clients see a program from outside only. */
final class ClientTest {
    private static final Duration SHORT = Duration.ofMillis(50);

    private ClientTest() {}

    /** A daemon whose messages the test writes. */
    private static final class FakeDaemon implements AutoCloseable {
        final Path folder = Files.createTempDirectory("headgate-");
        final Path path = folder.resolve("d.sock");
        private ServerSocketChannel listener;
        private SocketChannel channel;
        private BufferedReader reader;

        FakeDaemon() throws IOException {
            listen();
        }

        void listen() throws IOException {
            listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX).bind(UnixDomainSocketAddress.of(path));
        }

        void stopListening() throws IOException {
            listener.close();
            Files.delete(path);
        }

        void greet() throws IOException {
            channel = listener.accept();
            reader = new BufferedReader(new InputStreamReader(Channels.newInputStream(channel), StandardCharsets.UTF_8));
            answer(request("hello"), Map.of("server", Map.of("name", "fake")));
        }

        Map<String, Object> request(String method) throws IOException {
            Map<String, Object> message = Json.object(Json.read(reader.readLine()));
            expect(method, message.get("method"));
            return message;
        }

        /** Takes an event, acknowledges it, and returns its params. */
        Map<String, Object> event() throws IOException {
            Map<String, Object> request = request("track");
            answer(request, Map.of("id", Json.object(request.get("params")).get("id"), "seq", 1));
            return Json.object(request.get("params"));
        }

        void answer(Map<String, Object> request, Map<String, Object> result) throws IOException {
            tell(Map.of("jsonrpc", "2.0", "id", request.get("id"), "result", result));
        }

        void tell(Map<String, Object> message) throws IOException {
            channel.write(ByteBuffer.wrap((Json.write(message) + "\n").getBytes(StandardCharsets.UTF_8)));
        }

        Options options() {
            return new Options().socketPath(path.toString()).backoff(Duration.ofMillis(10), Duration.ofMillis(100)).log(text -> {});
        }

        @Override
        public void close() throws IOException {
            listener.close();
            Files.deleteIfExists(path);
            Files.delete(folder);
        }
    }

    private interface Test {
        void run(FakeDaemon daemon) throws Exception;
    }

    static void expect(Object wanted, Object got) {
        if (!Objects.equals(wanted, got)) {
            throw new AssertionError("expected " + wanted + ", got " + got);
        }
    }

    private static String reasonOf(Runnable work) {
        try {
            work.run();
            return null;
        } catch (HeadgateException error) {
            return error.reason();
        }
    }

    private static void cancelledCallsAreNotWritten(FakeDaemon daemon) throws Exception {
        daemon.stopListening();
        try (Client client = new Client("test", "1", daemon.options())) {
            String reason = reasonOf(() -> client.track(Event.of("late"), SHORT)); // the timeout may pass before the first attempt
            expect(true, List.of("cannot_connect", "timed_out").contains(reason));
            expect(0, client.unanswered());
            daemon.listen();
            CompletableFuture<Receipt> next = client.tryTrack(Event.of("next"));
            daemon.greet();
            expect("next", daemon.event().get("event"));
            expect(1L, next.get().seq());
        }
    }

    private static void anInterruptedThreadGoesOn(FakeDaemon daemon) throws Exception {
        try (Client client = new Client("test", "1", daemon.options())) {
            BlockingQueue<Boolean> ended = new LinkedBlockingQueue<>();
            Thread thread = new Thread(() -> {
                try {
                    client.track(Event.of("interrupted"));
                } catch (CancellationException error) {
                    ended.add(Thread.currentThread().isInterrupted());
                }
            });
            thread.start();
            daemon.greet();
            daemon.request("track");
            thread.interrupt();
            expect(true, ended.take());
            expect(0, client.unanswered());
        }
    }

    private static void memoryIsBounded(FakeDaemon daemon) throws Exception {
        daemon.stopListening();
        try (Client client = new Client("test", "1", daemon.options().maxUnanswered(100).closeTimeout(Duration.ZERO))) {
            int refused = 0;
            for (int n = 0; n < 1_000; n++) {
                refused += "buffer_full".equals(reasonOf(() -> client.tryTrack(Event.of("x")))) ? 1 : 0;
            }
            expect(900, refused);
            expect(100, client.unanswered());
        }
    }

    private static void closeSaysHowManyEventsAreLeft(FakeDaemon daemon) throws Exception {
        List<String> said = new ArrayList<>();
        Client client = new Client("test", "1", daemon.options().log(said::add));
        for (int n = 0; n < 3; n++) {
            client.tryTrack(Event.of("x"));
        }
        daemon.greet();
        expect(3, client.close(SHORT));
        expect(List.of("headgate: 3 events were not acknowledged when the client was closed"), said);
        expect("closed", reasonOf(() -> client.track(Event.of("x"))));
    }

    private static void aHookMayCallTheClient(FakeDaemon daemon) throws Exception {
        BlockingQueue<Object> answers = new LinkedBlockingQueue<>();
        Client[] holder = new Client[1];
        Options options = daemon.options().onState((state, error) -> {
            if (state.equals("connected")) {
                answers.add(holder[0].status(null).get("ready"));
            }
        });
        try (Client client = new Client("test", "1", options)) {
            holder[0] = client;
            CompletableFuture<Receipt> receipt = client.tryTrack(Event.of("x"));
            daemon.greet();
            daemon.event();
            daemon.answer(daemon.request("status"), Map.of("ready", true));
            expect(true, answers.take());
            receipt.thenRun(() -> answers.add(client.hasRoom()));
            expect(true, answers.take());
        }
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> void throwAny(Throwable error) throws T {
        throw (T) error;
    }

    /** Hooks may throw anything, as code in other languages of the JVM does: a checked exception, or one without a text. */
    private static void aHookThatFailsEndsNothing(FakeDaemon daemon) throws Exception {
        List<Throwable> thrown = List.of(new IOException("as was asked"), new StackOverflowError(), new RuntimeException() {
            @Override
            public String toString() {
                throw new IllegalStateException("no");
            }
        });
        for (Throwable error : thrown) {
            BlockingQueue<String> states = new LinkedBlockingQueue<>();
            Options options = daemon.options().onState((state, cause) -> {
                states.add(state);
                ClientTest.<RuntimeException>throwAny(error);
            });
            PrintStream standard = System.err;
            System.setErr(new PrintStream(OutputStream.nullOutputStream()));
            try {
                Client client = new Client("test", "1", options);
                CompletableFuture<Receipt> receipt = client.tryTrack(Event.of("x"));
                daemon.greet();
                daemon.event();
                receipt.get(60, TimeUnit.SECONDS);
                client.close();
                expect("connected", states.take());
                expect("closed", states.poll(60, TimeUnit.SECONDS));
            } finally {
                System.setErr(standard);
            }
        }
    }

    private record Point(int x, List<String> names) {}

    private enum Plan { FREE }

    /** Returns a number whose text is any text, as the numbers of other libraries have it. */
    private static Number odd(String text) {
        return new BigDecimal(0) {
            private static final long serialVersionUID = 1L;

            @Override
            public String toString() {
                return text;
            }
        };
    }

    private static void waitsOfAnyLengthEndNothing(FakeDaemon daemon) throws Exception {
        Duration longest = Duration.ofSeconds(Long.MAX_VALUE);
        for (Duration wait : new Duration[] {longest, null}) {
            Options options = daemon.options().connectTimeout(wait).reconnectTimeout(wait).greetingTimeout(wait).closeTimeout(wait)
                .backoff(wait, wait);
            Client client = new Client("test", "1", options);
            CompletableFuture<Receipt> future = client.tryTrack(Event.of("x"));
            daemon.greet();
            daemon.event();
            expect(1L, future.join().seq());
            client.close();
        }
        Duration shortest = Duration.ofSeconds(Long.MIN_VALUE);
        try (Client client = new Client("test", "1", daemon.options().backoff(shortest, shortest).connectTimeout(shortest))) {
            client.drain(shortest);
            daemon.stopListening();
            expect("cannot_connect", reasonOf(() -> client.track(Event.of("x"))));
            expect(0, client.close(shortest));
        }
    }

    private static void valuesBecomeJson(FakeDaemon daemon) {
        Map<String, Object> data = new LinkedHashMap<>();
        data.put("record", new Point(1, List.of("a")));
        data.put("enum", Plan.FREE);
        data.put("time", OffsetDateTime.parse("2026-01-01T01:00+01:00"));
        data.put("uuid", new UUID(0, 1));
        data.put("array", new int[] {1, 2});
        data.put("half", "a\ud800b");
        data.put("text", "\"\\\u0001😀");
        String wanted = "{\"record\":{\"x\":1,\"names\":[\"a\"]},\"enum\":\"FREE\",\"time\":\"2026-01-01T00:00:00Z\","
            + "\"uuid\":\"00000000-0000-0000-0000-000000000001\",\"array\":[1,2],\"half\":\"a\ufffdb\",\"text\":\"\\\"\\\\\\u0001😀\"}";
        expect(wanted, Json.write(data));
        List<Object> loop = new ArrayList<>();
        loop.add(loop);
        DoubleAdder adder = new DoubleAdder();
        adder.add(Double.NaN);
        List<Object> all = new ArrayList<>(List.of(Double.NaN, Float.POSITIVE_INFINITY, adder, new Object(), loop));
        for (String text : List.of("1/2", "", "-", "01", "1.", ".5", "+1", "1e", "1 ", "1\n", "0x1", "\u0661")) {
            all.add(odd(text));
        }
        for (Object odd : all) {
            expect("misuse", reasonOf(() -> Json.write(odd)));
        }
        List<Number> numbers = List.of(-0.0, 1e300, 1e-7f, Long.MIN_VALUE, new BigDecimal("1E+3"), new AtomicLong(7), odd("-0.50e-10"));
        expect("[-0.0,1.0E300,1.0E-7,-9223372036854775808,1E+3,7,-0.50e-10]", Json.write(numbers));
        String digits = "7".repeat(100_000);
        expect(digits, Json.write(odd(digits)));
        expect(Long.MIN_VALUE, Json.read(String.valueOf(Long.MIN_VALUE)));
        for (String text : List.of("01", "1.", "{\"a\"}", "[1,]", "\"\t\"", "nul", "\"\\x\"", "", "1 2")) {
            expect("bad_answer", reasonOf(() -> Json.read(text)));
        }
    }

    private static void idsAscend(FakeDaemon daemon) {
        String last = "";
        for (int n = 0; n < 2_000; n++) {
            String next = Client.newId();
            expect(true, last.compareTo(next) < 0 && next.matches("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
            last = next;
        }
    }

    private static void theDefaultSocket(FakeDaemon daemon) throws Exception {
        Path below = Files.createDirectory(daemon.folder.resolve("headgate"));
        Map<String, String> environment = Map.of("HEADGATE_SOCKET", "", "XDG_RUNTIME_DIR", daemon.folder.toString());
        expect(below + "/headgate.sock", Client.defaultSocket(environment::get));
        Files.delete(below);
        expect("/x.sock", Client.defaultSocket(Map.of("HEADGATE_SOCKET", "/x.sock")::get));
        expect("/run/headgate/headgate.sock", Client.defaultSocket(Map.of("XDG_RUNTIME_DIR", "relative")::get));
    }

    private static Logger logger(LogHandler handler) {
        Logger logger = Logger.getAnonymousLogger();
        logger.setUseParentHandlers(false);
        logger.setLevel(Level.ALL);
        logger.addHandler(handler);
        return logger;
    }

    private static void recordsBecomeEvents(FakeDaemon daemon) throws Exception {
        try (Client client = new Client("test", "1", daemon.options())) {
            Logger logger = logger(new LogHandler(client));
            Map<String, Object> fields = Map.of("order", 17, "odd", Float.NaN, "half", odd("1/2"), "level", "x");
            logger.log(Level.WARNING, "order {0} is slow", new Object[] {"A", fields});
            daemon.greet();
            Map<String, Object> params = daemon.event();
            Map<String, Object> data = Json.object(params.get("data"));
            expect("log", params.get("event"));
            expect(List.of("WARNING", "order A is slow", 17L, "NaN", "1/2", ProcessHandle.current().pid(), "main"), List.of(
                data.get("level"), data.get("message"), data.get("order"), data.get("odd"), data.get("half"), data.get("process"),
                data.get("thread")));
            expect("headgate.ClientTest.recordsBecomeEvents", data.get("function"));
            logger.log(Level.SEVERE, "failed", new IllegalStateException("as was asked"));
            String exception = (String) Json.object(daemon.event().get("data")).get("exception");
            expect(true, exception.startsWith("java.lang.IllegalStateException: as was asked\n\tat headgate.ClientTest"));
            for (Level level : List.of(Level.FINEST, Level.FINER, Level.FINE, Level.CONFIG, Level.INFO)) {
                logger.log(level, "x");
            }
            for (String level : List.of("TRACE", "TRACE", "DEBUG", "DEBUG", "INFO")) {
                expect(level, Json.object(daemon.event().get("data")).get("level"));
            }
        }
    }

    private static void droppedRecordsAreReported(FakeDaemon daemon) throws Exception {
        daemon.stopListening();
        try (Client client = new Client("test", "1", daemon.options().maxUnanswered(2).connectTimeout(null))) {
            LogHandler handler = new LogHandler(client);
            Logger logger = logger(handler);
            for (int n = 0; n < 5; n++) {
                logger.info("x");
            }
            expect(Map.of("buffer_full", 3L), handler.dropped());
            daemon.listen();
            daemon.greet();
            daemon.event();
            daemon.event();
            client.drain(null);
            logger.info("next");
            Map<String, Object> report = daemon.event();
            expect("log.dropped", report.get("event"));
            expect(3L, Json.object(report.get("data")).get("count"));
            expect("next", Json.object(daemon.event().get("data")).get("message"));
            logger.log(Level.INFO, "x", new Object[] {Map.of("bad", new Object() {
                @Override
                public String toString() {
                    throw new IllegalStateException("no");
                }
            })});
            expect(1L, handler.dropped().get("bad_record"));
        }
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, Test> tests = new LinkedHashMap<>();
        tests.put("cancelledCallsAreNotWritten", ClientTest::cancelledCallsAreNotWritten);
        tests.put("anInterruptedThreadGoesOn", ClientTest::anInterruptedThreadGoesOn);
        tests.put("memoryIsBounded", ClientTest::memoryIsBounded);
        tests.put("closeSaysHowManyEventsAreLeft", ClientTest::closeSaysHowManyEventsAreLeft);
        tests.put("aHookMayCallTheClient", ClientTest::aHookMayCallTheClient);
        tests.put("aHookThatFailsEndsNothing", ClientTest::aHookThatFailsEndsNothing);
        tests.put("waitsOfAnyLengthEndNothing", ClientTest::waitsOfAnyLengthEndNothing);
        tests.put("valuesBecomeJson", ClientTest::valuesBecomeJson);
        tests.put("idsAscend", ClientTest::idsAscend);
        tests.put("theDefaultSocket", ClientTest::theDefaultSocket);
        tests.put("recordsBecomeEvents", ClientTest::recordsBecomeEvents);
        tests.put("droppedRecordsAreReported", ClientTest::droppedRecordsAreReported);
        for (Map.Entry<String, Test> test : tests.entrySet()) {
            try (FakeDaemon daemon = new FakeDaemon()) {
                test.getValue().run(daemon);
            } catch (Throwable error) {
                System.err.println("Java: " + test.getKey());
                error.printStackTrace();
                System.exit(1);
            }
        }
        System.out.println("Java: " + tests.size() + " tests passed");
    }
}
