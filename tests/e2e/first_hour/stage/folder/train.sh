#!/bin/sh
#BERTH --vram 8GB
echo "$@"
