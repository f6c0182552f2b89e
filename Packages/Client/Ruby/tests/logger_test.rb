# frozen_string_literal: true

require_relative "support"

class LoggerTest < DaemonTest
  def logger(**options)
    @loggers ||= []
    @loggers << Headgate::Logger.new("test", "1.0", socket_path: @daemon.path, flush_timeout: 0.01, log: ->(_) {}, **options)
    @loggers.last
  end

  def teardown
    capture_io { @loggers&.each(&:close) }
    super
  end

  # Returns the data of the next record.
  def record(peer)
    request = peer.request("track")
    peer.acknowledge(request)
    request["params"]["data"]
  end

  def test_a_record_becomes_an_event
    one = logger(progname: "shop")
    one.warn("half full")
    peer = @daemon.greet
    request = peer.request("track")
    data = request["params"]["data"]
    assert_equal "log", request["params"]["event"]
    assert_equal ["WARNING", "shop", "half full", __FILE__, __method__.to_s, Process.pid, "main"],
                 data.values_at("level", "logger", "message", "file", "function", "process", "thread")
    assert_kind_of Integer, data["line"]
  end

  def test_levels_are_those_of_all_languages
    one = logger
    %i[debug info warn error fatal unknown].each { |level| one.public_send(level, "x") }
    peer = @daemon.greet
    assert_equal %w[DEBUG INFO WARNING ERROR CRITICAL CRITICAL], Array.new(6) { record(peer)["level"] }
  end

  def test_a_level_that_is_off_costs_nothing
    one = logger(level: :error)
    one.info { flunk "the block was called" }
    one.error { "as text" }
    assert_equal "as text", record(@daemon.greet)["message"]
  end

  def test_a_hash_gives_fields
    one = logger
    one.info({message: "slow", order: 17, odd: Float::NAN, thing: Object, "level" => "of the program"})
    data = record(@daemon.greet)
    assert_equal ["slow", 17, "NaN", "Object", "INFO"], data.values_at("message", "order", "odd", "thing", "level")
  end

  def test_an_exception_has_its_backtrace
    one = logger
    begin
      raise ArgumentError, "as was asked"
    rescue ArgumentError => e
      one.error(e)
    end
    data = record(@daemon.greet)
    assert_equal "as was asked", data["message"]
    assert_match(/logger_test.rb:\d+:in .*ArgumentError/m, data["exception"])
  end

  def test_it_reports_what_it_dropped
    @daemon.stop_listening
    one = logger(max_unanswered: 2)
    5.times { |n| one.info("r#{n}") }
    assert_equal({"buffer_full" => 3}, one.dropped)
    @daemon.listen
    peer = @daemon.greet
    assert_equal %w[r0 r1], [record(peer)["message"], record(peer)["message"]]
    assert one.instance_variable_get(:@client).drain(timeout: PATIENCE).nil?
    one.info("next")
    request = peer.request("track")
    peer.acknowledge(request)
    assert_equal "log.dropped", request["params"]["event"]
    assert_equal [3, {"buffer_full" => 3}], request["params"]["data"].values_at("count", "reasons")
    assert_equal "next", record(peer)["message"]
  end

  def test_a_record_that_cannot_be_shown_is_dropped
    bad = Class.new { def inspect = raise("no") }.new
    one = logger
    one.info({thing: bad})
    assert_equal({"bad_record" => 1}, one.dropped)
  end

  def test_records_that_are_left_are_reported_at_the_end
    @daemon.stop_listening
    one = logger(max_unanswered: 1)
    3.times { one.info("x") }
    assert_match(/log records dropped: 2 buffer_full/, capture_io { one.close }[1])
    one.info("after the end") # raises nothing
  end

  def test_it_logs_in_a_handler_of_a_signal
    one = logger
    before = trap("USR2") { one.info("in a handler") }
    Process.kill("USR2", Process.pid)
    Thread.pass until one.dropped.any? || one.instance_variable_get(:@client).unanswered.positive?
  ensure
    trap("USR2", before)
  end
end
