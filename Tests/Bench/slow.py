#!/usr/bin/env python3
"""A server on loopback that takes 50 ms for each answer. Usage: slow.py [PAGES]

Prints its port. /slow?page=7 is the seventh of PAGES (100) pages of 100 records each. It ends with its standard input.
"""
import asyncio
import re
import sys

PAGES = int(sys.argv[1]) if len(sys.argv) > 1 else 100
DELAY = 0.05


def body(page):
    first = (page - 1) * 100 + 1
    records = ",".join('{"id":%d,"name":"Record %d"}' % (i, i) for i in range(first, first + 100))
    return ('{"total":%d,"results":[%s]}' % (PAGES * 100, records if page <= PAGES else "")).encode()


BODIES = [body(page) for page in range(1, PAGES + 2)]


async def answer(reader, writer):
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            number = re.match(rb"GET \S*[?&]page=(\d+)", head)
            content = BODIES[min(int(number[1]), PAGES + 1) - 1] if number else b""
            await asyncio.sleep(DELAY)
            writer.write(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
                b"200 OK" if number else b"404 Not Found", len(content), content))
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
    finally:
        writer.close()


async def main():
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    server.close()


asyncio.run(main())
