#!/bin/sh
# The process of the test provider. It prints the handshake of the server that runs inside the test.
echo "$WEFT_TEST_HANDSHAKE"
exec sleep 600
