#!/usr/bin/env php
<?php

// The PHP client as a program, by the verbs of Docs/Clients.md.

declare(strict_types=1);

require __DIR__ . '/../../../Packages/Client/PHP/Headgate.php';

use Headgate\Client;
use Headgate\HeadgateException;
use Headgate\Json;
use Headgate\Options;
use Headgate\Receipt;

function put(mixed $value): void
{
    fwrite(STDOUT, Json::encode($value) . "\n");
}

function refusal(HeadgateException $error): array
{
    return [
        'code' => $error->getCode(), 'reason' => $error->reason, 'message' => $error->getMessage(), 'path' => $error->path,
    ];
}

function call(Client $client, string $method, array $values): mixed
{
    return match ($method) {
        'track' => $client->track(
            $values['event'],
            $values['data'] ?? null,
            array_diff_key($values, ['event' => 0, 'data' => 0]),
        ),
        'track_many' => $client->trackMany(array_map(fn ($event) => (array) $event, $values['events'])),
        'flush' => $client->flush($values),
        'status' => $client->status(),
        default => $client->call($method, $values),
    };
}

function calls(Client $client): void
{
    while (($line = fgets(STDIN)) !== false) {
        $asked = json_decode($line, false, 512, JSON_THROW_ON_ERROR);
        try {
            put(['result' => call($client, $asked->method, (array) ($asked->arguments ?? []))]);
        } catch (HeadgateException $error) {
            put(['error' => refusal($error)]);
        }
    }
}

/** Tracks as many events without waiting in between; tells what came of each, in order. */
function track(Client $client, string $count, string $name): void
{
    $events = (function () use ($count, $name) {
        for ($n = 0; $n < (int) $count; $n++) {
            yield ['event' => $name, 'data' => ['n' => $n]];
        }
    })();
    foreach ($client->trackEach($events) as $n => $outcome) {
        put(['n' => $n] + ($outcome instanceof Receipt ? ['result' => $outcome] : ['error' => refusal($outcome)]));
    }
}

$names = ['socket', 'namespace', 'max-unanswered', 'greeting-timeout-ms', 'connect-timeout-ms', 'reconnect-timeout-ms'];
$given = getopt('', array_map(fn ($name) => "$name:", [...$names, 'persistent']), $rest);
$seconds = fn (string $name, ?float $usual): ?float => isset($given[$name]) ? $given[$name] / 1000 : $usual;
$options = new Options(
    timeout: null,
    endTimeout: 60.0,
    connectTimeout: $seconds('connect-timeout-ms', null),
    reconnectTimeout: $seconds('reconnect-timeout-ms', null),
    greetingTimeout: $seconds('greeting-timeout-ms', 10.0),
    maxUnanswered: (int) ($given['max-unanswered'] ?? 16_384),
    backoffBase: 0.01,
    backoffCap: 0.2,
    persistent: ($given['persistent'] ?? 'no') === 'yes',
);
$client = new Client('certified', '1.0', $given['socket'], $given['namespace'] ?? null, $options);
$verb = $argv[$rest];
match ($verb) {
    'calls' => calls($client),
    'track' => track($client, ...array_slice($argv, $rest + 1)),
};
$client->close();
