#!/usr/bin/env perl
# Tracks the lines of standard input, each an event of its own, all in flight at once. Prints the id of each that is
# acknowledged. Core modules only. For some thousands of lines: it reads no answers before it has asked for all.
#
#   track.pl EVENT < LINES
use strict;
use warnings;
use IO::Socket::UNIX;
use JSON::PP;

my ($folder) = grep { -d } map {"$_/headgate"} grep {$_} $ENV{XDG_RUNTIME_DIR}, '/run';
my $path = $ENV{HEADGATE_SOCKET} || ($folder || '/run/headgate') . '/headgate.sock';
my $socket = IO::Socket::UNIX->new(Peer => $path) or die "cannot connect to $path: $!\n";
my $json = JSON::PP->new->utf8->canonical;
my ($event, $number, $failures) = ($ARGV[0], 0, 0);

while (my $line = <STDIN>) {
    chomp $line;
    utf8::decode($line);
    my %params = (event => $event, id => "perl-$$-" . ++$number, data => {line => $line});
    print $socket $json->encode({jsonrpc => '2.0', id => $number, method => 'track', params => \%params}), "\n";
}
$socket->flush;
shutdown $socket, 1;    # nothing more is asked; the answers still come

while (my $line = <$socket>) {
    my $answer = $json->decode($line);
    next if exists $answer->{method};
    if ($answer->{error}) {
        $failures++;
        warn "$answer->{error}{message}\n";
    } else {
        print "$answer->{result}{id}\n";
    }
    $number--;
}
exit($failures || $number ? 1 : 0);
