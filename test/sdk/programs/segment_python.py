import os

from protocol import run
from segment.analytics.client import Client

run(lambda address, write_key, failed: Client(write_key, host=address, on_error=failed))
os._exit(0)
