# frozen_string_literal: true

require "logger"
require "headgate"

module Headgate
  # A `Logger` that tracks log records as events.
  #
  #     logger = Headgate::Logger.new("shop", "2.1")
  #     logger.info("order placed")
  #     logger.warn({message: "slow", order: 17, seconds: 3.5})   # the hash's members become fields
  #
  # Each record becomes an event whose data are `level`, `logger` (the `progname`), `message`, `file`, `line`, `function`, `process`,
  # `thread`, for an exception `exception`, and the fields of a hash. Docs/Logging.md has the table for all languages.
  #
  # The logger never waits and never raises. It drops records while there is no room (`buffer_full`), records that the daemon refuses
  # (the reason of the error), and records that cannot be made into an event (`bad_record`). The next event that can be tracked is
  # preceded by one named `EVENT.dropped` with `count`, `reasons` and `since`.
  class Logger < ::Logger
    LEVELS = %w[DEBUG INFO WARNING ERROR CRITICAL CRITICAL].freeze
    DEEPEST = 8
    private_constant :LEVELS, :DEEPEST

    # program, version: the program's name and version, the events' `context.client`.
    # client: a client of the program, which the program closes itself; by default the logger makes one.
    # event: the events' name.
    # flush_timeout: the longest wait of `close`, and of the end of the program, for acknowledgements, in seconds.
    # options: the options of the logger's client. By default it waits for the daemon without an end.
    def initialize(
      program = "ruby", version = "", client: nil, event: "log", level: DEBUG, progname: nil, flush_timeout: 2, **options
    )
      super(nil, level: level, progname: progname)
      @is_own = client.nil?
      @client = client || Client.new(program, version, connect_timeout: nil, close_timeout: flush_timeout, **options)
      @event = event
      @dropped = Dropped.new
      AtExit.forget(@client) if @is_own
      AtExit.remember(self)
    end

    # Tracks a record, or drops it. Returns true, as `Logger` does.
    def add(severity, message = nil, progname = nil)
      severity ||= UNKNOWN
      return true if severity < level

      progname = @progname if progname.nil?
      if message.nil?
        message, progname = block_given? ? [yield, progname] : [progname, @progname]
      end
      track(severity, message, progname)
      true
    end
    alias log add

    # Tracks text as a record without a level of its own.
    def <<(text)
      track(INFO, text, @progname)
      self
    end

    # Returns the number of records that have been dropped so far, by reason.
    def dropped = @dropped.all

    # Waits until all records are acknowledged, but no longer than the timeout in seconds. Returns true if they are.
    def flush(timeout: 2)
      tell_of_dropped
      @client.drain(timeout: timeout)
      true
    rescue StandardError
      false
    end

    # Closes the logger's own client. Writes to standard error how many records were dropped and not reported.
    def close
      AtExit.forget(self)
      @client.close if @is_own
      reasons, = @dropped.take
      reasons.delete("closed") if @is_own # the client has logged them
      warn_of(reasons)
    end

    # Waits at the end of the program, no longer than `flush_timeout`. Writes to standard error how many records were dropped.
    def end_with_program
      tell_of_dropped
      @client.end_with_program if @is_own
      reasons, = @dropped.take
      warn_of(reasons)
    end

    # Returns true in the process in which the logger's client has been used last.
    def own? = @client.own?

    private

    def track(severity, message, progname)
      data = data_of(severity, message, progname)
      time = Time.now
      tell_of_dropped
      @client.try_track(@event, data, time: time) { |error| @dropped.add(error.reason || "refused") if error }
    rescue Error => e
      @dropped.add(e.reason == "misuse" ? "bad_record" : e.reason)
    rescue StandardError, SystemStackError
      @dropped.add("bad_record")
    end

    def warn_of(reasons)
      return if reasons.empty?

      Kernel.warn("headgate: log records dropped: #{reasons.sort.map { |reason, count| "#{count} #{reason}" }.join(', ')}")
    end

    def tell_of_dropped
      return if @dropped.empty? || !@client.room?

      reasons, since = @dropped.take
      return if reasons.empty? # another thread has reported them

      tell(reasons, since)
    end

    def tell(reasons, since)
      data = {count: reasons.values.sum, reasons: reasons, since: since}
      @client.try_track("#{@event}.dropped", data) { |error| @dropped.put_back(reasons, since) if error }
    rescue Error
      @dropped.put_back(reasons, since)
    end

    def data_of(severity, message, progname)
      place = caller_locations(3, 8).find { |one| !one.path.end_with?("/logger.rb") }
      {
        **fields(message), level: LEVELS[severity] || LEVELS.last, logger: progname && text(progname), file: place&.path,
        line: place&.lineno, function: place&.base_label, process: Process.pid, thread: Thread.current.name || "main"
      }.compact
    end

    # Returns the message, the exception, and the fields that a program gave.
    def fields(message)
      case message
      when Hash
        given = message.to_h { |name, value| [text(name).to_sym, plain(value, 0)] }
        {message: "", **given}
      when Exception then {message: text(message.message), exception: text(message.full_message(highlight: false))}
      else {message: text(message)}
      end
    end

    def text(value) = Plain.text(value.is_a?(String) ? value : value.to_s)

    # Returns a value that JSON can represent. Other values become their `inspect` text.
    def plain(value, depth)
      case value
      when nil, true, false, Integer, String, Symbol, Time then value
      when Float then value.finite? ? value : value.to_s
      when Exception then text(value.full_message(highlight: false))
      when Hash then depth < DEEPEST ? value.to_h { |name, one| [text(name), plain(one, depth + 1)] } : text(value.inspect)
      when Array then depth < DEEPEST ? value.map { |one| plain(one, depth + 1) } : text(value.inspect)
      else text(value.inspect)
      end
    end

    # The records that were dropped and not reported yet, and those that were ever dropped, by reason.
    class Dropped
      def initialize
        @lock = Mutex.new
        @unreported = {}
        @ever = {}
        @since = nil
      end

      def empty? = @unreported.empty?
      def all = locked { @ever.dup }

      def add(reason)
        locked do
          @ever[reason] = @ever.fetch(reason, 0) + 1
          @since = Time.now if @unreported.empty?
          @unreported[reason] = @unreported.fetch(reason, 0) + 1
        end
      end

      # Returns the unreported counts by reason, and the time of the first drop.
      def take
        locked do
          reasons = @unreported
          @unreported = {}
          [reasons, @since]
        end
      end

      # Takes back counts whose report was not stored.
      def put_back(reasons, since)
        locked do
          @since = since
          reasons.each { |reason, count| @unreported[reason] = @unreported.fetch(reason, 0) + count }
        end
      end

      private

      # Runs a block with the lock. A signal handler cannot lock: there a count may be lost, but nothing is raised.
      def locked(&block)
        @lock.synchronize(&block)
      rescue ThreadError
        yield
      end
    end
    private_constant :Dropped
  end
end
