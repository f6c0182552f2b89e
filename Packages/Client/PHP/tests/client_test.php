<?php

// Tests of the PHP client in its own process. The drivers of Tests/Clients see a program from outside only.

declare(strict_types=1);

require __DIR__ . '/../Headgate.php';

use Headgate\Client;
use Headgate\HeadgateException;
use Headgate\Json;
use Headgate\Options;

// Each warning of PHP is a fault, as in a strict framework.
set_error_handler(function (int $level, string $text, string $file, int $line): never {
    throw new ErrorException($text, 0, $level, $file, $line);
});

function expect(mixed $wanted, mixed $got): void
{
    if ($wanted !== $got) {
        throw new LogicException('expected ' . var_export($wanted, true) . ', got ' . var_export($got, true));
    }
}

function reasonOf(callable $act): ?string
{
    try {
        $act();
    } catch (HeadgateException $error) {
        return $error->reason;
    }
    throw new LogicException('it should have failed');
}

/** A daemon in another process: it answers a given number of `track` and `track_many` requests, and none after them. */
final class Daemon
{
    public readonly string $path;
    private readonly int $process;

    /** @param array<string, mixed> $more members of the results that are not the usual ones */
    public function __construct(int $answers, private readonly array $more = [])
    {
        $this->path = sys_get_temp_dir() . '/headgate-' . bin2hex(random_bytes(6));
        $listener = stream_socket_server("unix://$this->path");
        file_put_contents("$this->path.names", '[]');
        $this->process = pcntl_fork();
        if ($this->process === 0) {
            $this->serve($listener, $answers);
        }
    }

    /** Ends the process. Returns the names of the events that it received, by connection. */
    public function stop(): array
    {
        posix_kill($this->process, SIGTERM);
        pcntl_waitpid($this->process, $status);
        $names = Json::decode(file_get_contents("$this->path.names"));
        array_map(unlink(...), [$this->path, "$this->path.names"]);
        return $names;
    }

    private function serve(mixed $listener, int $answers): never
    {
        pcntl_async_signals(true);
        pcntl_signal(SIGTERM, fn () => posix_kill(getmypid(), SIGKILL));
        [$streams, $names] = [[], []];
        for (;;) {
            $read = [$listener, ...$streams];
            [$write, $except] = [[], []];
            stream_select($read, $write, $except, null);
            foreach ($read as $stream) {
                if ($stream === $listener) {
                    $streams[] = stream_socket_accept($listener);
                    $names[] = [];
                    continue;
                }
                $place = array_search($stream, $streams, true);
                $line = fgets($stream);
                if ($line === false) {
                    unset($streams[$place]);
                    continue;
                }
                $message = Json::decode($line);
                if ($message->method === 'track') {
                    $names[$place][] = $message->params->event;
                    file_put_contents("$this->path.names", Json::encode($names));
                }
                if (!str_starts_with($message->method, 'track') || $answers-- > 0) {
                    $result = $this->more + ['id' => $message->params->id ?? '', 'seq' => count($names[$place] ?? [])];
                    fwrite($stream, Json::encode(['jsonrpc' => '2.0', 'id' => $message->id, 'result' => $result]) . "\n");
                }
            }
        }
    }
}

/** Runs a program in another process to its end. Returns its standard error. */
function run(string $code): string
{
    $file = var_export(__DIR__ . '/../Headgate.php', true);
    $command = [PHP_BINARY, '-d', 'log_errors=1', '-d', 'display_errors=0', '-d', 'error_log=', '-r', "require $file; $code"];
    $process = proc_open($command, [2 => ['pipe', 'w']], $pipes);
    $said = stream_get_contents($pipes[2]);
    expect(0, proc_close($process));
    return $said;
}

