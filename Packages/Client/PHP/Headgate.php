<?php

/**
 * A client of Headgate, the local event-delivery daemon. One file, PHP 8.1 or later, nothing else.
 *
 *     $headgate = new Headgate\Client('shop', '2.1');
 *     $headgate->trackSoon('page_viewed', ['path' => '/cart']);    // sent after the page is
 *     $receipt = $headgate->track('order_placed', ['id' => 17]);   // returns when it is stored
 *
 * A client connects at its first call, and again whenever the connection is lost. Every event gets an id before it is
 * sent, and is sent under this id until it is acknowledged: a restart of the daemon loses none and stores none twice (Behaviour
 * Q7). Times are seconds; a member whose name ends in `_ms` goes to the daemon unchanged.
 */

declare(strict_types=1);

namespace Headgate;

// MARK: The public interface

/** The error of a call. */
final class HeadgateException extends \RuntimeException
{
    /**
     * @param int $code JSON-RPC's code, -32000 for the daemon's own refusals, or 0 for an error of the client
     * @param ?string $reason the machine-readable reason, null for JSON-RPC's own errors: the daemon's (`queue_full`, `storage` …),
     *     or the client's `cannot_connect`, `disconnected`, `timed_out` (no answer came in time), `buffer_full` (there was no room
     *     in time: the daemon never saw the call), `closed`, `bad_answer`, `misuse`
     * @param ?string $path the path of the wrong parameter, such as `events[1].event`
     * @param \stdClass $data the other members of the daemon's error
     */
    public function __construct(
        int $code,
        string $message,
        public readonly ?string $reason = null,
        public readonly ?string $path = null,
        public readonly \stdClass $data = new \stdClass(),
    ) {
        parent::__construct($message, $code);
    }

    /** @internal */
    public static function local(string $reason, string $message): self
    {
        return new self(0, $message, $reason);
    }

    /** @internal Reads the member `error` of an answer. Returns null if it is no JSON-RPC error. */
    public static function read(mixed $error): ?self
    {
        $isError = $error instanceof \stdClass && is_int($error->code ?? null) && is_string($error->message ?? null);
        if (!$isError) {
            return null;
        }
        $data = ($error->data ?? null) instanceof \stdClass ? $error->data : new \stdClass();
        [$reason, $path] = [$data->reason ?? null, $data->path ?? null];
        return new self(
            $error->code,
            $error->message,
            is_string($reason) ? $reason : null,
            is_string($path) ? $path : null,
            $data,
        );
    }
}

/** The options of a client. Times are seconds; null is no limit. */
final class Options
{
    /**
     * @param ?float $timeout the longest wait of a call, including the wait for a connection. A flush that waits has the
     *     flush's own timeout in addition
     * @param float $endTimeout the longest wait at the end of a request for acknowledgements of the events of `trackSoon`. One
     *     attempt to connect is made, and no wait for a daemon that is not running
     * @param ?float $connectTimeout the longest wait of a call for the first connection. One attempt is always made; 0 allows
     *     no other. A daemon that is found stopping counts as a lost connection. An error that waiting does not cure (no
     *     permission for the socket, a path that is too long) ends the wait at once
     * @param ?float $reconnectTimeout the longest wait of calls after a lost connection; 0 does not wait
     * @param ?float $greetingTimeout the longest wait for the answer to `hello`
     * @param int $maxUnanswered the greatest number of unanswered calls, and of events that `trackSoon` keeps
     * @param int $maxUnansweredBytes the greatest size of unanswered calls in bytes. One call is always let through
     * @param float $backoffBase the first wait between two attempts to connect, with a random part; each next one is twice as long
     * @param float $backoffCap the longest wait between two attempts to connect
     * @param ?bool $persistent true if the connection outlives the request; null: true except on the command line
     * @param ?\Closure(HeadgateException, array<string, mixed>): void $onDropped is called with each event of `trackSoon` that is
     *     not known to be stored. Without it the client logs one line with their number and the reason
     * @param ?\Closure(string, ?HeadgateException): void $onState is called when the connection's state changes: `connected`,
     *     `disconnected` with the reason, `closed`
     * @param ?\Closure(string): void $log takes warnings; without it PHP's error log does
     * @param ?string $spool a file for events of `trackSoon` that the daemon could not take at the end of the request. Each becomes
     *     a line for `headgate send --follow`, with its id and the time of `trackSoon`. These events do not count as dropped
     * @param int $spoolBytes the size of the spool file from which on no more is appended
     */
    public function __construct(
        public readonly ?float $timeout = 5.0,
        public readonly float $endTimeout = 1.0,
        public readonly ?float $connectTimeout = 10.0,
        public readonly ?float $reconnectTimeout = null,
        public readonly ?float $greetingTimeout = 10.0,
        public readonly int $maxUnanswered = 16_384,
        public readonly int $maxUnansweredBytes = 8 << 20,
        public readonly float $backoffBase = 0.05,
        public readonly float $backoffCap = 5.0,
        public readonly ?bool $persistent = null,
        public readonly ?\Closure $onDropped = null,
        public readonly ?\Closure $onState = null,
        public readonly ?\Closure $log = null,
        public readonly ?string $spool = null,
        public readonly int $spoolBytes = 64 << 20,
    ) {
    }

    /** @internal */
    public function warn(string $text): void
    {
        try {
            ($this->log ?? error_log(...))("headgate: $text");
        } catch (\Throwable $failure) {
            error_log("headgate: $text (and the log failed: {$failure->getMessage()})");
        }
    }
}

/** The receipt of an event that is stored (Behaviour P1), or that no dispatcher takes. */
final class Receipt
{
    /**
     * @param ?int $seq the event's sequence number in the daemon; null if it is unrouted
     * @param bool $duplicate true if the daemon had stored this id before: by this call's first attempt, or by another event with
     *     the same id. That event may since have been delivered or purged, or have become a dead letter
     * @param bool $unrouted true if no dispatcher takes the event
     */
    public function __construct(
        public readonly string $id,
        public readonly ?int $seq,
        public readonly bool $duplicate,
        public readonly bool $unrouted,
    ) {
    }
}

/** The receipt of events that are stored together. */
final class ManyReceipt
{
    /** @param list<string> $ids */
    public function __construct(
        public readonly array $ids,
        public readonly ?int $first_seq,
        public readonly ?int $last_seq,
        public readonly int $duplicates,
        public readonly int $unrouted,
    ) {
    }
}

/**
 * A client of the daemon. Methods that call the daemon throw `HeadgateException`, or `JsonException` for values that are no
 * JSON. Members of events are the params of `track`: `event`, `data`, `id`, `key`, `time`, `dispatchers`, `ttl_ms`.
 *
 * In all arguments a `DateTimeInterface` becomes text in RFC 3339, and bytes that are not UTF-8 become U+FFFD.
 */
final class Client
{
    public const VERSION = '0.2.0';

    /** The daemon's default timeout of a flush that waits, in seconds. */
    private const DEFAULT_FLUSH = 30.0;
    /** The reasons of temporary refusals, after which an event is worth keeping. */
    private const PASSING = [
        'cannot_connect', 'disconnected', 'timed_out', 'buffer_full', 'bad_answer', 'queue_full', 'storage', 'shutting_down',
    ];

    // written by Tools/protocol: repeatable
    private const REPEATABLE = [
        'ping', 'rights', 'rpc.discover', 'flush.list', 'status', 'barrier.list', 'dispatcher.list', 'queue.peek',
        'dead_letters.list', 'config.get', 'metrics', 'event.trace', 'client.list',
    ];
    // end of what Tools/protocol has written

