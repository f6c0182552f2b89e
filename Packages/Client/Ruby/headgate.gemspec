# frozen_string_literal: true

require_relative "lib/headgate"

Gem::Specification.new do |spec|
  spec.name = "headgate"
  spec.version = Headgate::VERSION
  spec.summary = "Client of Headgate, the local event-delivery daemon"
  spec.authors = ["Headgate"]
  spec.license = "Nonstandard"
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir.chdir(__dir__) { Dir["lib/**/*.rb", "README.md"] }
end
