# frozen_string_literal: true

# Tests of the Ruby client in its own process. The drivers of Tests/Clients see a program from outside only.

require "bigdecimal"
require "set"
require_relative "support"

class ClientTest < DaemonTest
  def test_a_call_that_is_cancelled_is_not_written
    @daemon.stop_listening
    one = client
    reason = reason_of { one.track("late", timeout: 0.05) } # the timeout may pass before the first attempt
    assert_includes %w[cannot_connect timed_out], reason
    assert_equal 0, one.unanswered
    @daemon.listen
    work = in_background { one.track("next") }
    peer = @daemon.greet
    request = peer.request("track")
    assert_equal "next", request["params"]["event"]
    peer.acknowledge(request)
    work.value
  end

  def test_an_interrupted_call_is_cancelled_and_the_client_goes_on
    one = client
    work = in_background { one.track("interrupted") }
    peer = @daemon.greet
    first = peer.request("track")
    work.raise(Timeout::Error)
    assert_raises(Timeout::Error) { work.value }
    assert_equal 0, one.unanswered
    peer.acknowledge(first)
    work = in_background { one.track("next") }
    peer.acknowledge(peer.request("track"))
    assert_equal 1, work.value.seq
  end

  def test_many_threads_share_a_client_and_each_keeps_its_order
    one = client
    threads = Array.new(8) { |name| in_background { one.track_each(Array.new(50) { |n| {event: "t#{name}", data: {n: n}} }) } }
    peer = @daemon.greet
    seen = Hash.new { |all, name| all[name] = [] }
    400.times do
      request = peer.request("track")
      seen[request["params"]["event"]] << request["params"]["data"]["n"]
      peer.acknowledge(request)
    end
    assert_equal [(0...50).to_a], seen.values.uniq
    assert(threads.flat_map(&:value).all?(Headgate::Receipt))
  end

  def test_memory_is_bounded_while_the_daemon_is_away
    @daemon.stop_listening
    one = client(max_unanswered: 100, connect_timeout: nil)
    reasons = Array.new(10_000) { reason_of { one.try_track("x", {text: "y" * 100}) } }
    assert_equal [100, 9_900], [reasons.count(nil), reasons.count("buffer_full")]
    assert_equal 100, one.unanswered
  end

  def test_cancelled_calls_are_not_remembered
    @daemon.stop_listening
    one = client(connect_timeout: nil)
    one.try_track("kept")
    5_000.times { reason_of { one.track("x", timeout: 0) } }
    queue = one.instance_variable_get(:@connection).instance_variable_get(:@queue)
    assert_operator queue.size, :<, 2_000
  end

  def test_close_says_how_many_events_are_left
    said = []
    one = client(log: ->(text) { said << text })
    3.times { one.try_track("x") }
    @daemon.greet
    assert_equal 3, one.close(timeout: 0.05)
    assert_equal ["headgate: 3 events were not acknowledged when the client was closed"], said
    assert_equal "closed", reason_of { one.track("x") }
    assert_equal 0, one.close
  end

  def test_a_hook_may_call_the_client
    asked = Queue.new
    one = nil
    one = client(on_state: ->(state, _) { asked << one.status if state == "connected" })
    in_background { one.call("ping") }
    peer = @daemon.greet
    2.times do
      request = peer.read
      peer.answer(request, {ready: request["method"] == "status"})
    end
    assert_equal({"ready" => true}, asked.pop)
  end

  def test_a_hook_that_fails_ends_nothing
    one = client(on_state: ->(*) { raise "as was asked" })
    work = in_background { one.status }
    said = capture_io do
      peer = @daemon.greet
      peer.answer(peer.request("status"), {ready: true})
      work.value
      one.close
    end
    assert_match(/a hook failed: as was asked/, said[1])
  end

  # Ways to leave a function that `rescue` alone does not catch.
  LEAVES = {
    "no StandardError" => -> { raise NotImplementedError, "as was asked" },
    "an error without a text" => -> { raise Class.new(Exception) { def message = raise("no text") } },
    "the end of the thread" => -> { Thread.exit }
  }.freeze

  def test_a_hook_that_is_left_in_any_way_ends_nothing
    LEAVES.each do |name, leave|
      states = Queue.new
      one = client(on_state: ->(state, _) { states << state && leave.call })
      capture_io do
        work = in_background { one.status }
        peer = @daemon.greet
        peer.answer(peer.request("status"), {ready: true})
        assert_equal({"ready" => true}, work.value, name)
        one.close
        assert_equal(%w[connected closed], Array.new(2) { states.pop }, name)
      end
    end
  end

  def test_a_block_that_raises_anything_hinders_no_other_event
    LEAVES.first(2).each do |name, leave|
      one = client
      said = capture_io do
        one.try_track("bad") { leave.call }
        work = in_background { one.track("good") }
        peer = @daemon.greet
        2.times { peer.acknowledge(peer.request("track")) }
        assert_equal 1, work.value.seq, name
        one.close
      end
      assert_match(/the callback for an event's outcome failed/, said[1], name)
    end
  end

  def test_a_block_that_ends_the_thread_fails_the_calls_that_wait
    one = client
    3.times { one.try_track("bad") { Thread.exit } }
    work = in_background { reason_of { one.track("good") } }
    peer = @daemon.greet
    requests = Array.new(4) { peer.request("track") }
    peer.acknowledge(requests.first)
    assert_equal "bad_answer", work.value
    one.drain
    work = in_background { one.track("next") }
    peer = @daemon.greet
    peer.acknowledge(peer.request("track"))
    assert_equal 1, work.value.seq
    assert_equal 0, one.close
  end

  def test_whatever_ends_the_thread_fails_the_calls_that_wait
    one = client
    work = in_background { reason_of { one.track("x") } }
    peer = @daemon.greet
    peer.request("track")
    connection = one.send(:connection)
    connection.define_singleton_method(:read) { raise NoMemoryError, "as was asked" }
    peer.tell(method: "anything")
    assert_equal "bad_answer", work.value
    connection.singleton_class.remove_method(:read)
    work = in_background { one.track("next") }
    peer = @daemon.greet
    peer.acknowledge(peer.request("track"))
    assert_equal 1, work.value.seq
  end

  def test_a_child_process_leaves_its_parents_events_to_the_parent
    one = client
    one.try_track("of the parent")
    peer = @daemon.greet
    request = peer.request("track")
    reader, writer = IO.pipe
    child = fork do
      one.try_track("of the child")
      writer.write(one.unanswered.to_s)
      writer.flush
      exit!(0)
    end
    Process.wait(child)
    assert_equal "1", reader.readpartial(10)
    assert_predicate peer, :quiet?
    peer.acknowledge(request)
    one.drain(timeout: PATIENCE)
  end

  # Even if the program has reset SIGPIPE to the system's default.
  def test_a_write_to_a_daemon_that_is_gone_ends_no_program
    (ready, says_ready), (broken, says_broken) = IO.pipe, IO.pipe
    child = fork do
      trap("PIPE", "SYSTEM_DEFAULT")
      one = client
      connection = one.send(:connection)
      connection.define_singleton_method(:write) do
        if @output.include?('"track"')
          singleton_class.remove_method(:write)
          says_ready.write("!")
          broken.read(1)
        end
        super()
      end
      exit!(one.track("x").seq)
    end
    first = @daemon.greet
    ready.read(1)
    first.close
    says_broken.write("!")
    second = @daemon.greet
    second.answer(second.request("track"), {id: "x", seq: 7})
    assert_equal 7, Process.wait2(child)[1].exitstatus
  end

  def test_the_daemons_outcome_is_given_to_the_block
    one = client
    outcomes = Queue.new
    2.times { one.try_track("x") { |error| outcomes << error&.reason } }
    peer = @daemon.greet
    peer.acknowledge(peer.request("track"))
    peer.tell({id: peer.request("track")["id"], error: {code: -32_000, message: "no", data: {reason: "queue_full"}}})
    assert_equal [nil, "queue_full"], [outcomes.pop, outcomes.pop]
  end
end

class ValueTest < DaemonTest
  # Tracks data, and returns them as the daemon receives them.
  def sent(data)
    one = client
    work = in_background { one.track("x", data, time: Time.at(0, 1, :millisecond)) }
    peer = @daemon.greet
    request = peer.request("track")
    peer.acknowledge(request)
    work.value
    assert_equal "1970-01-01T00:00:00.001000Z", request["params"]["time"]
    request["params"]["data"]
  end

  def test_values_become_json
    point = Struct.new(:x).new(1)
    given = {
      symbol: :a, nil => 1, time: Time.at(1), bytes: "a\xffb".b, latin: "\xfc".dup.force_encoding("ISO-8859-1"), struct: point,
      list: [1, 2.5, true, nil], big: 1 << 70, set: Set[1, :b]
    }
    wanted = {
      "symbol" => "a", "" => 1, "time" => "1970-01-01T00:00:01.000000Z", "bytes" => "a\ufffdb", "latin" => "ü", "struct" => {"x" => 1},
      "list" => [1, 2.5, true, nil], "big" => 1 << 70, "set" => [1, "b"]
    }
    assert_equal wanted, sent(given)
  end

  def test_decimals_keep_their_digits
    text, = Headgate.const_get(:Plain).line({price: BigDecimal("12345678901234567890.10"), list: [BigDecimal("-0.5e-30"), BigDecimal("1e400")]})
    assert_equal '{"price":12345678901234567890.1,"list":[-0.5e-30,0.1e401]}', text.chomp
    assert_equal "misuse", reason_of { client.track("x", {price: BigDecimal("NaN")}) }
  end

  def test_a_value_that_json_cannot_have_is_an_error_of_the_call
    loop = []
    loop << loop
    [Float::NAN, Float::INFINITY, Object.new, loop].each do |value|
      assert_equal "misuse", reason_of { client.track("x", {value: value}) }
    end
    assert_equal "misuse", reason_of { client.track("x", nil, unknown: 1) }
  end

  def test_a_pending_event_is_done_once_it_has_an_outcome
    pending = client.try_track("x")
    peer = @daemon.greet
    request = peer.request("track")
    refute_predicate pending, :done?
    peer.acknowledge(request)
    assert_equal 1, pending.receipt.seq
    assert_predicate pending, :done?
  end

  def test_a_timeout_must_be_a_number
    one = client
    assert_equal "misuse", reason_of { one.track("x", timeout: Float::NAN) }
    assert_equal 0, one.unanswered
  end

  def test_an_event_is_kept_as_it_was
    one = client
    data = {text: +"before"}
    one.track_soon("x", data)
    data[:text] << " and after"
    assert_equal "before", @daemon.greet.request("track")["params"]["data"]["text"]
  end

  def test_ids_ascend_and_are_sevens
    ids = Array.new(2_000) { Headgate.new_id }
    assert_equal ids.sort.uniq, ids
    assert(ids.all?(/\A\h{8}-\h{4}-7\h{3}-[89ab]\h{3}-\h{12}\z/))
  end

  def test_the_default_socket
    Dir.mktmpdir do |folder|
      below = "#{folder}/headgate"
      assert_equal "/x.sock", Headgate.default_socket({"HEADGATE_SOCKET" => "/x.sock"})
      assert_equal "#{below}/headgate.sock", Headgate.default_socket({"HEADGATE_SOCKET" => "", "XDG_RUNTIME_DIR" => folder}.tap { Dir.mkdir(below) })
      assert_equal "/run/headgate/headgate.sock", Headgate.default_socket({"XDG_RUNTIME_DIR" => "relative"})
    end
  end
end