    public readonly string $socketPath;
    private readonly Options $options;
    private readonly Connection $connection;
    /** @var list<string> the events of `trackSoon` as JSON, so that later changes of the program's objects do not matter */
    private array $kept = [];
    private int $keptBytes = 0;
    private int $dropped = 0;
    private ?HeadgateException $lastDrop = null;
    private int $process;

    /**
     * @param string $name the program's name
     * @param string $version the program's version; together they are the events' `context.client`
     * @param ?string $socketPath the path of the daemon's socket; null is that of `defaultSocket`
     * @param ?string $namespace the namespace of the events' ids (Behaviour Q7); null is that of the user
     */
    public function __construct(
        string $name,
        string $version = '',
        ?string $socketPath = null,
        ?string $namespace = null,
        ?Options $options = null,
    ) {
        $this->options = $options ?? new Options();
        $this->socketPath = $socketPath ?? self::defaultSocket();
        $client = ['name' => $name] + ($version === '' ? [] : ['version' => $version]);
        $hello = ['client' => $client, 'protocol' => 1] + ($namespace === null ? [] : ['namespace' => $namespace]);
        $this->connection = new Connection($this->socketPath, $hello, $this->options);
        $this->process = (int) getmypid();
        AtEnd::register();
    }

    /**
     * Tracks an event, and returns when the daemon has stored it.
     *
     * @param array<string, mixed>|object|null $data
     * @param array<string, mixed> $more `id`, `key`, `time`, `dispatchers`, `ttl_ms`
     * @param float|false|null $timeout false is the timeout of the options
     */
    public function track(
        string $event,
        array|object|null $data = null,
        array $more = [],
        float|false|null $timeout = false,
    ): Receipt {
        $call = new Call('track', self::event(['event' => $event, 'data' => $data] + $more), true);
        return self::receipt($this->connection->wait($call, $this->end($timeout)));
    }

    /**
     * Tracks an event at the end of the request, after the page has been sent where PHP can do that (FPM). It encodes the
     * event now, never waits, and throws nothing. An event that cannot be stored within `Options::$endTimeout` goes to
     * `Options::$spool`, or is passed to `Options::$onDropped`.
     *
     * A program without requests (a worker, a long script) calls `send` from time to time.
     *
     * @param array<string, mixed>|object|null $data
     * @param array<string, mixed> $more as for `track`
     * @return bool false if the event is dropped, because too many are kept or it is no JSON
     */
    public function trackSoon(string $event, array|object|null $data = null, array $more = []): bool
    {
        $this->noticeFork();
        $params = ['event' => $event, 'data' => $data] + $more;
        if ($this->options->spool !== null) {
            // `headgate send --follow` may track the spooled event hours later.
            $params['time'] ??= new \DateTimeImmutable();
        }
        try {
            $params = self::event($params);
            $text = Json::encode($params);
        } catch (\Throwable $error) {
            return $this->drop(HeadgateException::local('misuse', $error->getMessage()), $params);
        }
        $hasRoom = count($this->kept) < $this->options->maxUnanswered
            && $this->keptBytes < $this->options->maxUnansweredBytes;
        if (!$hasRoom) {
            $error = HeadgateException::local('buffer_full', 'too many events are kept');
            return $this->spool([$text]) || $this->drop($error, $params);
        }
        $this->kept[] = $text;
        $this->keptBytes += strlen($text);
        AtEnd::remember($this);
        return true;
    }

    /**
     * Sends the events of `trackSoon`, and waits until they are acknowledged.
     *
     * @param float|false|null $timeout false: `Options::$endTimeout`
     * @return int the number of events that are not known to be stored, without those in `Options::$spool`
     */
    public function send(float|false|null $timeout = false): int
    {
        $this->noticeFork();
        $end = $this->end($timeout === false ? $this->options->endTimeout : $timeout);
        $outcomes = $this->sendKept($end);
        return $this->settle(...$outcomes);
    }

    /** @internal Sends the kept events, but does not wait for a daemon that is not running: the next page needs the process. */
    public function sendAtEnd(): void
    {
        $this->noticeFork();
        if ($this->kept === []) {
            $this->settle([], []);
            return;
        }
        $away = new Away($this->socketPath);
        if ($away->isFresh()) {
            $error = HeadgateException::local('cannot_connect', "$this->socketPath: the daemon did not answer a moment ago");
            $this->settle($this->take(), $error);
            return;
        }
        $isTrial = $away->isRecent();
        if ($isTrial) {
            $away->note(); // this process tries to connect, and other processes do not wait meanwhile
        }
        $this->connection->isHasty = true;
        $begin = now();
        try {
            [$kept, $outcomes] = $this->sendKept($this->end($this->options->endTimeout));
        } finally {
            $this->connection->isHasty = false;
        }
        $isLate = fn (mixed $outcome): bool => $outcome instanceof HeadgateException && $outcome->getCode() === 0;
        // Only an attempt that took time is remembered; a refused connection takes none.
        if (now() - $begin > $this->options->endTimeout / 2 && array_filter($outcomes, $isLate) !== []) {
            $away->note();
        } elseif ($isTrial) {
            $away->forget();
        }
        $this->settle($kept, $outcomes);
    }

    /** @internal Drops the kept events when nothing sends them any more, and warns of their number. */
    public function warnOfKept(): void
    {
        $count = count($this->take());
        if ($count > 0) {
            $this->options->warn("$count events are not known to be stored: onDropped tracked them at the end of the request");
        }
    }

    /** @return array{list<string>, list<Receipt|HeadgateException>} */
    private function sendKept(float $end): array
    {
        $kept = $this->take();
        $calls = array_map(fn (string $text): Call => new Call('track', $text, true), $kept);
        return [$kept, $this->outcomes($calls, $end)];
    }

    /** @return list<string> */
    private function take(): array
    {
        $kept = $this->kept;
        [$this->kept, $this->keptBytes] = [[], 0];
        return $kept;
    }

    /**
     * Drops the events that failed, or writes them to the spool. Returns the number of dropped events.
     *
     * @param list<string> $kept
     * @param list<Receipt|HeadgateException>|HeadgateException $outcomes
     */
    private function settle(array $kept, array|HeadgateException $outcomes): int
    {
        $outcomes = is_array($outcomes) ? $outcomes : array_fill(0, count($kept), $outcomes);
        $failed = array_filter($outcomes, fn (mixed $outcome): bool => $outcome instanceof HeadgateException);
        $passing = array_filter($failed, fn ($error): bool => in_array($error->reason, self::PASSING, true));
        if ($passing !== [] && $this->spool(array_intersect_key($kept, $passing))) {
            $failed = array_diff_key($failed, $passing);
        }
        foreach ($failed as $place => $error) {
            $this->drop($error, (array) Json::decode($kept[$place]));
        }
        if ($this->dropped > 0 && $this->options->onDropped === null) {
            $this->options->warn("$this->dropped events are not known to be stored: {$this->lastDrop?->getMessage()}");
        }
        $this->dropped = 0;
        return count($failed);
    }

    /**
     * Appends events to the spool, as whole lines. Returns true if they were written.
     *
     * @param array<string> $texts
     */
    private function spool(array $texts): bool
    {
        if ($this->options->spool === null) {
            return false;
        }
        $isThere = quietly(fn (): bool => $this->append($this->options->spool, implode("\n", $texts) . "\n"));
        if (!$isThere) {
            $this->options->warn("the spool {$this->options->spool} is full, or cannot be written");
        }
        return $isThere;
    }

