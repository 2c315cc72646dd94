#!/bin/sh
# Fetches what recipes read beside decisions and written tasks: WordNet's files into data/wordnet,
# the index and descriptions of a Debian release into data/catalogue. Needs apt, on Debian or Ubuntu;
# changes nothing outside of the folder. What is there already is kept.
#
#   sh scripts/gather_inputs.sh [data]
set -eu
data=${1:-data}
for tool in apt-get dpkg-deb; do
    command -v "$tool" > /dev/null || { echo "$tool is not installed: only Debian and its kin have these inputs" >&2; exit 1; }
done
mkdir -p "$data"
data=$(cd "$data" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial"
chmod 755 "$work"

fetch() {
    apt-get -qq -o Dir::State::Lists="$work/lists" -o Acquire::Languages=en -o Acquire::GzipIndexes=false "$@"
}

# The largest is that of the release itself; the others are its updates.
largest() {
    found=$(ls -S "$work"/lists/*"$1" 2> /dev/null | head -n 1)
    test -n "$found" || { echo "apt's sources have no $1" >&2; exit 1; }
    echo "$found"
}

fetch update
if [ ! -f "$data/catalogue/Translation-en" ]; then
    packages=$(largest _Packages)
    descriptions=$(largest _Translation-en)
    mkdir -p "$data/catalogue"
    cp "$packages" "$data/catalogue/Packages"
    cp "$descriptions" "$data/catalogue/Translation-en.half"
    mv "$data/catalogue/Translation-en.half" "$data/catalogue/Translation-en"
fi
if [ ! -d "$data/wordnet" ]; then
    (cd "$work" && fetch -o APT::Sandbox::User=root download wordnet-base && dpkg-deb -x wordnet-base_*.deb base)
    cp -r "$work/base/usr/share/wordnet" "$data/wordnet.half"
    mv "$data/wordnet.half" "$data/wordnet"
fi
du -sh "$data/catalogue" "$data/wordnet"
