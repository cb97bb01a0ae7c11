#!/bin/bash
# Put one pinned third-party source tree where the build wants it.
#
#   tools/fetch_deps.sh NAME DEST DL [SRC]
#
#   NAME  a name in tools/deps.lock: lwip, newlib
#   DEST  the tree's new place; DEST.stamp says what it was made from
#   DL    folder of fetched archives
#   SRC   a folder or an archive the user already has (LWIP_SRC=, NEWLIB_SRC=); nothing is fetched then
#
# Without SRC the archive is looked for in DL, then in the Debian mirror that this machine already uses (or those
# that DEBIAN_MIRRORS names), and at the release address of the project. It asks no package list and writes
# nothing outside DEST and DL, so it works as an ordinary user and leaves apt alone.
# What does not match deps.lock is refused, with status 1 and one line.
set -euo pipefail
export LC_ALL=C

name=$1 dest=$2 dl=$3 src=${4:-}
lock=$(dirname "$0")/deps.lock
os_release=${OS_RELEASE:-/etc/os-release}
apt_dir=${APT_DIR:-/etc/apt}
debian_mirrors=${DEBIAN_MIRRORS-} # base addresses, for systems whose apt knows none

say() { printf '%s: %s\n' "$name" "$*"; }
die() {
    printf '%s: %s\n' "$name" "$*" >&2
    exit 1
}

# The values of one key in deps.lock, a line each.
pin() { awk -v n="$name" -v k="$1" '$1 == n && $2 == k { $1 = $2 = ""; sub(/^ +/, ""); print }' "$lock"; }

sha256_of() { sha256sum "$1" | cut -d' ' -f1; }

# Hash of the files we compile, whatever archive they came in.
tree_of() {
    local parts
    read -ra parts <<<"$(pin part)"
    (cd "$1" && find "${parts[@]}" -type f -print0 2>/dev/null | sort -z | xargs -0 sha256sum) |
        sha256sum | cut -d' ' -f1
}

# Base addresses of the Debian mirrors in the user's own sources: one-line and deb822 form, the running
# release's suite with component main, so that other vendors' archives are not asked.
apt_bases() {
    local codename
    # shellcheck disable=SC1090 # the file is the system's
    codename=$(. "$os_release" 2>/dev/null && echo "${VERSION_CODENAME:-}")
    {
        cat "$apt_dir"/sources.list "$apt_dir"/sources.list.d/*.list 2>/dev/null |
            sed -nE 's/^[[:space:]]*deb(-src)?[[:space:]]+(\[[^]]*\][[:space:]]*)?//p'
        for f in "$apt_dir"/sources.list.d/*.sources; do
            [ -f "$f" ] && deb822_lines "$f"
        done
    } | awk -v c="$codename" '
        function debian(s) { return s == c || s ~ /^(stable|oldstable|testing|unstable|sid)$/ }
        debian($2) && / main( |$)/ { sub(/\/$/, "", $1); print $1 }' | mirror_lists | awk '!seen[$0]++'
}

# deb822 stanzas as one-line entries "URI SUITE COMPONENT…".
deb822_lines() {
    awk 'BEGIN { RS = ""; FS = "\n" } {
        split("", v); key = ""
        for (i = 1; i <= NF; i++) {
            if ($i ~ /^#/) continue
            if ($i ~ /^[ \t]/) { v[key] = v[key] " " $i; continue }
            key = tolower($i); sub(/:.*/, "", key); val = $i; sub(/^[^:]*:[ \t]*/, "", val); v[key] = val
        }
        if (tolower(v["enabled"]) == "no") next
        n = split(v["uris"], u, /[ \t]+/); m = split(v["suites"], s, /[ \t]+/)
        for (i = 1; i <= n; i++) for (j = 1; j <= m; j++)
            if (u[i] != "" && s[j] != "") print u[i], s[j], v["components"]
    }' "$1"
}

# "mirror+file:/path" (cloud images) names a file with one base address a line.
mirror_lists() {
    local uri
    while read -r uri; do
        case $uri in
        mirror+file:*) sed -nE 's/[[:space:]].*//; s,/$,,; /^[a-z]+:/p' "/${uri#mirror+file:/}" 2>/dev/null || true ;;
        *) echo "$uri" ;;
        esac
    done
}

# One try to fetch URL into FILE. apt's own downloader comes first: it knows the user's proxy settings.
download() {
    local url=$1 file=$2
    if [ -x /usr/lib/apt/apt-helper ]; then
        /usr/lib/apt/apt-helper -o "APT::Sandbox::User=$(id -un)" -o Acquire::Retries=1 \
            -o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 \
            download-file "$url" "$file" >/dev/null 2>&1
    elif command -v curl >/dev/null; then
        curl -fsSL --connect-timeout 20 -o "$file" "$url"
    elif command -v wget >/dev/null; then
        wget -q -T 20 -O "$file" "$url"
    else
        python3 -c 'import sys, urllib.request as r; r.urlretrieve(*sys.argv[1:])' "$url" "$file" 2>/dev/null
    fi
}