    /**
     * Returns true if an open file has this name, is no link, and belongs to this process's user: in a directory that
     * other users can write to, the name may lead to another user's file.
     *
     * @param resource $file
     */
    private static function isOwn($file, string $path): bool
    {
        $open = fstat($file);
        $named = lstat($path);
        $isSame = $open && $named && $open['ino'] === $named['ino'] && $open['dev'] === $named['dev'];
        return $isSame && (!function_exists('posix_geteuid') || $open['uid'] === posix_geteuid());
    }

    /**
     * Opens a file to append to it. Only its owner can read a file that does not exist yet; an existing file keeps its mode.
     *
     * @return resource|false
     */
    private static function open(string $path): mixed
    {
        if (PHP_ZTS) {
            // All threads share one umask, so the client does not change it. If the file exists, posix_mknod does nothing.
            function_exists('posix_mknod') && posix_mknod($path, POSIX_S_IFREG | 0o600);
            return fopen($path, 'ab');
        }
        $mask = umask(0o077);
        try {
            return fopen($path, 'ab');
        } finally {
            umask($mask);
        }
    }

    private function append(string $path, string $text): bool
    {
        clearstatcache(); // another process may have rotated the file
        if (is_link($path)) {
            return false;
        }
        $file = self::open($path);
        if ($file !== false && !self::isOwn($file, $path)) {
            fclose($file);
            return false;
        }
        if ($file === false || !flock($file, LOCK_EX)) {
            return false;
        }
        $size = fstat($file)['size'];
        $isThere = $size < $this->options->spoolBytes && fwrite($file, $text) === strlen($text);
        if (!$isThere && $size < $this->options->spoolBytes) {
            ftruncate($file, $size); // half a line would spoil the next one
        }
        fclose($file);
        return $isThere;
    }

    /**
     * Tracks events each on its own, in their order, many in flight at once.
     *
     * @param iterable<array<string, mixed>> $events
     * @param float|false|null $timeout the timeout for all events together; false is that of the options
     * @return list<Receipt|HeadgateException> the outcome of each, in the same order
     */
    public function trackEach(iterable $events, float|false|null $timeout = false): array
    {
        $end = $this->end($timeout);
        $calls = [];
        foreach ($events as $event) {
            $calls[] = $call = new Call('track', self::event($event), true);
            $this->connection->begin($call, $end);
        }
        return $this->answers($calls, $end);
    }

    /**
     * @param list<Call> $calls
     * @return list<Receipt|HeadgateException>
     */
    private function outcomes(array $calls, float $end): array
    {
        foreach ($calls as $call) {
            $this->connection->begin($call, $end);
        }
        return $this->answers($calls, $end);
    }

    /**
     * @param list<Call> $calls
     * @return list<Receipt|HeadgateException>
     */
    private function answers(array $calls, float $end): array
    {
        return array_map(function (Call $call) use ($end): Receipt|HeadgateException {
            try {
                return self::receipt($this->connection->finish($call, $end));
            } catch (HeadgateException $error) {
                return $error;
            }
        }, $calls);
    }

    /**
     * Tracks events atomically: all are stored, or none. They are sent in one line, whose length the daemon limits.
     *
     * @param iterable<array<string, mixed>> $events
     */
    public function trackMany(iterable $events, float|false|null $timeout = false): ManyReceipt
    {
        $params = ['events' => []];
        foreach ($events as $event) {
            $params['events'][] = self::event($event);
        }
        $result = $this->connection->wait(new Call('track_many', $params, true), $this->end($timeout));
        if (!is_array($result->ids ?? null)) {
            throw HeadgateException::local('bad_answer', 'the result of track_many has no ids');
        }
        $whole = fn (string $name): ?int => self::whole($result, $name);
        return new ManyReceipt(
            $result->ids,
            $whole('first_seq'),
            $whole('last_seq'),
            $whole('duplicates') ?? 0,
            $whole('unrouted') ?? 0,
        );
    }

    /**
     * Makes dispatchers send their pending events, through flushable barriers (Behaviour F1). It does not send the events of
     * `trackSoon` first: `send` does.
     *
     * @param array<string, mixed> $params `dispatchers`, `wait`, `timeout_ms`, `flush`
     * @return \stdClass with `flush`, and if the call waited, `ended` and `dispatchers`
     */
    public function flush(array $params = [], float|false|null $timeout = false): \stdClass
    {
        $result = $this->call('flush', $params, $timeout === false ? $this->flushTimeout($params) : $timeout);
        $isKnown = in_array($result->ended ?? null, ['settled', 'timeout', 'cancelled'], true);
        if (($params['wait'] ?? false) && !$isKnown) {
            throw HeadgateException::local('bad_answer', 'the result of flush has an unknown end');
        }
        return $result;
    }

    /** @param array<string, mixed> $params */
    private function flushTimeout(array $params): ?float
    {
        $own = $this->options->timeout;
        if ($own === null || !($params['wait'] ?? false)) {
            return $own;
        }
        return $own + (isset($params['timeout_ms']) ? $params['timeout_ms'] / 1000 : self::DEFAULT_FLUSH);
    }

    /** Returns the status of the daemon, its store, dispatchers and barriers. */
    public function status(float|false|null $timeout = false): \stdClass
    {
        return $this->call('status', [], $timeout);
    }

    /**
     * Calls any method. When the connection breaks, methods that change nothing are called again on the next one; others fail
     * with `disconnected` if they had been written: they may or may not have been done.
     *
     * @param array<string, mixed>|object $params
     */
    public function call(string $method, array|object $params = [], float|false|null $timeout = false): \stdClass
    {
        $call = new Call($method, (object) $params, in_array($method, self::REPEATABLE, true));
        return $this->connection->wait($call, $this->end($timeout));
    }

    /**
     * Sends the kept events, waits until they are acknowledged, and closes the connection, also a persistent one.
     *
     * @return int the number of events that are not known to be stored
     */
    public function close(float|false|null $timeout = false): int
    {
        $lost = $this->send($timeout);
        $this->connection->close();
        return $lost;
    }

    /**
     * Returns the path of the daemon's socket if the program names none: `$HEADGATE_SOCKET`, else below `$XDG_RUNTIME_DIR` if the daemon's
     * folder is there, else below `/run`.
     *
     * @param ?array<string, string> $environment null: that of the process
     * @param ?callable(string): bool $isFolder
     */
    public static function defaultSocket(?array $environment = null, ?callable $isFolder = null): string
    {
        $variable = fn (string $name): string => (string) ($environment === null ? getenv($name) : $environment[$name] ?? '');
        if ($variable('HEADGATE_SOCKET') !== '') {
            return $variable('HEADGATE_SOCKET');
        }
        $directories = array_filter([$variable('XDG_RUNTIME_DIR'), '/run'], fn ($path) => str_starts_with($path, '/'));
        $folders = array_values(array_map(fn ($path) => "$path/headgate", $directories));
        $there = array_values(array_filter($folders, $isFolder ?? is_dir(...)));
        return ($there[0] ?? $folders[0]) . '/headgate.sock';
    }

    /** Returns a UUIDv7 (RFC 9562) that is greater than all earlier ones of this process. */
    public static function newId(): string
    {
        return Ids::next();
    }

