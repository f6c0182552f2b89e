# frozen_string_literal: true

# A fake daemon for the tests of the Ruby client.

require "minitest/autorun"
require "tmpdir"
require "timeout"
$LOAD_PATH.unshift(File.expand_path("../lib", __dir__))
require "headgate"
require "headgate/logger"

PATIENCE = Float(ENV.fetch("CLIENTS_PATIENCE", 60))

# A client's connection to the fake daemon, read and written in messages.
class Peer
  def initialize(stream)
    @stream = stream
  end

  def read
    raise "nothing came in #{PATIENCE} s" unless @stream.wait_readable(PATIENCE)

    line = @stream.gets
    line && JSON.parse(line)
  end

  def request(method)
    message = read
    raise "expected #{method}, got #{message}" unless message && message["method"] == method

    message
  end

  def answer(request, result) = tell({id: request["id"], result: result})
  def acknowledge(request) = answer(request, {id: request["params"]["id"], seq: 1})
  def tell(message) = @stream.write("#{JSON.generate({jsonrpc: '2.0', **message})}\n")
  def quiet? = !@stream.wait_readable(0.05)
  def close = @stream.close
end

# A daemon whose messages the test writes.
class FakeDaemon
  attr_reader :path

  def initialize
    @folder = Dir.mktmpdir("headgate-")
    @path = "#{@folder}/d.sock"
    listen
  end

  def listen = @listener = UNIXServer.new(@path)

  def stop_listening
    @listener.close
    File.unlink(@path)
  end

  def greet(**result)
    raise "nobody connected in #{PATIENCE} s" unless @listener.wait_readable(PATIENCE)

    peer = Peer.new(@listener.accept)
    peer.answer(peer.request("hello"), {server: {name: "fake"}, protocol: 1, session: "1", **result})
    peer
  end

  def remove
    @listener.close unless @listener.closed?
    FileUtils.rm_rf(@folder)
  end
end

# Tests that have a fake daemon.
class DaemonTest < Minitest::Test
  def setup
    @daemon = FakeDaemon.new
    @clients = []
  end

  def teardown
    @clients.each { |one| one.close(timeout: 0) }
    @daemon.remove
  end

  def client(**options)
    given = {backoff_base: 0.01, backoff_cap: 0.1, log: ->(_) {}, **options}
    @clients << Headgate::Client.new("test", "1.0", socket_path: @daemon.path, **given)
    @clients.last
  end

  # Runs a block in the background while this thread plays the daemon.
  def in_background(&work)
    Thread.new(&work).tap { |thread| thread.report_on_exception = false }
  end

  def reason_of
    yield
    nil
  rescue Headgate::Error => e
    e.reason
  end
end
