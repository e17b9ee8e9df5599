"""Pictures as PNG files, with nothing but zlib: eight bits each of red, green and blue."""

import struct
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
BITS, RED_GREEN_BLUE = 8, 2


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write(path, pixels):
    """Writes an array of bytes (rows from the top, columns, 3)."""
    rows, columns, colours = pixels.shape
    assert colours == 3 and pixels.dtype == "uint8", (pixels.shape, pixels.dtype)
    head = struct.pack(">IIBBBBB", columns, rows, BITS, RED_GREEN_BLUE, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in pixels)  # 0: as it is, no filter
    path.write_bytes(SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))