    private function drop(HeadgateException $error, array $event): bool
    {
        $this->dropped++;
        $this->lastDrop = $error;
        AtEnd::remember($this);
        try {
            ($this->options->onDropped ?? fn () => null)($error, $event);
        } catch (\Throwable $failure) {
            $this->options->warn("onDropped failed: {$failure->getMessage()}");
        }
        return false;
    }

    /** Forgets the events that a parent process has kept: the parent sends them. */
    private function noticeFork(): void
    {
        if ($this->process !== getmypid()) {
            $this->process = (int) getmypid();
            [$this->kept, $this->keptBytes, $this->dropped] = [[], 0, 0];
        }
    }

    private function end(float|false|null $timeout): float
    {
        $timeout = $timeout === false ? $this->options->timeout : $timeout;
        if ($timeout !== null && is_nan($timeout)) {
            throw HeadgateException::local('misuse', 'a timeout that is not a number');
        }
        return $timeout === null ? INF : now() + $timeout;
    }

    /** @param array<string, mixed> $event */
    private static function event(array $event): array
    {
        $event = array_filter($event, fn ($member) => $member !== null);
        $event['id'] ??= Ids::next();
        if (($event['time'] ?? null) instanceof \DateTimeInterface) {
            $event['time'] = Json::moment($event['time']);
        }
        // An empty array would become a JSON list.
        if (($event['data'] ?? null) === []) {
            $event['data'] = new \stdClass();
        }
        return $event;
    }

    private static function receipt(\stdClass $result): Receipt
    {
        if (!is_string($result->id ?? null)) {
            throw HeadgateException::local('bad_answer', 'the result of track has no id');
        }
        $isTrue = fn (string $name): bool => ($result->$name ?? null) === true;
        return new Receipt($result->id, self::whole($result, 'seq'), $isTrue('duplicate'), $isTrue('unrouted'));
    }

    private static function whole(\stdClass $result, string $name): ?int
    {
        $value = $result->$name ?? null;
        $isWhole = $value === null || is_int($value);
        return $isWhole ? $value : throw HeadgateException::local('bad_answer', "$name of the result is not an integer");
    }
}

// MARK: The end of a request

/** @internal The clients that have events to send when the request ends. */
final class AtEnd
{
    /** @var array<int, Client> */
    private static array $clients = [];
    private static bool $isRegistered = false;
    private static bool $hasBegun = false;
    private static bool $isSending = false;

    /** Registers for the end of the request, even if nothing is tracked before it. */
    public static function register(): void
    {
        if (!self::$isRegistered) {
            self::$isRegistered = true;
            // A shutdown function that is registered while the others run is the last one: their output is still part of the page.
            register_shutdown_function(fn () => register_shutdown_function(self::send(...)));
        }
    }

    public static function remember(Client $client): void
    {
        self::$clients[spl_object_id($client)] = $client;
        // A destructor after the last shutdown function calls this: nothing else would send its events.
        if (self::$hasBegun && !self::$isSending) {
            self::sendAll();
        }
    }

    private static function send(): void
    {
        self::$hasBegun = true;
        if (self::$clients === []) {
            return;
        }
        // Neither this page nor the visitor's next one, which needs the session, waits for the daemon.
        if (session_status() === PHP_SESSION_ACTIVE) {
            session_write_close();
        }
        foreach (['fastcgi_finish_request', 'litespeed_finish_request'] as $finish) {
            if (function_exists($finish)) {
                $finish();
            }
        }
        self::sendAll();
    }

    private static function sendAll(): void
    {
        self::$isSending = true;
        // The second round sends events that `onDropped` tracked in the first. A third round could go on without end.
        for ($round = 0; $round < 2; $round++) {
            [$clients, self::$clients] = [self::$clients, []];
            foreach ($clients as $client) {
                try {
                    $client->sendAtEnd();
                } catch (\Throwable $error) {
                    error_log("headgate: {$error->getMessage()}");
                }
            }
        }
        foreach (self::$clients as $client) {
            $client->warnOfKept();
        }
        [self::$clients, self::$isSending] = [[], false];
    }
}

/**
 * @internal Remembers for a short time that a daemon did not answer, for all processes of the user. The time is that of an empty
 * file in the folder for temporary files, because no PHP variable outlives a request.
 */
final class Away
{
    private const MOMENT = 2;
    private const RECENT = 10;

    public readonly string $path;
    private readonly int $user;

    public function __construct(string $socketPath)
    {
        $this->user = function_exists('posix_geteuid') ? posix_geteuid() : (int) getmyuid();
        $this->path = sys_get_temp_dir() . "/headgate-away-$this->user-" . substr(hash('sha256', $socketPath), 0, 16);
    }

    /** Returns true if the daemon did not answer a moment ago, or another process is trying it now. */
    public function isFresh(?int $now = null): bool
    {
        return $this->isYounger(self::MOMENT, $now);
    }

    /** Returns true if the daemon did not answer a short time ago, so that only one process should try it. */
    public function isRecent(): bool
    {
        return $this->isYounger(self::RECENT, null);
    }

    private function isYounger(int $seconds, ?int $now): bool
    {
        $found = quietly(fn () => lstat($this->path));
        // Only a regular file of this user counts. A time far in the future, from before the clock was set back, does not.
        return $found !== false && $found['uid'] === $this->user && ($found['mode'] & 0o170000) === 0o100000
            && abs(($now ?? time()) - $found['mtime']) < $seconds;
    }

    public function note(): void
    {
        if (!is_link($this->path)) {
            quietly(fn () => touch($this->path));
        }
    }

    public function forget(): void
    {
        quietly(fn () => unlink($this->path));
    }
}

// MARK: Calls

/** @internal Returns the time of the monotonic clock in seconds. */
function now(): float
{
    return hrtime(true) / 1e9;
}

/** @internal Writes and reads JSON lines. */
final class Json
{
    private const FLAGS = JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION
        | JSON_INVALID_UTF8_SUBSTITUTE | JSON_THROW_ON_ERROR;
    private const DEPTH = 512;

    public static function encode(mixed $value): string
    {
        return json_encode(self::plain($value, self::DEPTH), self::FLAGS);
    }

    /** Returns a moment in the protocol's format, RFC 3339. */
    public static function moment(\DateTimeInterface $moment): string
    {
        return $moment->format('Y-m-d\TH:i:s.vP');
    }

    /** Returns a value in which moments are texts; all other values stay as `json_encode` takes them. */
    private static function plain(mixed $value, int $depth): mixed
    {
        if (!is_array($value) && !is_object($value) || $value instanceof \UnitEnum) {
            return $value;
        }
        // Data that contain themselves reach this depth on the first path, before anything branches.
        if ($depth === 0) {
            throw new \JsonException('Nested too deep, or in a circle', JSON_ERROR_DEPTH);
        }
        if ($value instanceof \DateTimeInterface) {
            return self::moment($value);
        }
        if ($value instanceof \JsonSerializable) {
            return self::plain($value->jsonSerialize(), $depth - 1);
        }
        $isList = $value instanceof \ArrayObject || $value instanceof \ArrayIterator;
        $members = is_array($value) ? $value : ($isList ? $value->getArrayCopy() : get_object_vars($value));
        $plain = array_map(fn (mixed $member): mixed => self::plain($member, $depth - 1), $members);
        if (is_array($value)) {
            return $plain;
        }
        // A value without a moment is left to json_encode, which may know more of it than its public properties.
        return $plain === $members ? $value : (object) $plain;
    }

