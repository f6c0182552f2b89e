# Sourced by Tools/test-package: upgrades and removes the package while events are pending.
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
    prints "three events are pending" "one two three" waiting
    echo '// A line of this machine.' | in_booted tee -a /etc/headgate/headgate.json >/dev/null
    local old_process
    old_process=$(unit MainPID)
    send_steadily
    succeeds "the newer version is installed" in_booted dpkg --force-confold -i /root/newer.deb
    stop_sending
    prints "the installed version is the newer one" "$(dpkg-deb -f "$deb" Version)+newer" version
    refused "the daemon is another process" '' test "$(unit MainPID)" = "$old_process"
    prints "the events are pending, in order" "one two three" sh -c "echo $(waiting) | cut -d ' ' -f 1-3"
    prints "none of $sent events sent during the upgrade was refused" 0 echo "$failures"
    shows "the dispatcher is still paused" "an upgrade" in_booted headgate barriers
    shows "the administrator's changes of the configuration are kept" "of this machine" in_booted cat /etc/headgate/headgate.json
    in_booted headgate resume collect >/dev/null
    becomes "no event is pending after the resume" 0 dispatcher pending
    prints "each event is delivered once" $'1\n1\n1\n'"$sent" \
        sh -c "$(declare -f in_booted logged); booted=$booted log=$log; for event in one two three steady; do logged \$event; done"
    test_disabled
    test_removal
}

test_disabled() {
    section "Disabled units"
    in_booted systemctl disable --quiet --now headgate.service headgate.socket
    succeeds "the package is upgraded with disabled units" in_booted dpkg --force-confold -i /root/headgate.deb /root/newer.deb
    refused "the service is still disabled" disabled in_booted systemctl is-enabled headgate.service
    refused "the service is still stopped" inactive in_booted systemctl is-active headgate.service
    in_booted systemctl enable --quiet headgate.socket headgate.service
    in_booted systemctl start headgate.socket headgate.service
}

test_removal() {
    section "Removal"
    in_booted headgate pause collect >/dev/null
    as shop headgate send four >/dev/null
    succeeds "the package is removed" in_booted dpkg --remove headgate
    prints "no daemon runs" "" in_booted sh -c 'grep -lx headgated /proc/[0-9]*/comm; true'
    succeeds "the pending events are kept" in_booted sh -c "find /var/lib/headgate/log -name '*.log' -size +0 | grep -q ."
    succeeds "the file of delivered events is kept" in_booted test -s "$log"
    succeeds "the package is installed again" in_booted dpkg --force-confold -i /root/headgate.deb
    prints "the event is still pending" four waiting
    prints "the console is disabled, and no longer masked" disabled in_booted sh -c "systemctl is-enabled headgate-console; true"
    shows "the changed configuration is kept" "of this machine" in_booted cat /etc/headgate/headgate.json
    in_booted headgate resume collect >/dev/null
    becomes "the event is delivered" 1 logged four
    succeeds "the package is purged" in_booted dpkg --purge headgate
    prints "no file is left" "" left
    refused "the user is removed" '' in_booted getent passwd headgate
    refused "the group is removed" '' in_booted getent group headgate
    refused "systemd does not know the units" 'could not be found|not loaded' in_booted systemctl status headgate.service headgate.socket
}
