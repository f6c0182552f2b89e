# Sourced by Tools/test-package: tests the package in a root booted by systemd.
# shellcheck shell=bash

log=/var/log/headgate/events.ndjson

# as USER COMMAND …: runs a command as a user, as after a login.
as() {
    in_booted runuser -u "$1" -- env XDG_RUNTIME_DIR=/run/user/1000 "${@:2}"
}

unit() {
    in_booted systemctl show --value --property "$1" headgate.service
}

# Prints the number of log lines with this event.
logged() {
    in_booted grep -c "\"event\":\"$1\"" "$log"
}

# member KEY: prints a member of the dispatcher collect in `headgate dispatchers`.
dispatcher() {
    in_booted headgate dispatchers --json | grep -o "\"$1\":[^,}]*" | cut -d : -f 2-
}

configure() {
    in_booted tee /etc/headgate/headgate.json >/dev/null
}

test_booted() {
    section "Under systemd"
    install_in "$root" systemd dbus logrotate man-db >/dev/null 2>&1
    inside dpkg --purge headgate >/dev/null
    rm "$root/usr/sbin/policy-rc.d"
    boot_root "$root" >/dev/null
    passed "systemd boots"
    in_booted useradd --create-home --groups users shop
    in_booted useradd --create-home stranger

    succeeds "the package is installed" in_booted dpkg -i /root/headgate.deb
    prints "systemd-analyze finds no fault in the units" "" in_booted systemd-analyze verify \
        /lib/systemd/system/headgate.service /lib/systemd/system/headgate.socket \
        /lib/systemd/system/headgate-console.service /lib/systemd/system/headgate-journal.service \
        /lib/systemd/system/headgate-follow@var-log-syslog.service
    for unit in headgate headgate-console headgate-journal headgate-follow@var-log-syslog; do
        succeeds "the exposure of $unit is at most 1.5" in_booted systemd-analyze security --no-pager --threshold=15 "$unit.service"
    done
    prints "both units are enabled" $'enabled\nenabled' in_booted systemctl is-enabled headgate.socket headgate.service
    prints "both units are active" $'active\nactive' in_booted systemctl is-active headgate.socket headgate.service
    prints "the daemon has reported its status to systemd" "Serving /run/headgate/headgate.sock" unit StatusText
    prints "the socket has the owner and mode of its unit" "headgate:headgate 660" in_booted stat -c '%U:%G %a' /run/headgate/headgate.sock
    prints "the directories have their modes" $'700\n750\n750' \
        in_booted stat -c %a /var/lib/headgate /var/log/headgate /run/headgate
    test_users
    test_http
    test_reload
    test_watching
    test_activation
    test_console
    test_logrotate
}

test_users() {
    section "Users"
    refused "a user outside of the group cannot send" "cannot connect to /run/headgate/headgate.sock" \
        as stranger headgate send signup
    in_booted adduser --quiet shop headgate
    shows "a member sends an event" . as shop headgate send signup plan=pro
    becomes "the event is in the file" 1 logged signup
    shows "the event has the uid of its sender" "\"uid\":$(in_booted id -u shop)[,}]" in_booted tail -n 1 "$log"
    refused "a member of the group may not pause" "needs the right .control." as shop headgate pause collect
    shows "root may read the status" . in_booted headgate status
}

# packaged_configuration: prints the configuration file of the package.
packaged_configuration() {
    inside dpkg-deb --fsys-tarfile /root/headgate.deb | tar -xO ./etc/headgate/headgate.json
}

test_http() {
    section "HTTP, under the unit's restrictions"
    configure <<<'{"data_dir": "/var/lib/headgate", "dispatchers": {"collect": {"kind": "http", "endpoint": "http://localhost:8080/events"}}}'
    # A collector that appends its requests to a file, and answers 200.
    in_booted systemd-run --quiet --unit collector systemd-socket-activate --listen 127.0.0.1:8080 --accept --inetd \
        sh -c 'timeout 1 cat >>/root/requests; printf "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"'
    in_booted systemctl reload headgate
    as shop headgate send over_http >/dev/null
    becomes "an event is delivered" 1 in_booted grep -c '"event":"over_http"' /root/requests
    in_booted systemctl stop collector
    packaged_configuration | configure
    in_booted systemctl restart headgate
}