    /** Returns the value of a JSON text. Objects stay objects, so that `{}` differs from `[]`; large integers become text. Throws JsonException. */
    public static function decode(string $text): mixed
    {
        $flags = JSON_BIGINT_AS_STRING | JSON_THROW_ON_ERROR;
        try {
            return json_decode($text, false, self::DEPTH, $flags);
        } catch (\JsonException $error) {
            if ($error->getCode() === JSON_ERROR_UTF16) {
                // PHP refuses a lone surrogate.
                return self::decode(self::whole($text));
            }
            if ($error->getCode() !== JSON_ERROR_INVALID_PROPERTY_NAME) {
                throw $error;
            }
            // PHP allows a name that begins with NUL in arrays only.
            $message = json_decode($text, true, self::DEPTH, $flags);
            return (object) array_map(fn ($member) => is_array($member) ? (object) $member : $member, $message);
        }
    }

    /** Returns a JSON text in which each lone surrogate is U+FFFD. */
    private static function whole(string $text): string
    {
        $pair = '\\\\u[dD][89abAB][0-9a-fA-F]{2}\\\\u[dD][c-fC-F][0-9a-fA-F]{2}';
        $half = '\\\\u[dD][89a-fA-F][0-9a-fA-F]{2}';
        // The pattern steps over all other escapes, so that an escaped backslash begins nothing.
        $replace = fn (array $found): string => isset($found[1]) ? '\ufffd' : $found[0];
        return preg_replace_callback("/$pair|($half)|\\\\\\\\./s", $replace, $text) ?? throw new \JsonException('too long');
    }

    /** Returns the nesting depth of the arrays and objects of a text. */
    public static function depth(string $text): int
    {
        [$deepest, $level, $end] = [0, 0, strlen($text)];
        for ($place = 0; ($place += strcspn($text, '"[]{}', $place)) < $end; $place++) {
            if ($text[$place] === '"') {
                $place = self::endOfString($text, $place + 1);
                continue;
            }
            $level += $text[$place] === '[' || $text[$place] === '{' ? 1 : -1;
            $deepest = max($deepest, $level);
        }
        return $deepest;
    }

    private static function endOfString(string $text, int $place): int
    {
        while ($text[$place += strcspn($text, '"\\', $place)] === '\\') {
            $place += 2;
        }
        return $place;
    }
}

/** @internal UUIDs of version 7. */
final class Ids
{
    private static int $moment = 0;
    private static int $high = 0;
    private static int $low = 0;

    public static function next(): string
    {
        $now = (int) (microtime(true) * 1000);
        $chance = unpack('nhigh/Jlow/Nstep', random_bytes(14));
        if ($now > self::$moment) {
            // The first bit is 0, so that counting on within a millisecond does not overflow.
            [self::$moment, self::$high, self::$low] = [$now, $chance['high'] & 0x7ff, $chance['low'] & (1 << 62) - 1];
        } else {
            self::$low += 1 + $chance['step'];
            self::$high += self::$low >> 62;
            self::$low &= (1 << 62) - 1;
            self::$moment += self::$high >> 12;
            self::$high &= 0xfff;
        }
        $hex = sprintf('%012x7%03x%016x', self::$moment, self::$high, self::$low | 1 << 63);
        return implode('-', sscanf($hex, '%8s%4s%4s%4s%12s'));
    }
}

/** @internal A request that is neither answered nor cancelled. Its number is the request's id on every connection. */
final class Call
{
    public int $number = 0;
    public string $line = '';
    public bool $written = false;
    public ?\stdClass $result = null;
    public ?HeadgateException $error = null;

    private readonly string $params;

    /** @param array<string, mixed>|object|string $params a string is JSON already */
    public function __construct(
        public readonly string $method,
        array|object|string $params,
        public readonly bool $repeatable,
    ) {
        $this->params = is_string($params) ? $params : Json::encode($params);
    }

    public function encode(int $number): void
    {
        $this->number = $number;
        $method = Json::encode($this->method);
        $this->line = "{\"jsonrpc\":\"2.0\",\"id\":$number,\"method\":$method,\"params\":$this->params}\n";
    }

    public function isDone(): bool
    {
        return $this->result !== null || $this->error !== null;
    }
}

// MARK: The connection

/**
 * @internal A stream to the daemon, which may outlive the request.
 *
 * A persistent stream is found again by its address and the identity of the client that greeted on it. A stream that the next
 * request cannot use (an unanswered call, half a line) is closed at the end of the request, also of one that fails.
 */
final class Link
{
    /** @var array<int, true> the streams that this request has in use */
    private static array $inUse = [];

    /** @param resource $stream */
    private function __construct(
        public readonly mixed $stream,
        public readonly bool $isNew,
        private readonly int $key,
        public readonly int $process,
    ) {
    }

    /** The errors that waiting does not cure: EPERM, EACCES, ENOTDIR, ENAMETOOLONG, ELOOP, EPROTOTYPE. */
    private const PERMANENT = [1, 13, 20, 36, 40, 91];
    /** The longest path of a Unix socket, in bytes. PHP cuts a longer one, and connects elsewhere. */
    private const LONGEST_PATH = 107;
    private const LONGEST_OPEN = 3_600.0;

    /**
     * @param bool $isPermanent set to true if waiting does not cure the failure to open the stream
     * @throws HeadgateException
     */
    public static function open(string $path, string $identity, bool $isPersistent, ?float $timeout, ?bool &$isPermanent): self
    {
        $isPermanent = strlen($path) > self::LONGEST_PATH || str_contains($path, "\0");
        if ($isPermanent) {
            $cause = 'the path of a socket has at most ' . self::LONGEST_PATH . ' bytes, and no NUL';
            throw HeadgateException::local('cannot_connect', "cannot connect to $path: $cause");
        }
        [$key, $errno, $text] = [0, 0, ''];
        if ($isPersistent) {
            $key = self::firstFree($identity);
        }
        // PHP does not accept every number, and connecting to a Unix socket never takes long.
        $timeout = max(0.0, min($timeout ?? INF, self::LONGEST_OPEN));
        $open = $isPersistent ? pfsockopen(...) : fsockopen(...);
        $stream = quietly(function () use ($open, $path, $key, $timeout, &$errno, &$text) {
            return $open("unix://$path", $key === 0 ? -1 : $key, $errno, $text, $timeout);
        });
        if ($stream === false) {
            $isPermanent = in_array($errno, self::PERMANENT, true);
            $cause = $errno === 2 ? 'no such socket' : $text;
            throw HeadgateException::local('cannot_connect', "cannot connect to $path: $cause");
        }
        stream_set_blocking($stream, false);
        stream_set_read_buffer($stream, 0);
        if ($key !== 0) {
            self::$inUse[$key] = true;
        }
        // Nothing has been read from a stream on which the daemon has not answered the greeting.
        return new self($stream, ftell($stream) === 0, $key, (int) getmypid());
    }

    /**
     * Returns a negative port that no client of this request uses. PHP tells persistent streams to one path apart by their
     * port, and ignores a negative port otherwise.
     */
    private static function firstFree(string $identity): int
    {
        for ($slot = 0;; $slot++) {
            $key = -2 - (int) hexdec(substr(hash('sha256', "$slot $identity"), 0, 12));
            if (!isset(self::$inUse[$key])) {
                return $key;
            }
        }
    }

    public function read(): ?string
    {
        $chunk = quietly(fn () => fread($this->stream, 1 << 16));
        return $chunk === false || $chunk === '' && feof($this->stream) ? null : $chunk;
    }