$tests = [
    'a destructor tracks behind the end' => function (): void {
        $daemon = new Daemon(2);
        run("
            \$client = new Headgate\\Client('test', socketPath: '$daemon->path');
            \$late = new class(\$client) {
                function __construct(private \$client) { \$client->trackSoon('first'); }
                function __destruct() { \$this->client->trackSoon('late'); }
            };
        ");
        expect([['first', 'late']], $daemon->stop());
    },
    'a destructor tracks, and nothing did before' => function (): void {
        $daemon = new Daemon(1);
        run("
            \$client = new Headgate\\Client('test', socketPath: '$daemon->path');
            \$late = new class(\$client) {
                function __construct(private \$client) {}
                function __destruct() { \$this->client->trackSoon('late'); }
            };
        ");
        expect([['late']], $daemon->stop());
    },
    'onDropped tracks again, and the end comes all the same' => function (): void {
        $said = run("
            \$options = new Headgate\\Options(onDropped: function () { global \$client; \$client->trackSoon('again'); });
            \$client = new Headgate\\Client('test', socketPath: '/nowhere', options: \$options);
            \$client->trackSoon('first');
        ");
        expect(1, substr_count($said, '1 events are not known to be stored: onDropped tracked them'));
    },
    'objects keep their data' => function (): void {
        $moment = new DateTimeImmutable('2026-03-01T12:00:00Z');
        $text = '"2026-03-01T12:00:00.000+00:00"';
        expect('{"a":1}', Json::encode(new ArrayObject(['a' => 1])));
        expect("{\"a\":{\"at\":$text}}", Json::encode(new ArrayObject(['a' => ['at' => $moment]])));
        expect('{"0":1,"1":2}', Json::encode(new ArrayIterator([1, 2])));
        expect('{"timezone_type":3,"timezone":"Europe/Berlin"}', Json::encode(new DateTimeZone('Europe/Berlin')));
        $object = new class($moment) {
            protected $hidden = 1;
            public function __construct(public $at) {}
        };
        expect("{\"at\":$text}", Json::encode($object));
    },
    'events without room are dropped, and reported' => function (): void {
        $dropped = [];
        $options = new Options(maxUnanswered: 2, onDropped: function ($error, $event) use (&$dropped) {
            $dropped[] = [$error->reason, $event['event']];
        });
        $daemon = new Daemon(2);
        $client = new Client('test', socketPath: $daemon->path, options: $options);
        $kept = array_map(fn ($name) => $client->trackSoon($name), ['a', 'b', 'c']);
        expect([true, true, false], $kept);
        expect([['buffer_full', 'c']], $dropped);
        expect(0, $client->send(60.0));
        expect(true, $client->trackSoon('d'));
        expect(1, $client->close(0.05)); // the daemon no longer answers
        expect(['timed_out', 'd'], $dropped[1]);
        expect([['a', 'b', 'd']], $daemon->stop());
        expect('closed', reasonOf(fn () => $client->track('x')));
    },
    'data that are no JSON are dropped, or an exception' => function (): void {
        $client = new Client('test', socketPath: '/nowhere', options: new Options(onDropped: fn () => null));
        expect(false, $client->trackSoon('x', ['n' => NAN]));
        expect(false, $client->trackSoon('x', ['n' => fopen('/dev/null', 'r')]));
        $daemon = new Daemon(0);
        $client = new Client('test', socketPath: $daemon->path);
        try {
            $client->track('x', ['n' => INF]);
            throw new LogicException('it should have failed');
        } catch (JsonException) {
        }
        $daemon->stop();
    },
    'later changes of data do not change kept events' => function (): void {
        $daemon = new Daemon(3);
        $client = new Client('test', socketPath: $daemon->path);
        $cart = new stdClass();
        foreach ([1, 2, NAN] as $count) {
            $cart->count = $count;
            $client->trackSoon("cart of $count", $cart);
        }
        $kept = (fn () => $this->kept)->call($client);
        expect([1, 2], array_map(fn ($text) => Json::decode($text)->data->count, $kept));
        expect(0, $client->send(60.0));
        expect([['cart of 1', 'cart of 2']], $daemon->stop());
    },
    'the end of a request makes one attempt, and the log says why it failed' => function (): void {
        $said = [];
        $options = new Options(endTimeout: 3600.0, log: function (string $text) use (&$said) {
            $said[] = $text;
        });
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: $options);
        $client->trackSoon('a');
        $client->trackSoon('b');
        $client->sendAtEnd();
        $why = 'cannot connect to /nowhere/d.sock: no such socket';
        expect(["headgate: 2 events are not known to be stored: $why"], $said);
        $client->sendAtEnd();
        expect(1, count($said));
    },
    'the end of a request waits for no attempt that an earlier call left' => function (): void {
        $options = new Options(timeout: 0.01, endTimeout: 3600.0, backoffBase: 3600.0, backoffCap: 3600.0, log: fn () => null);
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: $options);
        expect('cannot_connect', reasonOf(fn () => $client->track('a')));
        $client->trackSoon('b');
        pcntl_alarm(60); // ends the test if it waits
        $client->sendAtEnd();
        pcntl_alarm(0);
    },
    'a daemon that did not answer a moment ago is not asked again' => function (): void {
        $away = new Headgate\Away('/nowhere/' . bin2hex(random_bytes(6)));
        expect(false, $away->isFresh());
        $away->note();
        $moment = filemtime($away->path);
        expect([true, true, false, false], array_map($away->isFresh(...), [$moment, $moment + 1, $moment + 2, $moment - 60]));
        unlink($away->path);
        // A symbolic link, which another user may have made, does not count.
        symlink(__FILE__, $away->path);
        expect(false, $away->isFresh(filemtime(__FILE__)));
        unlink($away->path);
    },
    'one process alone tries a daemon that did not answer lately' => function (): void {
        $path = sys_get_temp_dir() . '/headgate-' . bin2hex(random_bytes(6));
        $listener = stream_socket_server("unix://$path");
        $away = new Headgate\Away($path);
        touch($away->path, time() - 4);
        $begin = time();
        $child = pcntl_fork();
        if ($child === 0) {
            $accepted = stream_socket_accept($listener, 60); // the client deletes the file when the connection ends
            // While the client tries, the other processes do not wait.
            clearstatcache();
            file_put_contents("$path.moment", (string) filemtime($away->path));
            posix_kill(getmypid(), SIGKILL);
        }
        fclose($listener);
        $client = new Client('test', socketPath: $path, options: new Options(endTimeout: 3600.0, log: fn () => null));
        $client->trackSoon('x');
        $client->sendAtEnd();
        pcntl_waitpid($child, $status);
        expect(true, (int) file_get_contents("$path.moment") >= $begin);
        clearstatcache();
        // The refused connection took no time, so the next request tries again.
        expect(false, file_exists($away->path));
        array_map(unlink(...), [$path, "$path.moment"]);
    },
    'data that contain themselves are no JSON, and reported at once' => function (): void {
        [$parent, $dropped] = [new stdClass(), []];
        $parent->children = array_map(fn () => (object) ['parent' => $parent], range(1, 50));
        $options = new Options(onDropped: function ($error) use (&$dropped) {
            $dropped[] = $error->reason;
        });
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: $options);
        expect(false, $client->trackSoon('x', $parent));
        expect(['misuse'], $dropped);
    },
    'a full disk leaves no half line in the spool' => function (): void {
        if (!is_writable('/dev/full')) {
            return;
        }
        $options = new Options(spool: '/dev/full', log: fn () => null);
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: $options);
        $client->trackSoon('x');
        expect(1, $client->close(0.0));
    },
    'events that cannot be sent go to the spool, with their ids and the time of trackSoon' => function (): void {
        $spool = sys_get_temp_dir() . '/headgate-' . bin2hex(random_bytes(6));
        $options = new Options(maxUnanswered: 2, spool: $spool, onDropped: fn () => throw new LogicException('dropped'));
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: $options);
        $begin = microtime(true);
        foreach (['a', 'b'] as $name) {
            expect(true, $client->trackSoon($name, more: ['id' => "id-$name"]));
        }
        $end = microtime(true);
        expect(true, $client->trackSoon('c', more: ['id' => 'id-c', 'time' => '2026-03-01T10:00:00Z']));
        $client->sendAtEnd();
        $lines = array_map(Json::decode(...), file($spool));
        expect('2026-03-01T10:00:00Z', $lines[0]->time);
        $time = (float) (new DateTimeImmutable($lines[1]->time))->format('U.v');
        expect([true, true], [$time >= floor($begin * 1000) / 1000, $time <= $end]);
        expect([['c', 'id-c'], ['a', 'id-a'], ['b', 'id-b']], array_map(fn ($line) => [$line->event, $line->id], $lines));
        $full = new Options(spool: $spool, spoolBytes: 10, log: function (string $text) use (&$said) {
            $said[] = $text;
        });
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: $full);
        $client->trackSoon('d');
        $client->sendAtEnd();
        expect([3, 2], [count(file($spool)), count($said)]);
        unlink($spool);
    },
    'only the owner reads a new spool, and an existing one keeps its mode' => function (): void {
        $spool = sys_get_temp_dir() . '/headgate-' . bin2hex(random_bytes(6));
        $mask = umask(0o022);
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: new Options(maxUnanswered: 0, spool: $spool));
        $mode = function () use ($spool): int {
            clearstatcache();
            return fileperms($spool) & 0o777;
        };
        expect(true, $client->trackSoon('a'));
        expect(0o600, $mode());
        chmod($spool, 0o640);
        expect(true, $client->trackSoon('b'));
        expect(0o640, $mode());
        expect(true, $client->trackSoon('c'));
        exec("mv $spool $spool.old"); // as logrotate does it: PHP's own rename would empty PHP's cache of file states
        expect(true, $client->trackSoon('d'));
        expect([0o600, 1, 3], [$mode(), count(file($spool)), count(file("$spool.old"))]);
        expect(0o022, umask($mask));
        array_map(unlink(...), [$spool, "$spool.old"]);
    },
    'a flush that waits has the daemon\'s time for it' => function (): void {
        $timeout = fn (array $params, ?float $own = 5.0) => (new ReflectionMethod(Client::class, 'flushTimeout'))
            ->invoke(new Client('test', options: new Options(timeout: $own)), $params);
        expect(5.0, $timeout([]));
        expect(35.0, $timeout(['wait' => true]));
        expect(65.0, $timeout(['wait' => true, 'timeout_ms' => 60_000]));
        expect(null, $timeout(['wait' => true], null));
    },
    'moments are texts, and bytes that are no text are marked' => function (): void {
        $moment = new DateTimeImmutable('2026-03-01 10:00:00.5', new DateTimeZone('+02:00'));
        $event = (new ReflectionMethod(Client::class, 'event'))->invoke(null, ['event' => 'x', 'id' => 'e', 'time' => $moment]);
        expect('2026-03-01T10:00:00.500+02:00', $event['time']);
        $data = ['at' => $moment, 'in' => [(object) ['at' => $moment]], 'text' => "a\xffb", 'none' => new stdClass()];
        $text = '"2026-03-01T10:00:00.500+02:00"';
        expect("{\"at\":$text,\"in\":[{\"at\":$text}],\"text\":\"a\u{fffd}b\",\"none\":{}}", Json::encode($data));
    },
    'numbers keep their digits, and half a surrogate pair is marked' => function (): void {
        $digits = str_repeat('7', 5_000);
        expect($digits, Json::decode("{\"n\":$digits}")->n);
        foreach (
            [
                '"\\ud800"' => "\u{fffd}", '"a\\udc00b"' => "a\u{fffd}b", '"\\ud83d\\ude00"' => '😀', '"\\\\ud800\\ud800"' => "\\ud800\u{fffd}",
                '"\\ud800\\ud83d\\ude00"' => "\u{fffd}😀",
            ] as $text => $wanted
        ) {
            expect($wanted, Json::decode($text));
        }
    },
    'a timeout must be a number' => function (): void {
        expect('misuse', reasonOf(fn () => (new Client('test', socketPath: '/nowhere/d.sock'))->status(NAN)));
    },
    'times of any length end nothing' => function (): void {
        foreach ([null, INF, 1e300] as $time) {
            $daemon = new Daemon(1);
            $times = ['timeout' => $time, 'connectTimeout' => $time, 'reconnectTimeout' => $time, 'greetingTimeout' => $time];
            $client = new Client('test', socketPath: $daemon->path, options: new Options(...$times, backoffBase: INF, backoffCap: INF));
            expect(1, $client->track('x')->seq);
            $client->close();
            $daemon->stop();
        }
    },
    'onState may use the client' => function (): void {
        $daemon = new Daemon(3);
        $states = [];
        $options = new Options(onState: function (string $state) use (&$client, &$states): void {
            $states[] = $state;
            if ($state === 'connected') {
                $client->track('inner');
            }
        });
        $client = new Client('test', socketPath: $daemon->path, options: $options);
        $client->track('outer');
        $client->track('last');
        expect(0, $client->close());
        expect([['outer', 'inner', 'last']], $daemon->stop());
        expect(['connected', 'closed'], $states);
    },
    'onDropped may fail' => function (): void {
        $log = ini_set('error_log', '/dev/null');
        $options = new Options(endTimeout: 0.0, onDropped: fn () => throw new LogicException('oh'));
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: $options);
        $client->trackSoon('x');
        expect(1, $client->send());
        ini_set('error_log', (string) $log);
    },
    'a daemon that is not there' => function (): void {
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: new Options(connectTimeout: 0.0));
        expect('cannot_connect', reasonOf(fn () => $client->status()));
        $client = new Client('test', socketPath: '/nowhere/d.sock', options: new Options(timeout: 0.05));
        expect('cannot_connect', reasonOf(fn () => $client->status()));
    },
    'a daemon that is silent' => function (): void {
        $daemon = new Daemon(0);
        $client = new Client('test', socketPath: $daemon->path);
        expect('ok', $client->status() instanceof stdClass ? 'ok' : '');
        expect('timed_out', reasonOf(fn () => $client->track('x', timeout: 0.05)));
        $daemon->stop();
    },
    'a fork has a connection of its own, and leaves what is kept to its parent' => function (): void {
        foreach ([false, true] as $isPersistent) {
            $daemon = new Daemon(4);
            $options = new Options(timeout: 60.0, persistent: $isPersistent);
            $client = new Client('test', socketPath: $daemon->path, options: $options);
            $client->track('parent');
            $client->trackSoon('kept');
            $child = pcntl_fork();
            if ($child === 0) {
                $client->track('child');
                $client->send();
                posix_kill(getmypid(), SIGKILL);
            }
            pcntl_waitpid($child, $status);
            expect(0, $client->send(60.0));
            expect(1, $client->track('again')->seq <=> 0);
            expect(0, $client->close());
            expect([['parent', 'kept', 'again'], ['child']], $daemon->stop());
        }
    },
    'a fork that ends does not end its parent\'s connection' => function (): void {
        $daemon = new Daemon(4);
        $client = new Client('test', socketPath: $daemon->path, options: new Options(timeout: 60.0));
        $client->track('parent');
        $child = pcntl_fork();
        if ($child === 0) {
            $client->close();
            posix_kill(getmypid(), SIGKILL);
        }
        pcntl_waitpid($child, $status);
        $client->track('again');
        $client->close();
        expect([['parent', 'again']], $daemon->stop());
    },
    'a descriptor that stream_select does not take' => function (): void {
        $hard = posix_getrlimit()['hard openfiles'];
        $hard = is_int($hard) ? $hard : POSIX_RLIMIT_INFINITY;
        if (!posix_setrlimit(POSIX_RLIMIT_NOFILE, 2_048, $hard)) {
            return; // the system allows too few descriptors
        }
        $daemon = new Daemon(1);
        $files = array_map(fn () => fopen('/dev/null', 'r'), range(1, 1_100));
        $client = new Client('test', socketPath: $daemon->path);
        expect(1, $client->track('x')->seq);
        $before = getrusage();
        expect('timed_out', reasonOf(fn () => $client->track('y', timeout: 0.5)));
        $after = getrusage();
        $time = fn (string $name): float => $after["ru_$name.tv_sec"] - $before["ru_$name.tv_sec"]
            + ($after["ru_$name.tv_usec"] - $before["ru_$name.tv_usec"]) / 1e6;
        expect(true, $time('utime') + $time('stime') < 0.25);
        $client->close();
        $daemon->stop();
    },
    'a result without an integer is a bad answer' => function (): void {
        $daemon = new Daemon(4, ['seq' => '1', 'first_seq' => 1.5, 'ids' => ['a']]);
        $client = new Client('test', socketPath: $daemon->path);
        expect('bad_answer', reasonOf(fn () => $client->track('a')));
        expect('bad_answer', reasonOf(fn () => $client->trackMany([['event' => 'b']])));
        expect('bad_answer', $client->trackEach([['event' => 'c']])[0]->reason);
        $client->close();
        $dropped = [];
        $options = new Options(endTimeout: 60.0, onDropped: function ($error, $event) use (&$dropped) {
            $dropped[] = [$error->reason, $event['event']];
        });
        $client = new Client('test', socketPath: $daemon->path, options: $options);
        $client->trackSoon('d');
        $client->sendAtEnd();
        expect([['bad_answer', 'd']], $dropped);
        $client->close();
        $daemon->stop();
    },
    'a signal while it waits is no fault' => function (): void {
        $daemon = new Daemon(0);
        $client = new Client('test', socketPath: $daemon->path);
        $client->status();
        pcntl_async_signals(true);
        $count = 0;
        pcntl_signal(SIGALRM, function () use (&$count) {
            $count++;
        });
        pcntl_alarm(1);
        expect('timed_out', reasonOf(fn () => $client->track('x', timeout: 1.5)));
        expect(1, $count);
        $daemon->stop();
    },
    'an empty array is an object where one is wanted' => function (): void {
        $event = (new ReflectionMethod(Client::class, 'event'))->invoke(null, ['event' => 'x', 'id' => 'e', 'data' => []]);
        expect('{"event":"x","id":"e","data":{}}', Json::encode($event));
    },
    'a name that begins with NUL can be read' => function (): void {
        $message = Json::decode('{"id":1,"result":{"\u0000a":1}}');
        expect(true, $message->result instanceof stdClass);
    },
    'depth is that of arrays and objects' => function (): void {
        foreach (['1' => 0, '{}' => 1, '[{"a":[]},{}]' => 3, '["[[\"[["]' => 1, '["\\\\",[]]' => 2] as $text => $wanted) {
            expect($wanted, Json::depth((string) $text));
        }
        expect(1, Json::depth('["' . str_repeat('x\\"', 1 << 20) . '"]'));
    },
    'ids are UUIDs of version 7, and grow' => function (): void {
        $ids = array_map(fn () => Client::newId(), range(1, 10_000));
        $sorted = array_unique($ids);
        sort($sorted);
        expect($sorted, $ids);
        $form = '/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/D';
        expect(10_000, count(preg_grep($form, $ids)));
        expect(true, abs(hexdec(substr(str_replace('-', '', $ids[0]), 0, 12)) - microtime(true) * 1000) < 60_000);
    },
    'the socket is where Docs/Decisions/0010 says' => function (): void {
        [$machine, $own] = ['/run/headgate', '/b/headgate'];
        foreach (
            [
                [['HEADGATE_SOCKET' => '/a', 'XDG_RUNTIME_DIR' => '/b'], [$own], '/a'],
                [['HEADGATE_SOCKET' => '', 'XDG_RUNTIME_DIR' => '/b'], [], "$own/headgate.sock"],
                [['XDG_RUNTIME_DIR' => '/b'], [$machine], "$machine/headgate.sock"],
                [['XDG_RUNTIME_DIR' => '/b'], [$machine, $own], "$own/headgate.sock"],
                [['XDG_RUNTIME_DIR' => 'b'], [], "$machine/headgate.sock"],
                [[], [], "$machine/headgate.sock"],
            ] as [$variables, $folders, $wanted]
        ) {
            expect($wanted, Client::defaultSocket($variables, fn ($path) => in_array($path, $folders, true)));
        }
    },
];
foreach ($tests as $name => $test) {
    try {
        $test();
    } catch (Throwable $error) {
        fwrite(STDERR, "FAILED: $name: {$error->getMessage()}\n{$error->getTraceAsString()}\n");
        exit(1);
    }
}
echo count($tests), " tests of the PHP client passed\n";
