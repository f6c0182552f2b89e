<?php

// Tests of the loggers for PSR-3 and Monolog. There is no daemon: the tests read the tracked events from the client's spool.

declare(strict_types=1);

require 'Psr/Log/autoload.php';
require 'Monolog/autoload.php';
require __DIR__ . '/../HeadgateLogger.php';

use Headgate\{Logger, MonologHandler, Options};

set_error_handler(function (int $level, string $text, string $file, int $line): never {
    throw new ErrorException($text, 0, $level, $file, $line);
});

function expect(mixed $wanted, mixed $got): void
{
    if ($wanted !== $got) {
        throw new LogicException('expected ' . var_export($wanted, true) . ', got ' . var_export($got, true));
    }
}

/** Returns the events that a logger tracks. */
function tracked(callable $log, int $room = 1_000): array
{
    $spool = tempnam(sys_get_temp_dir(), 'headgate-');
    $options = new Options(connectTimeout: 0.0, maxUnanswered: $room, log: fn () => null, spool: $spool, endTimeout: 0.1);
    try {
        $log($options)->client->send();
        return array_map(fn ($line) => json_decode($line, true), file($spool));
    } finally {
        unlink($spool);
    }
}

final class Unshowable implements Stringable
{
    public function __toString(): string
    {
        throw new RuntimeException('no');
    }
}

$tests = [
    'a record of PSR-3 becomes an event' => function (): void {
        [$event] = tracked(function (Options $options) {
            $logger = new Logger('test', name: 'till', socketPath: '/nowhere/d', options: $options);
            $context = ['order' => 17, 'odd' => NAN, 'level' => 'x', 'exception' => new RuntimeException('as was asked'), 'list' => [1, [2]]];
            $logger->warning('order {order} is {state}', $context);
            return $logger->sink;
        });
        expect('log', $event['event']);
        expect(1, preg_match('/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/D', $event['time']));
        $data = $event['data'];
        expect(['WARNING', 'till', 'order 17 is {state}', 17, 'NAN', [1, [2]], getmypid()], [
            $data['level'], $data['logger'], $data['message'], $data['order'], $data['odd'], $data['list'], $data['process'],
        ]);
        expect(true, str_starts_with($data['exception'], 'RuntimeException: as was asked in '));
    },
    'levels are those of all languages' => function (): void {
        $names = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];
        $events = tracked(function (Options $options) use ($names) {
            $logger = new Logger('test', socketPath: '/nowhere/d', options: $options);
            array_map(fn ($name) => $logger->$name('x'), $names);
            return $logger->sink;
        });
        $wanted = ['DEBUG', 'INFO', 'NOTICE', 'WARNING', 'ERROR', 'CRITICAL', 'CRITICAL', 'CRITICAL'];
        expect($wanted, array_map(fn ($event) => $event['data']['level'], $events));
    },
    'a record that cannot be shown goes without its text' => function (): void {
        $events = tracked(function (Options $options) {
            $logger = new Logger('test', socketPath: '/nowhere/d', options: $options);
            $logger->info(new Unshowable());
            $logger->info('fields', ['bad' => new Unshowable()]);
            expect(['bad_record' => 1], $logger->sink->dropped());
            $logger->info('next');
            return $logger->sink;
        });
        expect(['log', 'log.dropped', 'log'], array_column($events, 'event'));
        expect('a message that cannot be shown', $events[0]['data']['message']);
        expect(['bad_record' => 1], $events[1]['data']['reasons']);
    },
    'dropped records are reported' => function (): void {
        $options = new Options(connectTimeout: 0.0, maxUnanswered: 2, log: fn () => null, endTimeout: 0.1);
        $logger = new Logger('test', socketPath: '/nowhere/d', options: $options);
        for ($n = 0; $n < 5; $n++) {
            $logger->info('x');
        }
        expect(['buffer_full' => 3], $logger->sink->dropped());
        expect(2, $logger->sink->client->send());
        expect(['buffer_full' => 3, 'cannot_connect' => 2], $logger->sink->dropped());
        $logger->sink->client->close();
    },
    'a record of Monolog becomes an event' => function (): void {
        [$event] = tracked(function (Options $options) {
            $handler = new MonologHandler('test', socketPath: '/nowhere/d', options: $options);
            $logger = new Monolog\Logger('till', [$handler], [fn ($record) => ['extra' => ['host' => 'a']] + $record]);
            $logger->error('failed', ['order' => 17, 'exception' => new RuntimeException('as was asked')]);
            return $handler->sink;
        });
        $data = $event['data'];
        $got = [$data['level'], $data['logger'], $data['message'], $data['order'], $data['host']];
        expect(['ERROR', 'till', 'failed', 17, 'a'], $got);
        expect(true, str_starts_with($data['exception'], 'RuntimeException: as was asked in '));
    },
    'a level that is off is not tracked' => function (): void {
        $events = tracked(function (Options $options) {
            $handler = new MonologHandler('test', level: Monolog\Logger::ERROR, socketPath: '/nowhere/d', options: $options);
            (new Monolog\Logger('till', [$handler]))->warning('x');
            return $handler->sink;
        });
        expect([], $events);
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
echo count($tests), " tests of the PHP loggers passed\n";
