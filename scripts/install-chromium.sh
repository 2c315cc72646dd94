#!/bin/sh
# Installs Debian's chromium where that is possible without asking: as root, with apt-get.
set -eu
[ "$(id -u)" = 0 ] && command -v apt-get > /dev/null
export DEBIAN_FRONTEND=noninteractive
apt-get install -qq -y chromium > /dev/null 2>&1 || {
  apt-get update -qq
  apt-get install -qq -y chromium > /dev/null
}
