"""Exits with 0 if the server of this container can answer questions; the image has no curl."""

import http.client
import os
import sys

TIMEOUT_SECONDS = 4


def main() -> int:
    """Ask /readyz, without any proxy that the environment may name."""
    connection = http.client.HTTPConnection("127.0.0.1", int(os.environ.get("GLOSSATOR_PORT") or 8000))
    connection.timeout = TIMEOUT_SECONDS
    try:
        connection.request("GET", "/readyz")
        return 0 if connection.getresponse().status == http.HTTPStatus.OK else 1
    except (OSError, http.client.HTTPException):
        return 1


if __name__ == "__main__":
    sys.exit(main())
