"""Starts a kernel as a notebook does, runs cells in it, and ends it: by a shutdown, or by a kill of its process.

    notebook.py shutdown|kill CELL...       a cell is a file; what the cells print goes to standard output

It runs in the venv that has jupyter_client, under no launcher.
"""

import os
import pathlib
import signal
import sys

from jupyter_client.manager import start_new_kernel

PATIENCE = 240


def show(message):
    kind, content = message["msg_type"], message["content"]
    if kind == "stream":
        print(content["text"], end="", flush=True)
    elif kind == "error":
        print("\n".join(content["traceback"]), flush=True)


def main():
    how, *cells = sys.argv[1:]
    manager, client = start_new_kernel(startup_timeout=PATIENCE)
    try:
        for cell in cells:
            reply = client.execute_interactive(pathlib.Path(cell).read_text(), timeout=PATIENCE, output_hook=show)
            print("cell", reply["content"]["status"], flush=True)
    finally:
        if how == "kill":
            os.kill(manager.provisioner.pid, signal.SIGKILL)
        client.stop_channels()
        manager.shutdown_kernel(now=how == "kill")


main()
