# Sourced by Tools/test-package: upgrades the package, and removes it, with pending events.
# shellcheck shell=bash

# Prints the names of the pending events, in order.
waiting() {
    in_booted headgate peek collect --json | grep -o '"event":"[^"]*"' | cut -d '"' -f 4 | paste -s -d ' '
}

version() {
    in_booted dpkg-query -W -f '${Version}' headgate
}

left() {
    in_booted sh -c 'ls -d /etc/headgate /var/lib/headgate /var/log/headgate /run/headgate /etc/systemd/system/headgate* \
        /etc/systemd/system/*/headgate* /var/lib/systemd/deb-systemd-helper-enabled/headgate* 2>/dev/null; true'
}

# Sends events continuously while a file exists, and counts failures in another file.
send_steadily() {
    in_booted touch /run/sending
    as shop bash -c 'failures=0 sent=0
        while [[ -e /run/sending ]]; do
            if headgate send steady >/dev/null; then sent=$((sent + 1)); else failures=$((failures + 1)); fi
        done
        echo "$sent $failures"' >"$work/steady" &
    steady=$!
}

stop_sending() {
    in_booted rm /run/sending
    wait "$steady"
    read -r sent failures <"$work/steady"
}

test_upgrade() {
    section "Upgrade, with events in the queue"
    in_booted headgate pause collect --reason "an upgrade" >/dev/null
    for event in one two three; do as shop headgate send "$event" >/dev/null; done
    prints "three events wait" "one two three" waiting
    echo '// A line of this machine.' | in_booted tee -a /etc/headgate/headgate.json >/dev/null
    local old_process
    old_process=$(unit MainPID)
    send_steadily
    succeeds "the newer version is installed" in_booted dpkg --force-confold -i /root/newer.deb
    stop_sending
    prints "it is the newer one" "$(dpkg-deb -f "$deb" Version)+newer" version
    refused "the daemon is another process" '' test "$(unit MainPID)" = "$old_process"
    prints "the events wait, in order" "one two three" sh -c "echo $(waiting) | cut -d ' ' -f 1-3"
    prints "of $sent events sent meanwhile none was refused" 0 echo "$failures"
    shows "the pause has stayed" "an upgrade" in_booted headgate barriers
    shows "the machine's configuration has stayed" "of this machine" in_booted cat /etc/headgate/headgate.json
    in_booted headgate resume collect >/dev/null
    becomes "all is delivered" 0 dispatcher pending
    prints "each event once" $'1\n1\n1\n'"$sent" \
        sh -c "$(declare -f in_booted logged); booted=$booted log=$log; for event in one two three steady; do logged \$event; done"
    test_disabled
    test_removal
}

test_disabled() {
    section "What an administrator disabled stays so"
    in_booted systemctl disable --quiet --now headgate.service headgate.socket
    succeeds "an upgrade" in_booted dpkg --force-confold -i /root/headgate.deb /root/newer.deb
    refused "leaves it disabled" disabled in_booted systemctl is-enabled headgate.service
    refused "and stopped" inactive in_booted systemctl is-active headgate.service
    in_booted systemctl enable --quiet headgate.socket headgate.service
    in_booted systemctl start headgate.socket headgate.service
}

test_removal() {
    section "Removal"
    in_booted headgate pause collect >/dev/null
    as shop headgate send four >/dev/null
    succeeds "it is removed" in_booted dpkg --remove headgate
    prints "nothing of it runs" "" in_booted sh -c 'grep -lx headgated /proc/[0-9]*/comm; true'
    succeeds "the queue has stayed" in_booted sh -c "find /var/lib/headgate/log -name '*.log' -size +0 | grep -q ."
    succeeds "the log has stayed" in_booted test -s "$log"
    succeeds "it is installed again" in_booted dpkg --force-confold -i /root/headgate.deb
    prints "the event still waits" four waiting
    prints "the console can be switched on again" disabled in_booted sh -c "systemctl is-enabled headgate-console; true"
    shows "the machine's configuration is still there" "of this machine" in_booted cat /etc/headgate/headgate.json
    in_booted headgate resume collect >/dev/null
    becomes "and is delivered" 1 logged four
    succeeds "it is purged" in_booted dpkg --purge headgate
    prints "nothing is left" "" left
    refused "nor its user" '' in_booted getent passwd headgate
    refused "nor its group" '' in_booted getent group headgate
    refused "systemd knows it no more" 'could not be found|not loaded' in_booted systemctl status headgate.service headgate.socket
}