    /** Returns the number of bytes of a text that were written. */
    public function write(string $text): int
    {
        return (int) quietly(fn () => fwrite($this->stream, $text));
    }

    /** Closes the stream, or keeps it for the next request if `isKept` is true. */
    public function close(bool $isKept = false): void
    {
        unset(self::$inUse[$this->key]);
        if (!$isKept || $this->key === 0) {
            quietly(fn () => fclose($this->stream));
        }
    }
}

/** @internal Calls a function without PHP's warnings, also where a program turns warnings into exceptions. */
function quietly(callable $act): mixed
{
    set_error_handler(fn () => true);
    try {
        return $act();
    } finally {
        restore_error_handler();
    }
}

/**
 * @internal Decides when to connect, what to write, what to write again, and which outcome each call has.
 *
 * A repeatable call is not lost with a connection: it is written again on the next one, in the same order and under the same
 * id. All work happens while the program waits in a call.
 */
final class Connection
{
    private const LONGEST_ANSWER = 256 << 20;
    private const LONGEST_WAIT = 1.0;
    /** The time between two reads of a stream that `stream_select` does not take, in microseconds. */
    private const POLL = 1_000;
    private const MOST_RELEARNED = 3;

    /** True if only one attempt to connect is made, without a wait for a daemon that is not running. */
    public bool $isHasty = false;

    // idle: not connected, and nothing to send. greeting: the client waits for the answer to `hello`. open: calls are written as
    // they come. draining: the daemon is about to close; written calls are still answered, and no more are written.
    // waiting: for the next attempt to connect. closed: for good.
    private string $phase = 'idle';
    private float $until = 0.0;
    /** @var array<int, Call> in the order of their numbers */
    private array $calls = [];
    /** @var list<int> */
    private array $waiting = [];
    private int $heldBytes = 0;
    private int $unanswered = 0;
    private int $lastNumber;
    private int $lineBytes = 1_048_576;
    private int $depth = 64;
    private bool $hasLimits = false;
    private int $failures = 0;
    /** The number of times that the limits were learned again since a call was last answered. */
    private int $relearned = 0;
    private string $state = 'idle';
    /** @var list<\Closure(): void> calls of the program's functions, which wait until the client's state is consistent */
    private array $told = [];
    private bool $hasWarned = false;
    private bool $wasConnected = false;
    private ?float $patience = null;
    private ?HeadgateException $lastFailure = null;
    private ?Link $link = null;
    private string $input = '';
    private int $scanned = 0;
    private string $output = '';
    private readonly string $identity;
    private readonly bool $isPersistent;
    private bool $isRegistered = false;
    private int $process;

    /** @param array<string, mixed> $hello */
    public function __construct(private readonly string $path, array $hello, private readonly Options $options)
    {
        $this->identity = Json::encode(['jsonrpc' => '2.0', 'id' => 0, 'method' => 'hello', 'params' => $hello]) . "\n";
        $this->isPersistent = $options->persistent ?? PHP_SAPI !== 'cli';
        // On a persistent stream an answer to an earlier request's call must not be taken for one of this request.
        $this->lastNumber = $this->isPersistent ? random_int(1, 1 << 50) : 0;
        $this->process = (int) getmypid();
    }

    public function __destruct()
    {
        $this->leave();
    }

    /** Makes a call, waits for its answer, and returns its result. */
    public function wait(Call $call, float $end): \stdClass
    {
        $this->begin($call, $end);
        return $this->finish($call, $end);
    }

    /** Makes a call once there is room. The call fails if there is none in time. */
    public function begin(Call $call, float $end): void
    {
        $this->noticeFork();
        $hasRoom = $this->pump($this->hasRoom(...), $end);
        if ($this->phase === 'closed') {
            $call->error = HeadgateException::local('closed', 'the client is closed');
            return;
        }
        if (!$hasRoom) {
            $text = 'there was no room: ' . count($this->calls) . " calls ($this->heldBytes bytes) are not answered yet";
            $call->error = HeadgateException::local('buffer_full', $text);
            return;
        }
        $call->encode($this->lastNumber + 1);
        $this->lastNumber++;
        $this->calls[$call->number] = $call;
        $this->heldBytes += strlen($call->line);
        $this->waiting[] = $call->number;
        if ($this->phase === 'idle') {
            $this->seek();
        }
    }

    /** Waits for the answer to a call, and returns its result. */
    public function finish(Call $call, float $end): \stdClass
    {
        $this->pump($call->isDone(...), $end);
        if (!$call->isDone()) {
            $this->end($call, null, $this->late());
        }
        return $call->error === null ? $call->result : throw $call->error;
    }

    public function close(): void
    {
        $this->noticeFork();
        if ($this->phase !== 'closed') {
            $this->disconnect();
            $this->failAll(HeadgateException::local('closed', 'the client is closed'));
            $this->phase = 'closed';
            $this->setState('closed', null);
            $this->tell();
        }
    }

    /** Ends the request: only a connection without unanswered calls and partial lines is kept for the next one. */
    public function leave(): void
    {
        if ($this->process !== getmypid()) {
            return;
        }
        $isClean = $this->phase === 'open' && $this->unanswered === 0 && $this->input === '' && $this->output === '';
        $this->link?->close($isClean);
        $this->link = null;
        if ($this->phase !== 'closed') {
            $this->phase = 'idle';
        }
    }

    private function hasRoom(): bool
    {
        return count($this->calls) < $this->options->maxUnanswered
            && $this->heldBytes < $this->options->maxUnansweredBytes;
    }

    private function late(): HeadgateException
    {
        $isConnected = $this->phase === 'open' || $this->phase === 'draining';
        $late = HeadgateException::local('timed_out', 'no answer came in time');
        return $isConnected ? $late : self::copy($this->lastFailure ?? $late);
    }

    /** In a forked process, leaves the parent's connection and calls to the parent. */
    private function noticeFork(): void
    {
        if ($this->process === getmypid()) {
            return;
        }
        $this->process = (int) getmypid();
        $this->disconnect();
        [$this->calls, $this->waiting, $this->heldBytes, $this->unanswered] = [[], [], 0, 0];
        if ($this->phase !== 'closed') {
            $this->rest();
        }
    }

    // MARK: Waiting

    /** Runs the connection until a condition holds or the time is over. Returns true if the condition holds. */
    private function pump(callable $condition, float $end): bool
    {
        while (!$condition() && $this->phase !== 'closed') {
            $this->passTime();
            $this->proceed();
            $this->tell();
            if ($condition()) {
                return true;
            }
            $now = now();
            if ($now >= $end) {
                return false;
            }
            $hasTimer = $this->phase === 'greeting' || $this->phase === 'waiting';
            $this->select(max(0.0, min($end, $hasTimer ? $this->until : INF, $now + self::LONGEST_WAIT) - $now));
            $this->tell();
        }
        return $condition();
    }

    private function select(float $seconds): void
    {
        $microseconds = (int) ceil($seconds * 1e6);
        if ($this->link === null) {
            usleep($microseconds);
            return;
        }
        [$read, $write, $except] = [[$this->link->stream], $this->output === '' ? [] : [$this->link->stream], []];
        $ready = quietly(function () use (&$read, &$write, &$except, $microseconds) {
            return stream_select($read, $write, $except, intdiv($microseconds, 1_000_000), $microseconds % 1_000_000);
        });
        // A signal ends stream_select early. It fails at once for a descriptor of 1024 or more: then the client polls the stream.
        if ($ready === false) {
            usleep(min($microseconds, self::POLL));
        }
        // A signal handler of the program may have closed the connection.
        if ($this->link !== null) {
            $this->read();
        }
    }

