# Sourced by Tools/package.
# shellcheck shell=bash

# blank PROGRAM SECTION [FROM]: sets a section's bytes to zero, from an offset on. Its position and size stay.
blank() {
    local size file=$needs/section
    objcopy --dump-section "$2=$file" "$1" /dev/null
    size=$(stat -c %s "$file")
    truncate -s "${3:-0}" "$file"
    truncate -s "$size" "$file"
    objcopy --update-section "$2=$file" "$1"
}
