"""`python -m serried run -n 4 ./program` is `serried run -n 4 ./program`."""

import os
import sys

import serried

os.execv(serried.bin / "serried", ["serried", *sys.argv[1:]])