    private function passTime(): void
    {
        if ($this->phase === 'waiting' && ($this->isHasty || $this->until <= now())) {
            $this->attempt();
        } elseif ($this->phase === 'greeting' && $this->until <= now()) {
            $this->couldNotConnect($this->cannotConnect('connected, but the daemon does not answer'));
        }
    }

    /** Writes queued calls, or ends a connection that has nothing left to write or answer. */
    private function proceed(): void
    {
        if ($this->phase === 'draining' && $this->unanswered === 0) {
            $this->write();
            $this->lose(HeadgateException::local('disconnected', 'the connection was lost before the answer came'));
        }
        if ($this->phase === 'open') {
            foreach ($this->waiting as $number) {
                $call = $this->calls[$number] ?? null;
                if ($call !== null && !$call->written) {
                    $this->writeCall($call);
                }
            }
            $this->waiting = [];
        }
        $this->write();
    }

    private function writeCall(Call $call): void
    {
        $fault = $this->fault($call);
        if ($fault !== null) {
            $this->end($call, null, $fault);
            return;
        }
        $call->written = true;
        $this->unanswered++;
        $this->output .= $call->line;
    }

    /** Returns the error of a call beyond the daemon's limits, or null: the daemon answers such a line without the request's id. */
    private function fault(Call $call): ?HeadgateException
    {
        if (strlen($call->line) - 1 > $this->lineBytes) {
            $text = "the message is longer than the $this->lineBytes bytes that the daemon accepts";
            return new HeadgateException(-32000, $text, 'line_too_long');
        }
        if (Json::depth($call->line) > $this->depth) {
            return new HeadgateException(-32000, "nested deeper than the $this->depth levels that the daemon accepts", 'limit');
        }
        return null;
    }

    private function write(): void
    {
        while ($this->output !== '' && $this->link !== null) {
            $sent = $this->link->write(substr($this->output, 0, 1 << 18));
            if ($sent === 0) {
                return; // the socket is full, or lost: reading notices that, after the daemon's last messages
            }
            $this->output = substr($this->output, $sent);
        }
    }

    private function read(): void
    {
        $link = $this->link;
        $chunk = $link->read();
        if ($chunk === null) {
            $this->disconnected();
            return;
        }
        $this->input .= $chunk;
        $begin = 0;
        while (($end = strpos($this->input, "\n", max($begin, $this->scanned))) !== false) {
            $line = trim(substr($this->input, $begin, $end - $begin), " \t\r");
            $begin = $this->scanned = $end + 1;
            if ($line !== '') {
                $this->takeLine($line);
            }
            if ($link !== $this->link) {
                return;
            }
        }
        $this->input = substr($this->input, $begin);
        $this->scanned = strlen($this->input);
        if ($this->scanned > self::LONGEST_ANSWER) {
            $this->gotNonsense('a line of more than ' . self::LONGEST_ANSWER . ' bytes');
        }
    }

    // MARK: Connecting

    private function seek(): void
    {
        $this->patience = self::later($this->wasConnected ? $this->options->reconnectTimeout : $this->options->connectTimeout);
        [$this->phase, $this->until] = ['waiting', 0.0];
    }

    private static function later(?float $patience): float
    {
        return $patience === null ? INF : now() + $patience;
    }

    private function attempt(): void
    {
        if ($this->calls === []) {
            $this->rest();
            return;
        }
        $isPermanent = false;
        $timeout = $this->options->greetingTimeout;
        try {
            $this->link = Link::open($this->path, $this->identity, $this->isPersistent, $timeout, $isPermanent);
        } catch (HeadgateException $error) {
            // A daemon that was connected once comes back: it may be about to set the mode of its socket.
            if ($isPermanent && !$this->wasConnected) {
                $this->giveUpConnecting($error);
            } else {
                $this->couldNotConnect($error);
            }
            return;
        }
        $this->closeAtEnd();
        if (!$this->link->isNew) {
            // The stream has been greeted on in an earlier request. The daemon's limits are not known any more; the protocol's defaults apply.
            [$this->phase, $this->hasLimits, $this->wasConnected] = ['open', false, true];
            [$this->lineBytes, $this->depth] = [1_048_576, 64];
            $this->setState('connected', null);
            $this->read(); // messages since the last request, such as `closing`
            return;
        }
        [$this->phase, $this->until] = ['greeting', self::later($this->options->greetingTimeout)];
        $this->output = $this->identity;
    }

    /** Registers `leave` for the end of the request: after a fatal error PHP runs no destructors, but shutdown functions. */
    private function closeAtEnd(): void
    {
        if ($this->isPersistent && !$this->isRegistered) {
            $this->isRegistered = true;
            $self = \WeakReference::create($this);
            // The second registration makes it run last, after the events of the request's end are sent.
            $leave = fn () => $self->get()?->leave();
            register_shutdown_function(fn () => register_shutdown_function(fn () => register_shutdown_function($leave)));
        }
    }

    private function cannotConnect(string $cause): HeadgateException
    {
        return HeadgateException::local('cannot_connect', "cannot connect to $this->path: $cause");
    }

    private function couldNotConnect(HeadgateException $error): void
    {
        $this->disconnect();
        $this->lastFailure = $error;
        $this->setState('disconnected', $error);
        if ($this->isHasty) {
            $this->giveUpConnecting($error);
            return;
        }
        if (!$this->hasWarned) {
            $this->hasWarned = true;
            $text = "{$error->getMessage()}; calls wait for it";
            $this->told[] = fn () => $this->options->warn($text);
        }
        $this->retry();
    }

    /** Fails all calls; the next call tries to connect again. */
    private function giveUpConnecting(HeadgateException $error): void
    {
        $this->disconnect();
        $this->rest();
        $this->setState('disconnected', $error);
        $this->failAll($error);
    }

    private function setState(string $state, ?HeadgateException $error): void
    {
        $isNews = $state !== $this->state && [$this->state, $state] !== ['idle', 'closed'];
        $this->state = $state;
        if ($isNews && $this->options->onState !== null) {
            $this->told[] = fn () => ($this->options->onState)($state, $error);
        }
    }

    /** Calls the program's functions. They may use the client, so its state must be consistent here. */
    private function tell(): void
    {
        while (($act = array_shift($this->told)) !== null) {
            try {
                $act();
            } catch (\Throwable $failure) {
                $this->options->warn("onState failed: {$failure->getMessage()}");
            }
        }
    }

    private function greeted(mixed $result): void
    {
        if ($this->phase !== 'greeting') {
            return;
        }
        $limits = $result->limits ?? null;
        $said = fn (string $name, int $fallback): int => is_int($limits->$name ?? null) ? $limits->$name : $fallback;
        [$this->lineBytes, $this->depth] = [$said('max_line_bytes', 1_048_576), $said('max_depth', 64)];
        // The connect timeout counts for the first connection only.
        if (!$this->wasConnected) {
            $this->patience = null;
        }
        [$this->phase, $this->hasLimits, $this->wasConnected, $this->lastFailure] = ['open', true, true, null];
        $this->hasWarned = false;
        $this->setState('connected', null);
    }

