<?php

/**
 * Loggers that track log records as events: one for PSR-3, and a handler for Monolog. Each needs its interface (`psr/log`, `monolog/monolog`),
 * and the file of the client beside this one.
 *
 *     $logger = new Headgate\Logger('shop', '2.1');
 *     $logger->warning('order {order} is slow', ['order' => 17]);
 *
 *     $monolog->pushHandler(new Headgate\MonologHandler('shop', '2.1'));
 *
 * The records are sent at the end of the request, as `Client::trackSoon` does it. Docs/Logging.md lists the fields and the levels.
 */

declare(strict_types=1);

namespace Headgate;

require_once __DIR__ . '/Headgate.php';

/** Tracks records, for both loggers. It never waits, and throws nothing. */
final class LogSink
{
    private const LEVELS = [
        'debug' => 'DEBUG', 'info' => 'INFO', 'notice' => 'NOTICE', 'warning' => 'WARNING', 'error' => 'ERROR', 'critical' => 'CRITICAL',
        'alert' => 'CRITICAL', 'emergency' => 'CRITICAL',
    ];
    private const DEEPEST = 8;

    public readonly Client $client;
    /** @var array<string, int> the records that were dropped and not reported yet, by reason */
    private array $unreported = [];
    /** @var array<string, int> all records that were dropped, by reason */
    private array $ever = [];
    private string $since = '';

    /**
     * @param string $program the program's name
     * @param string $version the program's version; together they are the events' `context.client`
     * @param string $event the events' name
     * @param ?Options $options those of the logger's client. Their `onDropped` is called as well
     */
    public function __construct(string $program, string $version, private readonly string $event, ?string $socketPath, ?Options $options)
    {
        $options ??= new Options();
        $own = ['onDropped' => function (HeadgateException $error, array $event) use ($options): void {
            if (($event['event'] ?? '') !== "$this->event.dropped") {
                $this->drop($error->reason ?? 'refused');
            }
            $options->onDropped && ($options->onDropped)($error, $event);
        }];
        $this->client = new Client($program, $version, $socketPath, options: new Options(...[...get_object_vars($options), ...$own]));
        register_shutdown_function(fn () => register_shutdown_function($this->warnOfDropped(...)));
    }

    /** @return array<string, int> the number of records that have been dropped so far, by reason */
    public function dropped(): array
    {
        return $this->ever;
    }

    /** @param array<mixed> $fields */
    public function track(string $level, string $logger, string $message, array $fields, string $time): void
    {
        try {
            $exception = $fields['exception'] ?? null;
            $data = array_map(fn (mixed $value): mixed => self::plain($value, 0), $fields);
            $own = ['level' => self::LEVELS[strtolower($level)] ?? 'INFO', 'message' => $message, 'process' => getmypid()];
            $data = [...$data, ...$own, ...($logger === '' ? [] : ['logger' => $logger])];
            if ($exception instanceof \Throwable) {
                $data['exception'] = (string) $exception;
            }
        } catch (\Throwable) {
            $this->drop('bad_record');
            return;
        }
        $this->reportDropped();
        $this->client->trackSoon($this->event, $data, ['time' => $time]);
    }

    private function drop(string $reason): void
    {
        $this->since = $this->unreported === [] ? self::now() : $this->since;
        $this->ever[$reason] = ($this->ever[$reason] ?? 0) + 1;
        $this->unreported[$reason] = ($this->unreported[$reason] ?? 0) + 1;
    }

    private function reportDropped(): void
    {
        $reasons = $this->unreported;
        if ($reasons !== []) {
            $data = ['count' => array_sum($reasons), 'reasons' => $reasons, 'since' => $this->since];
            $this->unreported = $this->client->trackSoon("$this->event.dropped", $data) ? [] : $reasons;
        }
    }

    private function warnOfDropped(): void
    {
        if ($this->unreported !== []) {
            error_log('headgate: log records dropped: ' . json_encode($this->unreported));
        }
    }

    public static function now(): string
    {
        return (new \DateTimeImmutable('now', new \DateTimeZone('UTC')))->format('Y-m-d\TH:i:s.v\Z');
    }

    /** Returns a value that JSON can represent. Other values become text. */
    public static function plain(mixed $value, int $depth): mixed
    {
        return match (true) {
            is_float($value) && !is_finite($value) => (string) $value,
            is_array($value) && $depth < self::DEEPEST => array_map(fn (mixed $one): mixed => self::plain($one, $depth + 1), $value),
            is_array($value) => 'array',
            $value instanceof \DateTimeInterface => $value->format(\DateTimeInterface::RFC3339_EXTENDED),
            $value instanceof \JsonSerializable && $depth < self::DEEPEST => self::plain($value->jsonSerialize(), $depth + 1),
            $value instanceof \Stringable => (string) $value,
            is_object($value) => $value::class,
            is_resource($value) => get_debug_type($value),
            default => $value,
        };
    }
}

if (interface_exists(\Psr\Log\LoggerInterface::class)) {
    /** A logger of PSR-3. The context's members are the fields, and the values of `{placeholders}` in the message. */
    final class Logger implements \Psr\Log\LoggerInterface
    {
        use \Psr\Log\LoggerTrait;

        public readonly LogSink $sink;

        public function __construct(
            string $program,
            string $version = '',
            private readonly string $name = '',
            string $event = 'log',
            ?string $socketPath = null,
            ?Options $options = null,
        ) {
            $this->sink = new LogSink($program, $version, $event, $socketPath, $options);
        }

        /**
         * @param mixed $level
         * @param string|\Stringable $message
         * @param array<mixed> $context
         */
        public function log($level, $message, array $context = []): void
        {
            $text = 'a message that cannot be shown';
            try {
                $text = self::filled((string) $message, $context);
            } catch (\Throwable) {
                // The record is tracked all the same.
            }
            $this->sink->track(is_string($level) ? $level : 'info', $this->name, $text, $context, LogSink::now());
        }

        /** @param array<mixed> $context */
        private static function filled(string $message, array $context): string
        {
            $isPlain = fn (mixed $value): bool => $value === null || is_scalar($value) || $value instanceof \Stringable;
            $values = array_map(fn (mixed $value): string => (string) $value, array_filter($context, $isPlain));
            return strtr($message, array_combine(array_map(fn ($name): string => '{' . $name . '}', array_keys($values)), $values));
        }
    }
}

if (class_exists(\Monolog\Handler\AbstractProcessingHandler::class)) {
    /** A handler for Monolog 2 and 3. Members of the context and of `extra` become fields. */
    final class MonologHandler extends \Monolog\Handler\AbstractProcessingHandler
    {
        public readonly LogSink $sink;

        /** @param mixed $level the lowest level that is tracked, as Monolog has it */
        public function __construct(
            string $program,
            string $version = '',
            $level = 100,
            bool $bubble = true,
            string $event = 'log',
            ?string $socketPath = null,
            ?Options $options = null,
        ) {
            parent::__construct($level, $bubble);
            $this->sink = new LogSink($program, $version, $event, $socketPath, $options);
        }

        /** @param array<string, mixed>|\Monolog\LogRecord $record */
        protected function write($record): void
        {
            $time = \DateTimeImmutable::createFromInterface($record['datetime'])->setTimezone(new \DateTimeZone('UTC'));
            $fields = [...$record['extra'], ...$record['context']];
            $this->sink->track($record['level_name'], $record['channel'], $record['message'], $fields, $time->format('Y-m-d\TH:i:s.v\Z'));
        }
    }
}
