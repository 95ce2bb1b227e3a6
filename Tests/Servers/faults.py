"""An addon of mitmproxy: spoils an answer as the request's X-Fault says, and with X-Fault-Every: N each Nth only."""
from mitmproxy import http

requests = 0


def fault(flow):
    global requests
    requests += 1
    headers = flow.request.headers
    return headers.get("X-Fault") if requests % int(headers.get("X-Fault-Every", "1")) == 0 else None


def request(flow: http.HTTPFlow):
    flow.metadata["fault"] = fault(flow)
    if flow.metadata["fault"] == "drop":
        flow.kill()
    elif flow.metadata["fault"] == "unavailable":
        flow.response = http.Response.make(503, b"", {"Retry-After": "0"})


def response(flow: http.HTTPFlow):
    kind = flow.metadata["fault"]
    if kind == "cut":
        # Inside the compressed body, whose length is told as what is left.
        flow.response.raw_content = flow.response.raw_content[:2000]
        flow.response.headers["Content-Length"] = "2000"
    elif kind == "half":
        flow.response.content = flow.response.content[:5000]
    elif kind == "empty":
        flow.response.content = b""
    elif kind == "html":
        flow.response.content = b"<html>gateway</html>"
        flow.response.headers["Content-Type"] = "text/html"