# Fetch the pinned archive into DL/FILE. A mirror that serves other bytes is named and the next one tried.
fetch_pinned() {
    local file=$1 sum=$2 url
    for url in $(urls_of_pinned "$file"); do
        say "fetching $url"
        rm -f "$dl/$file.part"
        download "$url" "$dl/$file.part" || continue
        if [ "$(sha256_of "$dl/$file.part")" = "$sum" ]; then
            mv "$dl/$file.part" "$dl/$file"
            return 0
        fi
        say "checksum of $url is wrong, not used"
        bad=1
    done
    rm -f "$dl/$file.part"
    return 1
}

urls_of_pinned() {
    local base
    for base in $(apt_bases) $debian_mirrors; do
        echo "$base/$(pin pool)/$1"
    done | awk '!seen[$0]++'
    pin same
}

# Unpack an archive so that its single top folder becomes $2.
unpack() {
    local archive=$1 out=$2 tmp=$2.unpack
    rm -rf "$tmp" && mkdir -p "$tmp"
    case $archive in
    *.zip) python3 -m zipfile -e "$archive" "$tmp" ;;
    *) tar -xf "$archive" -C "$tmp" --no-same-owner --no-same-permissions ;;
    esac 2>/dev/null || die "wrong checksum, and no archive that can be unpacked: $archive"
    rm -rf "$out"
    local top=("$tmp"/*)
    [ ${#top[@]} = 1 ] || die "$archive holds more than one folder"
    [ -d "${top[0]}" ] || die "$archive holds no folder"
    mv "${top[0]}" "$out"
    rm -rf "$tmp"
}

# Another archive of the same release: its own bytes are not pinned, the files in it are.
unpack_checked() {
    local archive=$1
    unpack "$archive" "$dest.new"
    if [ "$(tree_of "$dest.new")" != "$(pin tree)" ]; then
        rm -rf "$dest.new"
        return 1
    fi
    install_tree
}

install_tree() {
    rm -rf "$dest"
    mv "$dest.new" "$dest"
}

from_folder() {
    local part
    for part in $(pin part); do
        [ -d "$src/$part" ] || die "$src is not a $name source tree: it has no $part"
    done
    [ "$(tree_of "$src")" = "$(pin tree)" ] || say "note: $src differs from $name $(pin version)"
    rm -rf "$dest"
    ln -s "$(cd "$src" && pwd -P)" "$dest"
}

from_archive() {
    local archive=$1
    if [ "$(sha256_of "$archive")" = "$(pin sha256)" ]; then
        unpack "$archive" "$dest.new" && install_tree
    elif ! unpack_checked "$archive"; then
        die "wrong checksum: $archive is not $name $(pin version) (want SHA-256 $(pin sha256))"
    fi
}

from_network() {
    local file sum url other bad=0
    file=$(pin file) sum=$(pin sha256)
    if [ -e "$dl/$file" ] || fetch_pinned "$file" "$sum"; then
        [ "$(sha256_of "$dl/$file")" = "$sum" ] ||
            die "wrong checksum: $dl/$file (want SHA-256 $sum); delete it to fetch it again"
        unpack "$dl/$file" "$dest.new" && install_tree
        return
    fi
    for url in $(pin other); do
        other=$dl/$name-${url##*/}
        say "fetching $url"
        download "$url" "$other" || continue
        unpack_checked "$other" && return
        say "the files in $url are not those of $name $(pin version), not used"
        rm -f "$other"
        bad=1
    done
    [ "$bad" = 0 ] || die "wrong checksum: nothing fetched matches tools/deps.lock"
    die "could not fetch $file from anywhere; get it by hand and give ${name^^}_SRC=/path/to/it"
}

[ -n "$(pin sha256)" ] || die "not in $lock"
# What is there already stays, unless the lock moved on or the user points at another tree.
id="$(pin sha256)${src:+ from $src}"
have=$(cat "$dest.stamp" 2>/dev/null || true)
if [ -e "$dest/." ] && { [ "$have" = "$id" ] || [ "${src:-none} ${have%% *}" = "none $id" ]; }; then
    exit 0
fi
mkdir -p "$dl" "$(dirname "$dest")"
rm -f "$dest.stamp"
if [ -z "$src" ]; then
    from_network
elif [ -d "$src" ]; then
    from_folder
elif [ -f "$src" ]; then
    from_archive "$src"
else
    die "${name^^}_SRC=$src: no such folder or file"
fi
echo "$id" >"$dest.stamp"
say "$(pin version) in $dest"