    private function greetingRefused(HeadgateException $error): void
    {
        if ($this->phase !== 'greeting') {
            return;
        }
        if ($error->reason === 'shutting_down') {
            $this->foundStopping($error->getMessage());
        } elseif ($error->reason === 'limit') {
            $this->couldNotConnect($this->cannotConnect($error->getMessage()));
        } else {
            $this->giveUpConnecting($error);
        }
    }

    /** Notes that a daemon is stopping. Calls wait as after a lost connection, because the daemon may be restarting. */
    private function foundStopping(string $cause): void
    {
        if (!$this->wasConnected) {
            $this->patience = null;
        }
        $this->wasConnected = true;
        $this->couldNotConnect($this->cannotConnect($cause));
    }

    private function closing(): void
    {
        if ($this->phase === 'greeting') {
            $this->foundStopping('the daemon is stopping');
        } elseif ($this->phase === 'open') {
            $this->phase = 'draining';
        }
    }

    private function disconnected(): void
    {
        if ($this->phase === 'greeting') {
            $this->couldNotConnect($this->cannotConnect('the daemon closed the connection'));
        } else {
            $this->lose(HeadgateException::local('disconnected', 'the connection was lost before the answer came'));
        }
    }

    /** Handles a lost connection: puts repeatable calls back into the queue in their order, and fails the others. */
    private function lose(HeadgateException $error): void
    {
        $this->disconnect();
        $this->lastFailure = $error;
        $this->setState('disconnected', $error);
        foreach ($this->calls as $call) {
            if ($call->written && !$call->repeatable) {
                $this->end($call, null, $error);
            } else {
                $this->unmark($call);
            }
        }
        $this->waiting = array_keys($this->calls);
        $this->retry();
    }

    private function disconnect(): void
    {
        $this->link?->close();
        $this->link = null;
        [$this->input, $this->output, $this->scanned] = ['', '', 0];
    }

    private function retry(): void
    {
        $this->failures++;
        if ($this->calls === []) {
            $this->rest();
            return;
        }
        $this->patience ??= self::later($this->options->reconnectTimeout);
        if (now() >= $this->patience) {
            $this->giveUpConnecting($this->lastFailure);
            return;
        }
        // A random time between half and all of the longest wait: clients that lost the daemon together do not reconnect together.
        $longest = min($this->options->backoffCap, $this->options->backoffBase * 2.0 ** min($this->failures - 1, 32));
        $wait = $longest * (0.5 + mt_rand() / mt_getrandmax() / 2);
        [$this->phase, $this->until] = ['waiting', min(now() + $wait, $this->patience)];
    }

    private function rest(): void
    {
        [$this->phase, $this->patience] = ['idle', null];
    }

    // MARK: Messages of the daemon

    private function takeLine(string $line): void
    {
        try {
            $message = Json::decode($line);
        } catch (\JsonException) {
            $this->gotNonsense('a line that is not JSON');
            return;
        }
        foreach (is_array($message) && $message !== [] ? $message : [$message] as $one) {
            $this->take($one);
        }
    }

    private function take(mixed $message): void
    {
        if (!$message instanceof \stdClass || ($message->jsonrpc ?? null) !== '2.0') {
            $this->gotNonsense('a line that is not a message');
            return;
        }
        $has = fn (string $name): bool => property_exists($message, $name);
        if ($has('method') && is_string($message->method)) {
            $this->takeCall($message, $has('id'));
            return;
        }
        $error = $has('error') ? HeadgateException::read($message->error) : null;
        if ($has('method') || $has('error') === $has('result') || $has('error') && $error === null) {
            $this->gotNonsense('a line that is not a message');
            return;
        }
        $number = $message->id ?? null;
        if ($number === null && $error !== null) {
            $this->gotAnonymousError($error);
        } elseif (!is_int($number)) {
            $this->gotNonsense('an answer without a request');
        } elseif ($number === 0) {
            $error === null ? $this->greeted($message->result) : $this->greetingRefused($error);
        } else {
            $this->answered($number, $message->result ?? null, $error);
        }
    }

    private function takeCall(\stdClass $message, bool $isRequest): void
    {
        if ($isRequest) {
            $refusal = ['code' => -32601, 'message' => "there is no method $message->method"];
            $this->output .= Json::encode(['jsonrpc' => '2.0', 'id' => $message->id, 'error' => $refusal]) . "\n";
        } elseif ($message->method === 'closing') {
            $this->closing();
        }
    }

    private function answered(int $number, mixed $result, ?HeadgateException $error): void
    {
        $call = $this->calls[$number] ?? null;
        if ($call === null || !$call->written) {
            return; // its caller no longer waits
        }
        if ($error?->reason === 'shutting_down' && $call->repeatable) {
            $this->unmark($call);
            $this->phase = 'draining';
            return;
        }
        [$this->failures, $this->patience, $this->relearned] = [0, null, 0];
        if ($error === null && !$result instanceof \stdClass) {
            $error = HeadgateException::local('bad_answer', "the result of $call->method is not an object");
        }
        $this->end($call, $result instanceof \stdClass ? $result : null, $error);
    }

    /**
     * Handles a malformed message. The client cannot tell which call it is about, so all written calls fail: repeating them might
     * cause it again, without end.
     */
    private function gotNonsense(string $text): void
    {
        $error = HeadgateException::local('bad_answer', "malformed answer from the daemon: $text");
        if ($this->phase === 'greeting') {
            $this->couldNotConnect($error);
        } elseif ($this->phase === 'open' || $this->phase === 'draining') {
            foreach ($this->calls as $call) {
                if ($call->written) {
                    $this->end($call, null, $error);
                }
            }
            $this->lose($error);
        }
    }

    private function gotAnonymousError(HeadgateException $error): void
    {
        if ($this->phase === 'greeting') {
            $this->greetingRefused($error);
            return;
        }
        // The limits may have changed since the connection began: the next greeting has the new ones.
        $isLimit = !$this->hasLimits || in_array($error->reason, ['line_too_long', 'limit'], true);
        if (!$isLimit || $this->relearned >= self::MOST_RELEARNED) {
            $this->gotNonsense($error->getMessage());
        } elseif ($this->phase === 'open' || $this->phase === 'draining') {
            $this->relearned++;
            $text = "the daemon's limits have changed: {$error->getMessage()}";
            $this->lose(HeadgateException::local('disconnected', $text));
        }
    }

    // MARK: Outcomes of calls

    private function unmark(Call $call): void
    {
        if ($call->written) {
            $call->written = false;
            $this->unanswered--;
        }
    }

    private function end(Call $call, ?\stdClass $result, ?HeadgateException $error): void
    {
        if (isset($this->calls[$call->number])) {
            unset($this->calls[$call->number]);
            $this->unmark($call);
            $this->heldBytes -= strlen($call->line);
        }
        // Cancelled calls must not be remembered while there is no daemon.
        if (count($this->waiting) > 2 * count($this->calls) + 1024) {
            $this->waiting = array_filter($this->waiting, fn (int $number): bool => isset($this->calls[$number]));
        }
        // Each caller gets a copy of the error, with the line where it is thrown.
        [$call->result, $call->error] = [$result, $error === null ? null : self::copy($error)];
    }

    private function failAll(HeadgateException $error): void
    {
        foreach ($this->calls as $call) {
            $this->end($call, null, $error);
        }
    }

    private static function copy(HeadgateException $error): HeadgateException
    {
        return new HeadgateException($error->getCode(), $error->getMessage(), $error->reason, $error->path, $error->data);
    }
}
