# frozen_string_literal: true

# A client of Headgate, the local event-delivery daemon. One file, Ruby 3.1 or later, nothing else.
#
#     headgate = Headgate::Client.new("shop", "2.1")
#     receipt = headgate.track("order_placed", {order: 17}, key: "user-7")   # returns when the daemon has stored the event
#     headgate.try_track("page_viewed", {path: "/cart"})                     # never waits
#
# A client connects at its first call, and again whenever the connection is lost. Every event gets an id before it is sent, and
# is sent under this id until it is acknowledged: a restart of the daemon loses no event and stores none twice (Behaviour Q7).
# Times are seconds; a member whose name ends in `_ms` goes to the daemon unchanged.

require "json"
require "securerandom"
require "socket"

module Headgate
  VERSION = "0.2.0"

  # The error of a failed call.
  class Error < StandardError
    # code: JSON-RPC's code, -32000 for the daemon's own refusals, 0 for an error of the client itself.
    # reason: the machine-readable reason, or nil for JSON-RPC's own errors. The daemon's (`queue_full`, `storage` …), or the client's:
    #   `cannot_connect`, `disconnected`, `timed_out`, `buffer_full`, `closed`, `bad_answer`, `misuse`.
    # path: the path of the wrong parameter, such as `events[1].event`, or nil.
    # data: the other members of the daemon's error.
    attr_reader :code, :reason, :path, :data

    def initialize(code, message, reason: nil, path: nil, data: {})
      super(message)
      @code = code
      @reason = reason
      @path = path
      @data = data
    end

    # Makes an error of the client itself.
    def self.local(reason, message) = new(0, message, reason: reason)

    # Reads the member `error` of an answer. Returns nil if it is no error of JSON-RPC.
    def self.read(error)
      return unless error.is_a?(Hash) && error["code"].is_a?(Integer) && error["message"].is_a?(String)

      data = error["data"].is_a?(Hash) ? error["data"] : {}
      reason, path = data.values_at("reason", "path").map { |text| text if text.is_a?(String) }
      new(error["code"], error["message"], reason: reason, path: path, data: data)
    end
  end

  # The receipt of an event. `seq` is the event's sequence number in the daemon, or nil if no dispatcher takes it. `duplicate`
  # is true if the daemon had stored this id before: by this call's first attempt, or by another event with the same id. That event
  # may since have been delivered or purged, or have become a dead letter. `unrouted` is true if no dispatcher takes the event.
  Receipt = Struct.new(:id, :seq, :duplicate, :unrouted, keyword_init: true) do
    # Reads the result of `track`.
    def self.read(result)
      id, seq = result.values_at("id", "seq")
      is_sound = id.is_a?(String) && (seq.nil? || seq.is_a?(Integer))
      raise Error.local("bad_answer", "the result of track is malformed") unless is_sound

      new(id: id, seq: seq, duplicate: result["duplicate"] == true, unrouted: result["unrouted"] == true)
    end
  end

  # The receipt of events that are stored together.
  ManyReceipt = Struct.new(:ids, :first_seq, :last_seq, :duplicates, :unrouted, keyword_init: true) do
    # Reads the result of `track_many`.
    def self.read(result)
      ids = result["ids"]
      raise Error.local("bad_answer", "the result of track_many is malformed") unless ids.is_a?(Array)

      first, last, duplicates, unrouted = result.values_at("first_seq", "last_seq", "duplicates", "unrouted")
      new(ids: ids, first_seq: first, last_seq: last, duplicates: duplicates || 0, unrouted: unrouted || 0)
    end
  end

  # The options of a client. Times are seconds; nil is no limit.
  #
  # connect_timeout: the longest wait of a call for the first connection. One attempt is always made; 0 allows no other. A daemon that
  #   is found stopping counts as a lost connection.
  # reconnect_timeout: the longest wait of a call after a lost connection. 0 does not wait.
  # greeting_timeout: the longest wait for the answer to `hello`.
  # close_timeout: the longest wait of `close`, and of the end of the program, for answers.
  # max_unanswered, max_unanswered_bytes: the greatest number and size of unanswered calls. One call is always let through.
  # backoff_base, backoff_cap: the first and the longest wait between two attempts to connect.
  # on_state: called with "connected", "disconnected" (and the error) or "closed", by a thread of its own.
  # log: called with each warning, as text. Nil writes it to standard error.
  Options = Struct.new(
    :connect_timeout, :reconnect_timeout, :greeting_timeout, :close_timeout, :max_unanswered, :max_unanswered_bytes,
    :backoff_base, :backoff_cap, :on_state, :log, keyword_init: true
  ) do
    def initialize(
      connect_timeout: 10, reconnect_timeout: nil, greeting_timeout: 10, close_timeout: 5, max_unanswered: 16_384,
      max_unanswered_bytes: 8 << 20, backoff_base: 0.05, backoff_cap: 5, on_state: nil, log: nil
    )
      super
    end
  end

  # Returns the path of the daemon's socket if the program names none: $HEADGATE_SOCKET, else below $XDG_RUNTIME_DIR if the daemon's
  # folder is there, else below /run. An empty variable counts as not set, and so does a relative XDG_RUNTIME_DIR.
  def self.default_socket(environment = ENV)
    given = environment["HEADGATE_SOCKET"]
    return given unless given.nil? || given.empty?

    folders = [environment["XDG_RUNTIME_DIR"], "/run"].select { |one| one&.start_with?("/") }.map { |one| "#{one}/headgate" }
    "#{folders.find { |one| File.directory?(one) } || folders.first}/headgate.sock"
  end

  # Returns a UUIDv7 (RFC 9562) that is greater than all that this process has made before.
  def self.new_id = Ids.next

  # Makes ids from the time and random bits. Within a millisecond the next id is the last one plus one.
  module Ids
    @lock = Mutex.new
    @last = 0
    @process = nil

    def self.next
      now = (Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond) << 74) | SecureRandom.random_number(1 << 73)
      step = 1 + SecureRandom.random_number(1 << 32)
      number = @lock.synchronize { @last = begins_anew? || now >> 74 > @last >> 74 ? now : @last + step }
      text = format("%032x", (number >> 74 << 80) | (7 << 76) | ((number >> 62 & 0xfff) << 64) | (2 << 62) | (number & ((1 << 62) - 1)))
      [text[0, 8], text[8, 4], text[12, 4], text[16, 4], text[20, 12]].join("-")
    end

    # Returns true at the first id of a process: a forked child must not count on from the parent's id, as its siblings might.
    def self.begins_anew?
      is_other = @process != Process.pid
      @process = Process.pid
      is_other
    end
    private_class_method :begins_anew?
  end

  # Converts values to JSON, and measures how deep they are nested.
  module Plain
    # The greatest depth. Deeper values are refused, and so is a value that contains itself.
    DEEPEST = 500

    # A number as JSON text.
    Digits = Struct.new(:text) do
      def to_json(*) = text
    end

    # Returns the line of a message, and its nesting depth.
    def self.line(message)
      deepest = [0]
      text = JSON.generate(of(message, 1, deepest), max_nesting: 0)
      ["#{text}\n".b, deepest[0]]
    rescue JSON::GeneratorError => e
      raise Error.local("misuse", "JSON cannot represent the value: #{e.message}")
    end

    def self.of(value, depth, deepest)
      case value
      when nil, true, false, Integer, Digits then value
      when Float then finite(value)
      when String then text(value)
      when Symbol then text(value.name)
      when Time then text(value.getutc.strftime("%Y-%m-%dT%H:%M:%S.%6NZ"))
      when Hash then nested(depth, deepest) { value.to_h { |name, member| [text(name.to_s), of(member, depth + 1, deepest)] } }
      when Array then nested(depth, deepest) { value.map { |member| of(member, depth + 1, deepest) } }
      else of(converted(value), depth, deepest)
      end
    end

    # Returns text in UTF-8. Bytes that are not UTF-8 become U+FFFD.
    def self.text(value)
      return value if value.encoding == Encoding::UTF_8 && value.valid_encoding?

      is_bytes = [Encoding::UTF_8, Encoding::BINARY, Encoding::US_ASCII].include?(value.encoding)
      is_bytes ? String.new(value, encoding: Encoding::UTF_8).scrub : value.encode(Encoding::UTF_8, invalid: :replace, undef: :replace)
    end

    def self.finite(value)
      value.finite? ? value : raise(Error.local("misuse", "JSON has no number for #{value}"))
    end
    private_class_method :finite

    def self.nested(depth, deepest)
      raise Error.local("misuse", "a value is nested deeper than #{DEEPEST} levels") if depth > DEEPEST

      deepest[0] = depth if depth > deepest[0]
      yield
    end
    private_class_method :nested

    def self.converted(value)
      if defined?(::BigDecimal) && value.is_a?(::BigDecimal) then digits(finite(value))
      elsif value.respond_to?(:iso8601) then value.iso8601
      elsif defined?(::Set) && value.is_a?(::Set) then value.to_a
      elsif value.respond_to?(:to_h) then value.to_h
      elsif value.respond_to?(:to_time) then value.to_time
      else raise Error.local("misuse", "JSON cannot represent a #{value.class}")
      end
    end
    private_class_method :converted

    def self.digits(decimal) = Digits.new(decimal.to_s(decimal.exponent.abs < 25 ? "F" : "E"))
    private_class_method :digits

    ESCAPE = /\\(?:u[dD][89abAB]\h\h\\u[dD][c-fC-F]\h\h|u\h{4}|.)/
    HALF = /\A\\u[dD][89a-fA-F]\h\h\z/

    # Returns JSON in which each lone surrogate is U+FFFD: Ruby's parser refuses some of them.
    def self.without_halves(text)
      return text unless text.match?(/\\u[dD][89a-fA-F]/)

      text.gsub(ESCAPE) { |escape| escape.match?(HALF) ? "\\ufffd" : escape }
    end
    private_class_method :without_halves

    # Reads a line. Returns [true, value], or [false, nil] if it is not JSON.
    def self.read(line)
      text = line.dup.force_encoding(Encoding::UTF_8)
      return [false, nil] unless text.valid_encoding?

      [true, JSON.parse(without_halves(text), max_nesting: 1_000, create_additions: false)]
    rescue JSON::ParserError
      [false, nil]
    end
  end

  # A request that has no outcome yet. `number` is the request's id on every connection.
  class Call
    attr_reader :method, :line, :depth, :number
    attr_accessor :written, :result, :error, :condition, :is_done, :when_done

    # is_repeatable: true if the call may be written again after a connection broke under it.
    # is_soon: true for an event whose caller does not wait for the acknowledgement.
    def initialize(method, params, is_repeatable, is_soon: false)
      @method = method
      @is_repeatable = is_repeatable
      @is_soon = is_soon
      text, @depth = Plain.line({method: method, params: params})
      @body = text.byteslice(1..)
      @written = false
    end

    def repeatable? = @is_repeatable
    def soon? = @is_soon

    def number=(number)
      @number = number
      @line = "{\"jsonrpc\":\"2.0\",\"id\":#{number},".b << @body
      @body = nil
    end
  end

  # An event that was tracked without waiting for its acknowledgement.
  class Pending
    def initialize(connection, call)
      @connection = connection
      @call = call
    end

    # Returns true if the event has an outcome.
    def done? = @call.is_done == true

    # Waits for the event's receipt. Raises the error if the event was refused, or not answered in time.
    def receipt(timeout: nil) = Receipt.read(@connection.wait(@call, Clock.after(timeout)))
  end

  # Moments of the monotonic clock, in seconds.
  module Clock
    NEVER = Float::INFINITY

    def self.now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

    def self.after(seconds)
      return NEVER if seconds.nil?
      raise Error.local("misuse", "a timeout is not a number") if seconds.to_f.nan?

      now + seconds
    end

    # Returns the seconds until a moment, at most a day; nil if the moment never comes.
    def self.until(moment) = moment == NEVER ? nil : (moment - now).clamp(0, 86_400)
  end

  # Calls the program's functions.
  module Foreign
    # Yields. An exception of any kind, such as NotImplementedError, is written to standard error and ends nothing. `exit` ends the program, as
    # in any thread.
    def self.call(what)
      yield
    rescue SystemExit => e
      Thread.main.raise(e)
    rescue Exception => e
      warn("headgate: #{what} failed: #{text_of(e)}")
    end

    def self.text_of(error)
      error.message.to_s
    rescue Exception # a class of the program may raise anything in `message`
      error.class.to_s
    end
    private_class_method :text_of

    # Writes to standard error, which may be closed.
    def self.warn(text)
      Kernel.warn(text)
    rescue IOError, SystemCallError
      nil
    end
  end

  # Calls the program's functions one after the other in a thread of its own, without the connection's lock: such a function may call
  # the client.
  class Hooks
    def initialize
      @lock = Mutex.new
      @queue = []
      @thread = nil
    end

    def add(&hook)
      @lock.synchronize do
        @queue << hook
        @thread = Thread.new { run } unless @thread&.alive?
      end
    end

    # Waits until all hooks have run, but no longer than the seconds, because the caller may itself be a hook.
    def wait(seconds)
      thread = @lock.synchronize { @thread }
      thread&.join(seconds) unless thread == Thread.current
    end

    private

    def run
      while (hook = @lock.synchronize { @queue.shift || (@thread = nil) })
        Foreign.call("a hook", &hook)
      end
      is_over = true
    ensure
      # The hook has ended this thread (`Thread.exit`), not the program: another thread runs the hooks that are left.
      @lock.synchronize { @thread = Thread.new { run } } if !is_over && Thread.main.alive?
    end
  end

  # The wait before the next attempt to connect, and the moment after which there is none.
  class Backoff
    attr_accessor :failures

    def initialize(base, cap)
      @base = base
      @cap = cap
      @failures = 0
      @end = nil
    end

    # Sets the moment of the last attempt, in seconds from now, unless it is set already.
    def begin(patience) = @end ||= Clock.after(patience)

    # Forgets the end: the next call that waits has the whole timeout.
    def rest = @end = nil

    # Notes that a call was answered.
    def succeed
      @failures = 0
      @end = nil
    end

    def over? = !@end.nil? && Clock.now >= @end

    # Returns the moment of the next attempt. The wait is random, in its upper half, so that clients that lost the daemon
    # together do not reconnect together.
    def next_attempt
      longest = [@cap, @base * 2.0**[@failures - 1, 32].min].min
      [Clock.now + longest * (0.5 + rand / 2), @end || Clock::NEVER].min
    end
  end

  # Decides when to connect, what to write, what to write again, and which outcome each call has.
  #
  # A repeatable call is not lost with a connection: it is written again on the next one, in the same order and under the same id.
  # One thread connects, reads and writes; one lock guards all state.
  class Connection
    LONGEST_ANSWER = 256 << 20
    # The seconds that an ending connection waits for a daemon that does not read.
    LAST_WRITE = 1
    # The bytes of output from which on no more calls are written.
    MOST_OUTPUT = 256 << 10
    # Keeps a write from raising SIGPIPE, which ends a program that resets it to the system's default. Not all systems have this flag.
    NO_SIGNAL = Socket.const_defined?(:MSG_NOSIGNAL) ? Socket::MSG_NOSIGNAL : 0
    PERMANENT = [
      Errno::EACCES, Errno::EPERM, Errno::EINVAL, Errno::ENAMETOOLONG, Errno::ENOTDIR, Errno::ELOOP, Errno::EPROTOTYPE,
      Errno::ENOTSOCK, Errno::EAFNOSUPPORT
    ].freeze

    attr_reader :process

    def initialize(path, hello, options)
      @path = path
      @options = options
      @hello, = Plain.line(hello)
      @lock = Mutex.new
      @changed = ConditionVariable.new
      @hooks = Hooks.new
      @backoff = Backoff.new(options.backoff_base, options.backoff_cap)
      @process = Process.pid
      @phase = :idle
      @calls = {}
      @queue = []
      @held_bytes = @unanswered = @last_number = @given_up = 0
      @longest_line = 1_048_576
      @deepest = 64
      @output = @input = "".b
      forget_link
    end

    # MARK: From any thread

    # Adds a call as soon as there is room. Raises `buffer_full` if there is none until the moment.
    def begin(call, moment)
      synchronized do
        until room? || over?
          remaining = Clock.until(moment)
          raise Error.local("buffer_full", because("there was no room for another event in time")) if remaining&.zero?

          @changed.wait(@lock, remaining)
        end
        insert(call)
      end
    end

    # Waits until a call is answered. Cancels the call at the moment, or when the thread is interrupted.
    def wait(call, moment)
      synchronized do
        until call.is_done
          remaining = Clock.until(moment)
          raise late if remaining&.zero?

          call.condition ||= ConditionVariable.new
          call.condition.wait(@lock, remaining)
        end
      ensure
        remove(call) && proceed unless call.is_done || call.soon?
      end
      raise call.error.dup if call.error

      call.result
    end

    # Returns true if all calls are answered before the moment.
    def drained?(moment)
      synchronized do
        until @calls.empty?
          remaining = Clock.until(moment)
          return false if remaining&.zero?

          @changed.wait(@lock, remaining)
        end
        true
      end
    end

    def unanswered = synchronized { @calls.size }
    def room_now? = synchronized { room? && !over? }

    # Ends all calls and the connection, waiting at most until the moment. Returns the number of events that were not acknowledged.
    def close(moment)
      synchronized { @is_leaving = true }
      drained?(moment)
      left = 0
      thread = synchronized do
        left = take_lost
        end_for_good(moment) unless @phase == :closed
        @thread
      end
      thread&.join(2 * LAST_WRITE) unless thread == Thread.current
      @hooks.wait([Clock.until(moment) || LAST_WRITE, 0.02].max)
      left
    end

    # Waits at the end of the program, at most until the moment. Returns the number of events that are not acknowledged. Events that are
    # tracked later are still sent.
    def settle(moment)
      drained?(moment)
      @hooks.wait([Clock.until(moment) || LAST_WRITE, 0.02].max)
      synchronized { take_lost }
    end

    # Closes a forked child's copies of the parent's descriptors. Nothing is written.
    def leave_to_parent
      [@link, @wake_out, @wake_in].each { |one| one&.close }
    end

    def log(text)
      @options.log ? @options.log.call("headgate: #{text}") : Foreign.warn("headgate: #{text}")
    end

    private

    # Runs a block with the lock. An interrupt of the thread (`Timeout`, `Thread#raise`) comes before or after a change, or while the
    # thread waits.
    def synchronized(&block)
      Thread.handle_interrupt(Object => :on_blocking) { @lock.synchronize(&block) }
    end

    def room? = @calls.size < @options.max_unanswered && @held_bytes < @options.max_unanswered_bytes
    def over? = @phase == :closed || @is_leaving

    def insert(call)
      raise Error.local("closed", "the client is closed") if over?

      start unless @thread&.alive?
      call.number = @last_number += 1
      @calls[call.number] = call
      @held_bytes += call.line.bytesize
      @queue << call
      seek if @phase == :idle
      wake
    end

    def start
      @wake_out, @wake_in = IO.pipe unless @wake_out
      start_thread
    rescue SystemCallError, ThreadError => e
      raise Error.local("cannot_connect", "cannot start a thread for #{@path}: #{e.message}")
    end

    # failure: why an earlier thread ended, if it did.
    def start_thread(failure = nil)
      @thread = Thread.new { run(failure) }
      @thread.name = "headgate"
      @thread.report_on_exception = true
    end

    def seek
      @phase = :waiting
      @until = Clock.now
      @backoff.begin(@was_connected ? @options.reconnect_timeout : @options.connect_timeout)
    end

    def wake
      return unless @is_sleeping

      @is_sleeping = false
      @wake_in.write_nonblock("!", exception: false)
    end

    def end_for_good(moment)
      @phase = :closed
      @until = Clock.now + (Clock.until(moment)&.zero? ? 0.02 : LAST_WRITE)
      set_state("closed", nil)
      fail_all(Error.local("closed", "the client is closed"))
      @changed.broadcast
      wake
    end

    # Returns the error of a call whose timeout has passed.
    def late
      failure = connected? ? nil : @last_failure
      failure ? failure.dup : Error.local("timed_out", "no answer came in time")
    end

    def connected? = @phase == :open || @phase == :draining

    # Returns a text, followed by the reason if there is no connection.
    def because(text) = connected? || @last_failure.nil? ? text : "#{text}: #{@last_failure.message}"

    # MARK: Reports to the program

    def set_state(state, error)
      return if @state == state

      @state = state
      on_state = @options.on_state
      @hooks.add { on_state.call(state, error) } if on_state
    end

    # Reports that a connection is wanted and cannot be made. It is logged once until a call is answered again.
    def missing(error)
      @last_failure = error
      set_state("disconnected", error)
      return if @has_warned

      @has_warned = true
      @hooks.add { log(error.message) }
    end

    # MARK: The thread

    # failure: why an earlier thread ended, if it did. Callers that wait must not wait without an end.
    def run(failure)
      Thread.handle_interrupt(Object => :on_blocking) do
        broke(failure) if failure
        failure = nil
        nil while turn
      end
      is_over = true
    rescue Exception => e # any error fails the calls
      failure = "#{e.class}: #{e.message}"
      retry
    ensure
      # A callback has ended this thread (`Thread.exit`), not the program.
      synchronized { start_thread("a callback ended its thread") } if !is_over && Thread.main.alive?
    end

    # Fails all calls, after the thread ended by a fault.
    def broke(failure)
      synchronized do
        forget_link
        rest unless @phase == :closed
        fail_all(Error.local("bad_answer", "the client failed: #{failure}"))
      end
    end

    # Waits for something to do, and does it. Returns false when the connection is closed for good.
    def turn
      reads = writes = timeout = nil
      @lock.synchronize do
        pass_time
        proceed
        return leave if @phase == :closed && (@link.nil? || @output.empty? || Clock.now >= @until)

        reads = [@wake_out, @link].compact
        writes = output? ? [@link] : []
        timeout = Clock.until(%i[waiting greeting closed].include?(@phase) || @is_ending ? @until : Clock::NEVER)
        @is_sleeping = true
      end
      readable, writable = IO.select(reads, writes, nil, timeout)
      @lock.synchronize do
        @is_sleeping = false
        @wake_out.read_nonblock(64, exception: false) if readable&.include?(@wake_out)
        write if writable&.include?(@link)
        read if @link && readable&.include?(@link)
      end
      true
    end

    def leave
      forget_link
      @wake_out.close
      @wake_in.close
      @wake_out = @wake_in = nil
      false
    end

    def output? = !@output.empty? && !@link.nil?

    def pass_time
      case @phase
      when :waiting then attempt if Clock.now >= @until
      when :greeting
        could_not_connect(cannot_connect("connected, but the daemon does not answer")) if Clock.now >= @until
      when :draining
        lose(Error.local("disconnected", "the daemon is stopping"), false) if @is_ending && Clock.now >= @until
      end
    end

    def attempt
      return rest if @calls.empty?

      @link = Socket.new(:UNIX, :STREAM)
      @link.connect_nonblock(Socket.sockaddr_un(path_for_system))
      @output = @hello.dup
      @phase = :greeting
      @until = Clock.after(@options.greeting_timeout)
    rescue SystemCallError, ArgumentError => e
      is_fault = e.is_a?(ArgumentError) || PERMANENT.include?(e.class)
      could_not_connect(cannot_connect(saying(e)), is_fault)
    end

    def path_for_system
      raise ArgumentError, "the path contains a NUL byte" if @path.include?("\0")

      @path
    end

    # Returns the text for an error of the socket.
    def saying(error)
      case error
      when Errno::ENOENT then "no such socket"
      when ArgumentError then error.message.include?("NUL") ? error.message : "the path is too long for a socket"
      when Errno::EAGAIN then "too many programs are waiting to connect"
      else error.message.sub(/ - connect\(2\).*/m, "")
      end
    end

    def cannot_connect(cause) = Error.local("cannot_connect", "cannot connect to #{@path}: #{cause}")

    def could_not_connect(error, is_fault = false)
      forget_link
      missing(error)
      # A client that was connected once waits: while a daemon restarts, its folder may be inaccessible for a moment.
      is_fault && !@was_connected ? give_up(error) : retry_later(error)
    end

    def give_up(error)
      @given_up += @calls.each_value.count(&:soon?)
      forget_link
      rest
      fail_all(error)
    end

    # Returns the number of unacknowledged events: pending ones, and those dropped since the last call.
    def take_lost
      lost = @given_up + @calls.each_value.count(&:soon?)
      @given_up = 0
      lost
    end

    def retry_later(error)
      @backoff.failures += 1
      return rest if @calls.empty?

      @backoff.begin(@options.reconnect_timeout)
      return give_up(error) if @backoff.over?

      @phase = :waiting
      @until = @backoff.next_attempt
    end

    def rest
      @phase = :idle
      @backoff.rest
    end

    def forget_link
      @link&.close
      @link = nil
      @output = "".b
      @input = "".b
      @is_ending = @is_relearning = false
    end

    # Handles a lost connection: puts repeatable calls back into the queue in their order, and fails the others.
    def lose(error, is_nonsense)
      forget_link
      @last_failure = error
      set_state("disconnected", error)
      # The client cannot tell which call a malformed message is about. Repeating the written calls might cause it again, without end.
      @calls.values.each { |call| call.written && (is_nonsense || !call.repeatable?) ? finish(call, nil, error) : unmark(call) }
      @queue = @calls.values
      retry_later(error)
    end

    # Writes queued calls, or ends a connection that has nothing left to write or answer.
    def proceed
      end_link if @phase == :draining && !@is_ending && (@unanswered.zero? || @is_relearning)
      return unless @phase == :open

      while @output.bytesize < MOST_OUTPUT && (call = @queue.shift)
        next if call.written || !@calls[call.number].equal?(call)

        fault = fault_of(call)
        fault ? finish(call, nil, fault) : mark(call)
      end
    end

    def mark(call)
      call.written = true
      @unanswered += 1
      @output << call.line
    end

    # Closes the connection once all output is written.
    def end_link
      @is_ending = true
      @until = Clock.now + LAST_WRITE
      @until = Clock.now if @output.empty?
    end

    # Returns the error of a call that is beyond the daemon's limits: the daemon would answer it without its number.
    def fault_of(call)
      if call.line.bytesize - 1 > @longest_line
        Error.new(-32_000, "the message is longer than the #{@longest_line} bytes that the daemon accepts", reason: "line_too_long")
      elsif call.depth > @deepest
        Error.new(-32_000, "nested deeper than the #{@deepest} levels that the daemon accepts", reason: "limit")
      end
    end

    def write
      count = @link.sendmsg_nonblock(@output, NO_SIGNAL, exception: false)
      return unless count.is_a?(Integer)

      @output = @output.byteslice(count..)
      @until = Clock.now if @output.empty? && (@is_ending || @phase == :closed)
      proceed
    rescue SystemCallError
      @output = "".b # reading notices the failure, after the daemon's last messages
    end

    def read
      chunk = @link.read_nonblock(1 << 16, exception: false)
      return if chunk == :wait_readable
      return disconnected if chunk.nil?

      @input << chunk
      return got_nonsense("a line has more than #{LONGEST_ANSWER} bytes") if @input.bytesize > LONGEST_ANSWER
      return unless chunk.include?("\n")

      lines = @input.split("\n", -1)
      @input = lines.pop
      take_lines(lines)
    rescue SystemCallError
      disconnected
    end

    def take_lines(lines)
      link = @link
      lines.each do |line|
        take_line(line) unless line.match?(/\A[ \t\r]*\z/n)
        break unless @link.equal?(link)
      end
    end

    def disconnected
      if @phase == :greeting
        could_not_connect(cannot_connect("the daemon closed the connection"))
      elsif @phase == :closed
        @output = "".b
        forget_link
      else
        lose(Error.local("disconnected", "the connection was lost before the answer came"), false)
      end
    end

    # MARK: Messages of the daemon

    def take_line(line)
      is_json, message = Plain.read(line)
      return got_nonsense("a line that is not JSON") unless is_json

      link = @link
      (message.is_a?(Array) && !message.empty? ? message : [message]).each do |one|
        take(one) if @link.equal?(link)
      end
    end

    def take(message)
      return got_nonsense("a line that is not a message") unless message.is_a?(Hash) && message["jsonrpc"] == "2.0"

      if message.key?("method")
        message["method"].is_a?(String) ? take_call(message) : got_nonsense("a line that is not a message")
        return
      end
      error = Error.read(message["error"])
      is_sound = message.key?("error") ^ message.key?("result") && (error || !message.key?("error"))
      return got_nonsense("a line that is not a message") unless is_sound

      take_answer(message["id"], message["result"], error)
    end

    def take_call(message)
      if message.key?("id")
        error = {code: -32_601, message: "there is no method #{message['method']}"}
        @output << Plain.line({jsonrpc: "2.0", id: message["id"], error: error})[0]
      elsif message["method"] == "closing"
        if @phase == :greeting then found_stopping("the daemon is stopping")
        elsif @phase == :open then @phase = :draining
        end
      end
    end

    def take_answer(number, result, error)
      if number.nil? && error then got_anonymous_error(error)
      elsif !number.is_a?(Integer) then got_nonsense("an answer without a request")
      elsif @phase != :greeting then answered(@calls[number], result, error)
      elsif number.zero? then error ? greeting_refused(error) : greeted(result)
      end
    end

    def greeted(result)
      limits = result.is_a?(Hash) && result["limits"].is_a?(Hash) ? result["limits"] : {}
      line, depth = limits.values_at("max_line_bytes", "max_depth")
      @longest_line = line.is_a?(Integer) ? line : 1_048_576
      @deepest = depth.is_a?(Integer) ? depth : 64
      # The connect timeout counts for the first connection only.
      @backoff.rest unless @was_connected
      @was_connected = true
      @last_failure = nil
      @phase = :open
      set_state("connected", nil)
    end

    def greeting_refused(error)
      case error.reason
      when "shutting_down" then found_stopping(error.message)
      when "limit" then could_not_connect(cannot_connect(error.message))
      else
        missing(error)
        give_up(error)
      end
    end

    # Notes that a daemon is stopping. Calls wait as after a lost connection, because the daemon may be restarting.
    def found_stopping(cause)
      @backoff.rest unless @was_connected
      @was_connected = true
      could_not_connect(cannot_connect(cause))
    end

    def answered(call, result, error)
      return if call.nil? || !call.written # its caller no longer waits

      if error&.reason == "shutting_down" && call.repeatable?
        unmark(call)
        @phase = :draining if @phase == :open
        return
      end
      succeed
      error ||= Error.local("bad_answer", "the result of #{call.method} is not an object") unless result.is_a?(Hash)
      finish(call, result, error)
    end

    # Notes that a call was answered.
    def succeed
      @backoff.succeed
      @has_warned = false
      @has_relearned = false unless @is_relearning
    end

    def got_nonsense(text)
      error = Error.local("bad_answer", "malformed answer from the daemon: #{text}")
      @phase == :greeting ? could_not_connect(error) : lose(error, true) unless @phase == :closed
    end

    # Handles an error that names no request. The limits may have changed since the greeting, so the client reconnects to learn them.
    def got_anonymous_error(error)
      return greeting_refused(error) if @phase == :greeting
      return if @is_relearning

      is_limit = %w[line_too_long limit].include?(error.reason)
      return got_nonsense(error.message) if !is_limit || @has_relearned

      @is_relearning = @has_relearned = true
      @phase = :draining if @phase == :open
    end

    # MARK: Outcomes of calls

    def unmark(call)
      @unanswered -= 1 if call.written
      call.written = false
    end

    # Removes a call from the table. Returns false if it is not in the table.
    def remove(call)
      return false unless @calls.delete(call.number)

      unmark(call)
      @held_bytes -= call.line.bytesize
      # Cancelled calls must not be remembered while there is no daemon.
      @queue = @calls.values if @phase != :open && @queue.size > 2 * @calls.size + 1024
      @changed.broadcast
      true
    end

    def finish(call, result, error)
      return unless remove(call)

      call.result = result
      call.error = error
      call.is_done = true
      call.condition&.broadcast
      Foreign.call("the callback for an event's outcome") { call.when_done&.call(error) }
    end

    def fail_all(error)
      @calls.values.each { |call| finish(call, nil, error) }
    end
  end

  # A client of the daemon, for any number of threads. Methods that wait raise `Headgate::Error`. `timeout` is the longest duration of
  # a call in seconds; nil is no limit. A program that ends waits for the events of clients that it has not closed.
  class Client
    # written by Tools/protocol: repeatable
    REPEATABLE = %w[
      ping rights rpc.discover flush.list status barrier.list dispatcher.list queue.peek dead_letters.list
      config.get metrics event.trace client.list
    ].freeze
    # end of what Tools/protocol has written

    # The members of an event besides its name and its data.
    EVENT = %i[id key time dispatchers ttl_ms].freeze
    private_constant :EVENT, :REPEATABLE

    attr_reader :socket_path

    # name, version: the program's name and version; together they are the events' `context.client`.
    # socket_path: the path of the daemon's socket; nil is `Headgate.default_socket`.
    # namespace: the namespace of the events' ids (Behaviour Q7); nil is that of the user.
    # options: the members of `Headgate::Options`.
    def initialize(name, version = "", socket_path: nil, namespace: nil, **options)
      @socket_path = socket_path || Headgate.default_socket
      @options = Options.new(**options)
      client = version.empty? ? {name: name} : {name: name, version: version}
      @hello = {jsonrpc: "2.0", id: 0, method: "hello", params: {client: client, protocol: 1, namespace: namespace}.compact}
      @fork = Mutex.new
      @connection = Connection.new(@socket_path, @hello, @options)
      @is_at_end = false
      AtExit.remember(self)
    end

    # Tracks an event, and returns its receipt when the daemon has stored it.
    # event: its name. data: a hash. more: `id`, `key`, `time`, `dispatchers`, `ttl_ms`.
    def track(event, data = nil, timeout: nil, **more)
      Receipt.read(run(Call.new("track", event(event, data, more), true), timeout))
    end

    # Tracks an event without waiting for its acknowledgement; waits for room only. Returns a `Pending`. The events of one thread keep
    # the order of these calls.
    def track_soon(event, data = nil, timeout: nil, **more)
      begin_event(event, data, more, Clock.after(timeout))
    end

    # Tracks an event without any wait: raises `buffer_full` if there is no room. The client calls the block with nil once the event is
    # acknowledged, or with the error otherwise. The block must not wait and must not call the client.
    def try_track(event, data = nil, **more, &when_done)
      begin_event(event, data, more, 0, &when_done)
    end

    # Tracks events each on its own, in their order, without waiting in between. events: hashes with `event`, `data` and so on. Returns
    # a `Receipt` or an `Error` for each, in the same order; one that is refused does not hinder the others.
    def track_each(events, timeout: nil)
      moment = Clock.after(timeout)
      begun = events.map do |one|
        one = one.transform_keys(&:to_sym)
        outcome { begin_event(one[:event], one[:data], one.except(:event, :data), moment) }
      end
      begun.map { |one| one.is_a?(Error) ? one : outcome { one.receipt(timeout: Clock.until(moment)) } }
    end

    # Tracks events atomically: all are stored, or none. They are sent in one line, whose length the daemon limits.
    def track_many(events, timeout: nil)
      all = events.map { |one| one.transform_keys(&:to_sym).then { |it| event(it[:event], it[:data], it.except(:event, :data)) } }
      ManyReceipt.read(run(Call.new("track_many", {events: all}, true), timeout))
    end

    # Makes dispatchers send their pending events (Behaviour F1). It does not wait for this client's events: `drain` does.
    # dispatchers: their ids; nil is all. wait: true waits until the flush has ended. timeout_ms: its longest duration; 0 is no limit.
    # flush: an id for `flush.cancel`. Returns a hash; its member `ended` is `settled`, `timeout` or `cancelled`.
    def flush(dispatchers: nil, wait: nil, timeout_ms: nil, flush: nil, timeout: nil)
      params = {dispatchers: dispatchers, wait: wait, timeout_ms: timeout_ms, flush: flush}.compact
      result = call("flush", params, timeout: timeout)
      is_known = !wait || %w[settled timeout cancelled].include?(result["ended"])
      raise Error.local("bad_answer", "the result of flush has an unknown end") unless is_known

      result
    end

    # Returns the daemon's status, as a hash.
    def status(timeout: nil) = call("status", timeout: timeout)

    # Calls any method of the protocol (Docs/Protocol.md), and returns its result. When the connection breaks, methods that change
    # nothing are called again on the next one; others raise `disconnected` if they had been written.
    def call(method, params = {}, timeout: nil)
      run(Call.new(method, params, REPEATABLE.include?(method)), timeout)
    end

    # Waits until the daemon has all events of this client. Raises `timed_out` if that takes longer.
    def drain(timeout: nil)
      raise Error.local("timed_out", "not all calls were answered in time") unless connection.drained?(Clock.after(timeout))
    end

    # Returns the number of unanswered calls.
    def unanswered = connection.unanswered

    # Returns true if `try_track` would find room.
    def room? = connection.room_now?

    # Takes no more calls, waits until all are answered, but no longer than `timeout` (or `close_timeout`), then closes the connection.
    # Returns the number of unacknowledged events, and logs it. Further calls do nothing.
    def close(timeout: @options.close_timeout)
      AtExit.forget(self)
      left = connection.close(Clock.after(timeout))
      connection.log("#{left} events were not acknowledged when the client was closed") if left.positive?
      left
    end

    # Returns true in the process in which the client has been used last.
    def own? = @connection.process == Process.pid

    # Waits at the end of the program, no longer than `close_timeout`. From now on each event is waited for when it is tracked.
    def end_with_program
      @is_at_end = true
      left = @connection.settle(Clock.after(@options.close_timeout))
      @connection.log("#{left} events were not acknowledged when the program ended") if left.positive?
    end

    private

    # Returns the connection. A forked process gets one of its own, and leaves its parent's calls to the parent.
    def connection
      return @connection if own?

      @fork.synchronize do
        unless own?
          @connection.leave_to_parent
          @connection = Connection.new(@socket_path, @hello, @options)
        end
      end
      @connection
    end

    def run(made, timeout)
      moment = Clock.after(timeout)
      used = connection
      used.begin(made, moment)
      used.wait(made, moment)
    end

    def begin_event(event, data, more, moment, &when_done)
      made = Call.new("track", event(event, data, more), true, is_soon: true)
      made.when_done = when_done
      used = connection
      used.begin(made, moment)
      end_with_program if @is_at_end
      Pending.new(used, made)
    end

    def event(event, data, more)
      unknown = more.keys - EVENT
      raise Error.local("misuse", "an event has no member #{unknown.first}") unless unknown.empty?

      {event: event, data: data, **more, id: more[:id] || Headgate.new_id}.compact
    end

    def outcome
      yield
    rescue Error => e
      e
    end
  end

  # Waits at the end of a program for the clients that it has not closed.
  module AtExit
    @lock = Mutex.new
    @clients = {}.compare_by_identity

    def self.remember(client)
      @lock.synchronize { @clients[client] = true }
    end

    def self.forget(client)
      @lock.synchronize { @clients.delete(client) }
    end

    # A forked process leaves the clients that it has not used to its parent.
    def self.run
      clients = @lock.synchronize { @clients.keys }
      clients.select(&:own?).map { |client| Thread.new { client.end_with_program } }.each(&:join)
    end
  end
  at_exit { AtExit.run }
  private_constant :AtExit, :Backoff, :Call, :Clock, :Connection, :Foreign, :Hooks, :Ids, :Pending, :Plain
end
