#!/usr/bin/env ruby
# frozen_string_literal: true

# The Ruby client as a program with the verbs of Docs/Clients.md.

# Ruby runs this block last, since it runs the blocks of at_exit in reverse order.
LATE = []
at_exit { LATE.each(&:call) }

require_relative "../../../Packages/Client/Ruby/lib/headgate"

# Reads JSON as the client does: Ruby's parser refuses a lone surrogate.
module Headgate
  READ = Plain.method(:read)
end
OUTPUT = Mutex.new

def put(value)
  OUTPUT.synchronize do
    $stdout.write("#{JSON.generate(value, allow_nan: true)}\n")
    $stdout.flush
  end
end

def refusal(error)
  {code: error.code, reason: error.reason, message: error.message, path: error.path}
end

def outcome
  {result: yield}
rescue Headgate::Error => e
  {error: refusal(e)}
end

def plain(receipt) = receipt.is_a?(Struct) ? receipt.to_h : receipt

def make(client, method, values, timeout)
  case method
  when "track"
    client.track(values[:event], values[:data], timeout: timeout, **values.except(:event, :data))
  when "track_many" then client.track_many(values[:events], timeout: timeout)
  when "flush" then client.flush(timeout: timeout, **values)
  when "status" then client.status(timeout: timeout)
  else client.call(method, values, timeout: timeout)
  end
end

def calls(client, timeout)
  $stdin.each_line do |line|
    _, asked = Headgate::READ[line]
    values = (asked["arguments"] || {}).transform_keys(&:to_sym)
    put(outcome { plain(make(client, asked["method"], values, timeout)) })
  end
end

def events(count, name, size = "0")
  more = size.to_i.positive? ? {text: "x" * size.to_i} : {}
  Array.new(count.to_i) { |n| {event: name, data: {n: n, **more}} }
end

# Tracks `count` events without waiting between them, and writes the outcomes in order.
def track(client, count, name)
  client.track_each(events(count, name)).each_with_index do |one, n|
    put({n: n, **outcome { one.is_a?(Headgate::Error) ? raise(one) : one.to_h }})
  end
end

# Tracks events with calls that never wait. Writes refusals at once, and the other outcomes later.
def try(client, count, name, size = "0")
  taken = {}
  events(count, name, size).each_with_index do |one, n|
    taken[n] = client.try_track(one[:event], one[:data])
  rescue Headgate::Error => e
    put({n: n, error: refusal(e)})
  end
  put("tried")
  taken.each { |n, pending| put({n: n, **outcome { pending.receipt.to_h }}) }
end

# Tracks an event that uses the available room, and another that waits for room until the deadline.
def room(client, name, timeout)
  first = client.track_soon(name)
  put(outcome { client.track(name, timeout: timeout).to_h })
  put(outcome { first.receipt.to_h })
end

# Tracks events without waiting, then ends the program as `how` says.
def end_by(client, how, count, name)
  if how == "late"
    client.track(name)
    LATE << -> { begin_all(client, count, name) }
    return
  end
  begin_all(client, count, name)
  case how
  when "close" then client.close
  when "exit" then exit(0)
  when "throw" then raise "as was asked"
  end
end

def begin_all(client, count, name)
  events(count, name).each { |one| client.track_soon(one[:event], one[:data]) }
end

# Tracks an event before, in, and after a child process.
def fork_with(client, name)
  client.track(name)
  child = fork do
    put({child: outcome { client.track(name).to_h }})
    exit!(0)
  end
  Process.wait(child)
  put({parent: outcome { client.track(name).to_h }})
end

given = {}
given[ARGV.shift.delete_prefix("--")] = ARGV.shift while ARGV.first&.start_with?("--")
seconds = ->(name) { given[name] && given[name].to_f / 1000 }
options = {
  connect_timeout: seconds["connect-timeout-ms"], greeting_timeout: seconds["greeting-timeout-ms"],
  reconnect_timeout: seconds["reconnect-timeout-ms"], max_unanswered: given["max-unanswered"]&.to_i
}.compact
if given["tell"]
  options[:on_state] = ->(state, _) { put({state: state}) }
  options[:log] = ->(text) { put({warning: text}) }
end
Signal.trap("USR1") {} if given["signals"]
client = Headgate::Client.new(
  "certified", "1.0", socket_path: given["socket"], namespace: given["namespace"], backoff_base: 0.01, backoff_cap: 0.2, **options
)
verb = ARGV.shift
case verb
when "calls" then calls(client, seconds["deadline-ms"])
when "track" then track(client, *ARGV)
when "try" then try(client, *ARGV)
when "room" then room(client, ARGV[0], seconds["deadline-ms"])
when "end" then end_by(client, *ARGV)
when "fork" then fork_with(client, *ARGV)
end
client.close unless verb == "end"
