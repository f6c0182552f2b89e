#!/usr/bin/env php
<?php

// The PHP client as a program with the verbs of Docs/Clients.md.

declare(strict_types=1);

require __DIR__ . '/../../../Packages/Client/PHP/Headgate.php';

use Headgate\Client;
use Headgate\HeadgateException;
use Headgate\Json;
use Headgate\Options;
use Headgate\Receipt;

function put(mixed $value): void
{
    // A number that PHP cannot represent as a finite one is written as 0.
    fwrite(STDOUT, json_encode($value, JSON_UNESCAPED_SLASHES | JSON_PRESERVE_ZERO_FRACTION | JSON_PARTIAL_OUTPUT_ON_ERROR) . "\n");
}

function refusal(HeadgateException $error): array
{
    return [
        'code' => $error->getCode(), 'reason' => $error->reason, 'message' => $error->getMessage(), 'path' => $error->path,
    ];
}

function call(Client $client, string $method, array $values, float|false|null $timeout): mixed
{
    return match ($method) {
        'track' => $client->track(
            $values['event'],
            $values['data'] ?? null,
            array_diff_key($values, ['event' => 0, 'data' => 0]),
            $timeout,
        ),
        'track_many' => $client->trackMany(array_map(fn ($event) => (array) $event, $values['events']), $timeout),
        'flush' => $client->flush($values, $timeout),
        'status' => $client->status($timeout),
        default => $client->call($method, $values, $timeout),
    };
}

function calls(Client $client, float|false|null $timeout): void
{
    while (($line = fgets(STDIN)) !== false) {
        $asked = Json::decode($line);
        try {
            put(['result' => call($client, $asked->method, (array) ($asked->arguments ?? []), $timeout)]);
        } catch (HeadgateException $error) {
            put(['error' => refusal($error)]);
        }
    }
}

/** Tracks events without waiting between them, and writes the outcomes in order. */
function track(Client $client, string $count, string $name): void
{
    $events = (function () use ($count, $name) {
        for ($n = 0; $n < (int) $count; $n++) {
            yield ['event' => $name, 'data' => ['n' => $n]];
        }
    })();
    foreach ($client->trackEach($events) as $n => $outcome) {
        put(['n' => $n] + outcome($outcome));
    }
}

function outcome(Receipt|HeadgateException $outcome): array
{
    return $outcome instanceof Receipt ? ['result' => $outcome] : ['error' => refusal($outcome)];
}

function waited(callable $act): array
{
    try {
        return outcome($act());
    } catch (HeadgateException $error) {
        return outcome($error);
    }
}

/** Writes the errors of the events that were dropped since the last call. */
function putDropped(): void
{
    global $dropped;
    array_map(put(...), array_map(fn ($error, $event) => ['n' => ((array) $event['data'])['n'], 'error' => refusal($error)], ...$dropped));
    $dropped = [[], []];
}

/** Tracks events with calls that never wait. The client reports dropped events by onDropped. */
function tryEvents(Client $client, string $count, string $name, string $size = '0'): void
{
    $more = $size > 0 ? ['text' => str_repeat('x', (int) $size)] : [];
    $taken = array_filter(range(0, $count - 1), fn ($n) => $client->trackSoon($name, ['n' => $n] + $more));
    putDropped();
    put('tried');
    $lost = $client->send(null);
    putDropped();
    foreach ($lost === 0 ? $taken : [] as $n) {
        put(['n' => $n, 'result' => null]);
    }
}

/** Tracks an event that uses the available room, and another that waits for room until the deadline. */
function room(Client $client, string $name, ?float $timeout): void
{
    $connection = (fn () => $this->connection)->call($client);
    $first = new Headgate\Call('track', ['event' => $name, 'id' => Client::newId()], true);
    $connection->begin($first, INF);
    put(waited(fn () => $client->track($name, timeout: $timeout)));
    put(['result' => $connection->finish($first, INF)]);
}

function trackAll(Client $client, string $count, string $name): void
{
    for ($n = 0; $n < (int) $count; $n++) {
        $client->trackSoon($name, ['n' => $n]);
    }
}

/** Runs code when PHP destroys its objects, after the last shutdown function. */
final class Late
{
    public function __construct(private readonly Closure $act)
    {
    }

    public function __destruct()
    {
        ($this->act)();
    }
}

/** Tracks events without waiting, then ends the program in the given way. */
function endBy(Client $client, string $how, string $count, string $name): void
{
    if ($how === 'late') {
        $client->track($name);
        $GLOBALS['late'] = new Late(fn () => trackAll($client, $count, $name));
        return;
    }
    trackAll($client, $count, $name);
    match ($how) {
        'close' => $client->close(),
        'exit' => exit(0),
        'throw' => throw new RuntimeException('as was asked'),
        'return' => null,
    };
}

/** Tracks an event before, in, and after a child process. */
function fork(Client $client, string $name): void
{
    $client->track($name);
    $child = pcntl_fork();
    if ($child === 0) {
        put(['child' => waited(fn () => $client->track($name))]);
        posix_kill(posix_getpid(), SIGKILL);
    }
    pcntl_waitpid($child, $status);
    put(['parent' => waited(fn () => $client->track($name))]);
}

$names = [
    'socket', 'namespace', 'max-unanswered', 'greeting-timeout-ms', 'connect-timeout-ms', 'reconnect-timeout-ms', 'deadline-ms',
    'tell', 'signals',
];
$given = getopt('', array_map(fn ($name) => "$name:", [...$names, 'persistent']), $rest);
$seconds = fn (string $name, ?float $usual): ?float => isset($given[$name]) ? $given[$name] / 1000 : $usual;
[$verb, $arguments] = [$argv[$rest], array_slice($argv, $rest + 1)];
$isTelling = isset($given['tell']);
if (isset($given['signals'])) {
    pcntl_async_signals(true);
    pcntl_signal(SIGUSR1, fn () => null);
}
$dropped = [[], []];
$options = new Options(
    timeout: null,
    endTimeout: $verb === 'end' ? 30.0 : 60.0,
    connectTimeout: $seconds('connect-timeout-ms', (new Options())->connectTimeout),
    reconnectTimeout: $seconds('reconnect-timeout-ms', null),
    greetingTimeout: $seconds('greeting-timeout-ms', 10.0),
    maxUnanswered: (int) ($given['max-unanswered'] ?? 16_384),
    backoffBase: 0.01,
    backoffCap: 0.2,
    persistent: ($given['persistent'] ?? 'no') === 'yes',
    onDropped: $verb !== 'try' ? null : function (HeadgateException $error, array $event) use (&$dropped) {
        array_push($dropped[0], $error);
        array_push($dropped[1], $event);
    },
    onState: $isTelling ? fn (string $state) => put(['state' => $state]) : null,
    log: $isTelling ? fn (string $text) => put(['warning' => $text]) : null,
);
$client = new Client('certified', '1.0', $given['socket'], $given['namespace'] ?? null, $options);
match ($verb) {
    'calls' => calls($client, $seconds('deadline-ms', null)),
    'track' => track($client, ...$arguments),
    'try' => tryEvents($client, ...$arguments),
    'room' => room($client, $arguments[0], $seconds('deadline-ms', null)),
    'end' => endBy($client, ...$arguments),
    'fork' => fork($client, ...$arguments),
};
if ($verb !== 'end') {
    $client->close();
}