test_reload() {
    section "Reload"
    configure <<<'{"data_dir": "/var/lib/headgate", "dispatchers": {"collect": {"kind": "file", "path": "/var/log/headgate/events.ndjson"}, "copy": {"kind": "file", "path": "copy.ndjson"}}}'
    succeeds "systemd reloads the daemon" in_booted systemctl reload headgate
    becomes "the daemon has the new dispatcher" $'"collect"\n"copy"' dispatcher id
    becomes "the unit is active again after the reload" active unit ActiveState
    configure <<<'{"dispatchers": {"collect": {"kind": "post"}}}'
    refused "an invalid configuration is refused" "Job for headgate.service failed|Reload failed" in_booted systemctl reload headgate
    shows "the journal has the path of the error" 'dispatchers.collect.kind' in_booted journalctl -u headgate -o cat
    prints "the refused reload has no effect" $'"collect"\n"copy"' dispatcher id
    test_faulty_start
    packaged_configuration | configure
    in_booted systemctl reload headgate
    becomes "the packaged configuration is in force again" '"collect"' dispatcher id
}

# Tests a start with an invalid configuration, which the running daemon has refused before.
test_faulty_start() {
    in_booted systemctl restart headgate || true
    becomes "systemd repeats a start with an invalid configuration" yes \
        sh -c "$(declare -f in_booted); booted=$booted; [ \$(in_booted systemctl show --value --property NRestarts headgate.service) -ge 6 ] && echo yes"
    prints "the socket unit is still active" active in_booted systemctl is-active headgate.socket
    configure <<<'{"data_dir": "/var/lib/headgate", "dispatchers": {"copy": {"kind": "file", "path": "copy.ndjson"}}}'
    becomes "with a corrected configuration the next attempt succeeds" active unit ActiveState
}

test_watching() {
    section "A daemon that is killed, and one that hangs"
    local restarts
    restarts=$(unit NRestarts) # includes the starts with an invalid configuration
    in_booted systemctl kill --signal KILL headgate.service
    shows "a client that connects meanwhile waits, and is served" . as shop headgate send after_kill
    becomes "systemd has started it again" $((restarts + 1)) unit NRestarts
    in_booted mkdir -p /run/systemd/system/headgate.service.d
    printf '[Service]\nWatchdogSec=2\n' | in_booted tee /run/systemd/system/headgate.service.d/watchdog.conf >/dev/null
    in_booted systemctl daemon-reload
    in_booted systemctl restart headgate
    sleep 5
    prints "a watchdog of 2 seconds does not restart the daemon within 5" 0 unit NRestarts
    in_booted systemctl kill --signal STOP headgate.service
    becomes "a daemon that hangs is restarted" 1 unit NRestarts
    becomes "the restarted daemon is active" active unit ActiveState
    in_booted rm -r /run/systemd/system/headgate.service.d
    in_booted systemctl daemon-reload
    in_booted systemctl restart headgate
}

test_activation() {
    section "Stop, and start by the socket"
    succeeds "systemd stops the daemon" in_booted systemctl stop headgate.service
    prints "the stop was orderly" success unit Result
    shows "the next client starts the daemon" . as shop headgate send after_stop
    prints "the daemon is active" active unit ActiveState
    becomes "all events are in the file, each once" $'1\n1\n1' sh -c \
        "$(declare -f in_booted logged); booted=$booted log=$log; for event in signup after_kill after_stop; do logged \$event; done"
}

# Prints the status and the first line of the console's answer.
ask_console() {
    in_booted curl -sS -o /root/answer -w '%{http_code} ' "$@" 2>&1
    in_booted head -n 1 /root/answer
}

test_console() {
    section "The console"
    install_in "$root" curl >/dev/null 2>&1
    prints "the console is disabled by default" disabled in_booted sh -c "systemctl is-enabled headgate-console; true"
    succeeds "the console is enabled and started" in_booted systemctl enable --now headgate-console
    becomes "/healthz reports that the daemon is ready" "200 ok" ask_console http://127.0.0.1:9477/healthz
    shows "without the token the console answers 401" '^401 ' ask_console http://127.0.0.1:9477/
    prints "only the console's user can read the token" "headgate-console:headgate-console 600" \
        in_booted stat -c '%U:%G %a' /var/lib/headgate-console/token
    shows "with the token the console answers with its page" '^200 <!DOCTYPE html>' ask_console -H \
        "Authorization: Bearer $(in_booted cat /var/lib/headgate-console/token)" http://127.0.0.1:9477/
    prints "the console's user can read neither the store nor the configuration" "no no" in_booted setpriv --reuid headgate-console \
        --regid headgate-console --init-groups sh -c \
        'for place in /var/lib/headgate /etc/headgate/headgate.json; do [ -r $place ] && echo yes || echo no; done | xargs'
    in_booted systemctl disable --now headgate-console >/dev/null 2>&1
}

test_logrotate() {
    section "logrotate"
    succeeds "logrotate rotates the file of events" in_booted logrotate --force /etc/logrotate.d/headgate
    as shop headgate send after_rotation >/dev/null
    becomes "the next event is in the new file" 1 logged after_rotation
    prints "the rotated file is kept" 1 in_booted grep -c '"event":"signup"' "$log.1"
}
