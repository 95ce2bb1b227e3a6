#!/usr/bin/env python3
"""A server that asks for credentials. Usage: auth.py FOLDER [--tls]. Prints "READY <port>" when it listens.

FOLDER holds rsa.pub and ec.pub (PEM), and for --tls ca.pem, server.pem and server.key; a client certificate of the
same authority is then asked for, and demanded at /mtls/.

GET /GUARD/items?page=N answers {"data": [{"id": N, "v": "a"}], "next": …} once the guard is satisfied, else 401 with what
was shown. Guards: oauth, session, basic, key, hmac, jwt, aws, mtls, open. POST /token speaks OAuth 2, /login gives sessions.
GET /_log lists the requests, one line each; POST /_set {name: value} changes:
  pages (1)          pages of every list              expires_in (3600)  of access tokens; null: not said
  void_at (0)        page at which all access tokens turn void, once
  rotate (true)      refresh tokens turn void by use  token_answer (null)  [status, object] in place of a token
  stall (false)      requests for items are never answered
  stall_token (0)    seconds that POST /token waits
  redirect (null)    where POST /token redirects to   refuse (false)     all guards refuse"""
import base64, hashlib, hmac, http.server, json, re, ssl, subprocess, sys, tempfile, threading, time
from urllib.parse import parse_qsl, quote, unquote, urlsplit

FOLDER = sys.argv[1]
LOCK = threading.Lock()
LOG = []
STATE = dict(pages=1, expires_in=3600, void_at=0, rotate=True, token_answer=None, stall=False, stall_token=0, redirect=None,
             refuse=False)
ACCESS = {}  # token: time of expiry
REFRESH = {"refresh-token-0"}
SESSIONS = set()
COUNT = {"access": 0, "session": 0}
CLIENT = ("client one", "client+secret/1")
USER = ("ann", "pass:word 1")


def unpadded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def b64(text):
    return base64.b64encode(text.encode()).decode()


def jwt_fault(token, audience):
    """Why a JSON Web Token is not valid; None if it is."""
    head, payload, signature = token.split(".")
    header, claims, text = json.loads(unpadded(head)), json.loads(unpadded(payload)), f"{head}.{payload}".encode()
    raw = unpadded(signature)
    if header["alg"] == "HS256":
        if hmac.new(b"hs256-shared-key-of-the-test", text, hashlib.sha256).digest() != raw:
            return "signature"
    else:
        if header["alg"] == "ES256":
            if len(raw) != 64:
                return "length"
            raw = der(raw[:32], raw[32:])
        with tempfile.NamedTemporaryFile() as file:
            file.write(raw)
            file.flush()
            key = f"{FOLDER}/{'rsa' if header['alg'] == 'RS256' else 'ec'}.pub"
            done = subprocess.run(["openssl", "dgst", "-sha256", "-verify", key, "-signature", file.name], input=text,
                                  capture_output=True)
        if done.returncode != 0:
            return "signature"
    now = time.time()
    if not now - 60 < claims["iat"] <= now + 5 or not now < claims["exp"] < now + 3600:
        return "time"
    if claims.get("aud") != audience or claims.get("iss") != "sync \"one\"" or len(claims["jti"]) < 16:
        return "claims"
    return None if header.get("kid") == "k1" else "kid"


def der(r, s):
    def number(raw):
        raw = raw.lstrip(b"\0") or b"\0"
        if raw[0] & 0x80:
            raw = b"\0" + raw
        return bytes([2, len(raw)]) + raw
    body = number(r) + number(s)
    return bytes([0x30, len(body)]) + body


def aws_fault(method, target, headers, body):
    """Why an AWS signature is not valid; None if it is. Written from the description, not from the engine."""
    match = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?"
                         r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})", headers.get("authorization", ""))
    if not match:
        return "form"
    day, region, service, names, signature = match.groups()
    names = names.split(";")
    if "host" not in names or "x-amz-date" not in names or any(
            h.startswith("x-amz-") and h not in names for h in headers):
        return "headers"
    path, _, query = target.partition("?")
    if service != "s3":
        path = "/".join(quote(part, safe="-_.~") for part in path.split("/"))
    items = sorted((quote(unquote(n), safe="-_.~"), quote(unquote(v), safe="-_.~"))
                   for n, _, v in (item.partition("=") for item in query.split("&") if item))
    digest = hashlib.sha256(body).hexdigest()
    if service == "s3" and headers.get("x-amz-content-sha256") != digest:
        return "digest"
    canonical = "\n".join([method, path, "&".join(f"{n}={v}" for n, v in items)]
                          + [f"{n}:{' '.join(headers[n].split())}" for n in names]
                          + ["", ";".join(names), digest])
    text = "\n".join(["AWS4-HMAC-SHA256", headers["x-amz-date"], f"{day}/{region}/{service}/aws4_request",
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = b"AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
    for part in (day, region, service, "aws4_request"):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return None if hmac.new(key, text.encode(), hashlib.sha256).hexdigest() == signature else "signature"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *a):
        pass

    def answer(self, status, value, fields=(), note=None):
        if note is not None:
            with LOCK:
                LOG.append(f"{self.command} {self.path} {note} {status}")
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in fields:
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def read(self):
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.fields = {k.lower(): v for k, v in self.headers.items()}
        self.route = urlsplit(self.path)

    def do_POST(self):
        self.read()
        if self.path == "/_set":
            with LOCK:
                STATE.update(json.loads(self.body))
            return self.answer(200, {})
        if self.route.path == "/token":
            return self.token()
        if self.route.path == "/login":
            return self.login()
        self.items()

    def do_GET(self):
        self.read()
        if self.path == "/_log":
            return self.answer(200, LOG)
        self.items()

    def token(self):
        form = dict(parse_qsl(self.body.decode()))
        basic = "Basic " + b64(":".join(quote(part, safe="") for part in CLIENT))
        shown = "basic" if self.fields.get("authorization") == basic else (
            "body" if (form.get("client_id"), form.get("client_secret")) == CLIENT else
            "public" if form.get("client_id") == CLIENT[0] and "client_secret" not in form else "none")
        grant = form.get("grant_type", "").rpartition(":")[2]
        note = " ".join([shown, grant] + [f"{k}={v}" for k, v in sorted(form.items())
                                          if k in ("refresh_token", "scope", "audience")]
                        # Credentials that are the API's, and none of this endpoint's business.
                        + [f"{k}!" for k in ("x-key", "cookie") if k in self.fields]
                        + (["certificate"] if self.subject() else []))
        time.sleep(STATE["stall_token"])
        if STATE["redirect"]:
            return self.answer(307, {}, [("Location", STATE["redirect"])], note)
        if STATE["token_answer"]:
            status, value = STATE["token_answer"]
            return self.answer(status, value, note=note)
        if grant == "jwt-bearer":
            fault = jwt_fault(form["assertion"], "token")
            if fault:
                return self.answer(400, {"error": "invalid_grant", "error_description": f"{fault} {form['assertion']}"},
                                   note=note)
        elif shown == "none" or (grant == "client_credentials" and shown == "public"):
            return self.answer(401, {"error": "invalid_client", "error_description": self.body.decode()}, note=note)
        with LOCK:
            if grant == "refresh_token" and form.get("refresh_token") not in REFRESH:
                fault = True
            else:
                fault = False
                COUNT["access"] += 1
                number = COUNT["access"]
                value = {"access_token": f"access-token-{number}", "token_type": "Bearer"}
                ACCESS[value["access_token"]] = time.time() + (STATE["expires_in"] or 1e9)
                if STATE["expires_in"] is not None:
                    value["expires_in"] = STATE["expires_in"]
                if grant == "refresh_token" and STATE["rotate"]:
                    REFRESH.discard(form["refresh_token"])
                    value["refresh_token"] = f"refresh-token-{number}"
                    REFRESH.add(value["refresh_token"])
        if fault:
            return self.answer(400, {"error": "invalid_grant",
                                     "error_description": f"{form.get('refresh_token')} is void"}, note=note)
        self.answer(200, value, note=note)

    def login(self):
        kind = (self.headers.get("Content-Type") or "").partition(";")[0].rpartition("/")[2]
        form = json.loads(self.body) if kind == "json" else dict(parse_qsl(self.body.decode()))
        if "user" in form and isinstance(form["user"], dict):
            form = {"user": form["user"]["name"], "password": form["user"]["password"], "realm": form.get("realm")}
        if (form.get("user"), form.get("password")) != USER or form.get("realm") != "staff":
            return self.answer(403, {"message": f"no {form.get('password')}"}, note=kind)
        with LOCK:
            COUNT["session"] += 1
            session = f"session-token-{COUNT['session']}"
            SESSIONS.clear()
            SESSIONS.add(session)
        self.answer(200, {"data": {"token": session}},
                    [("X-Session", session), ("Set-Cookie", "other=1"),
                     ("Set-Cookie", f"SID={session}; Path=/; HttpOnly")], note=kind)

    def subject(self):
        """The name in the client's certificate; None without one."""
        if not isinstance(self.connection, ssl.SSLSocket):
            return None
        return dict(x[0] for x in (self.connection.getpeercert() or {}).get("subject", ())).get("commonName")

    def shown(self, guard):
        """What the request shows for its guard, and whether it is right."""
        authorization = self.fields.get("authorization", "-")
        query = dict(parse_qsl(self.route.query))
        cookies = dict(part.strip().partition("=")[::2] for part in self.fields.get("cookie", "").split(";"))
        if guard == "oauth":
            token = authorization.removeprefix("Bearer ")
            return token, ACCESS.get(token, 0) > time.time()
        if guard == "session":
            token = self.fields.get("x-session") or cookies.get("SID") or authorization.removeprefix("Bearer ")
            return token, token in SESSIONS
        if guard == "basic":
            return authorization, authorization == "Basic " + b64(":".join(USER))
        if guard == "key":
            keys = [self.fields.get("x-key"), query.get("key"), cookies.get("key")]
            return " ".join(k or "-" for k in keys), any(k in ("the-key-1", "the key&2") for k in keys)
        if guard == "hmac":
            text = "\n".join([self.command, self.route.path, self.route.query, hashlib.sha256(self.body).hexdigest(),
                              self.fields["date"]])
            right = hmac.new(b"hmac-secret-key", text.encode(), hashlib.sha512).digest()
            shown = self.fields.get("x-signature", "-")
            return "signature", hmac.compare_digest(shown, base64.b64encode(right).decode())
        if guard == "jwt":
            token = authorization.removeprefix("Bearer ")
            fault = jwt_fault(token, "api") if token.count(".") == 2 else "none"
            return json.loads(unpadded(token.split(".")[0]))["alg"] if not fault else f"{fault} {token}", not fault
        if guard == "aws":
            fault = aws_fault(self.command, self.path, self.fields, self.body)
            return fault or self.fields.get("x-amz-security-token", "signed"), not fault
        if guard == "mtls":
            return self.subject() or "-", self.subject() == "syncd client"
        return "-", guard == "open"

    def items(self):
        guard = self.route.path.split("/")[1]
        page = int(dict(parse_qsl(self.route.query)).get("page", 1))
        with LOCK:
            if STATE["void_at"] == page:
                STATE["void_at"] = 0
                ACCESS.clear()
        shown, right = self.shown(guard)
        if STATE["stall"]:
            with LOCK:
                LOG.append(f"{self.command} {self.path} {shown} stalled")
            time.sleep(60)
            return
        if not right or STATE["refuse"]:
            return self.answer(401, {"message": f"{shown} is refused"}, note=shown)
        value = {"data": [{"id": page, "v": "a"}]}
        if page < STATE["pages"]:
            value["next"] = f"/{guard}/items?page={page + 1}"
        self.answer(200, value, note=shown)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass


server = Server(("127.0.0.1", 0), Handler)
if "--tls" in sys.argv:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{FOLDER}/server.pem", f"{FOLDER}/server.key")
    context.load_verify_locations(f"{FOLDER}/ca.pem")
    context.verify_mode = ssl.CERT_OPTIONAL
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
threading.Thread(target=lambda: (sys.stdin.read(), server.shutdown()), daemon=True).start()
print("READY", server.server_address[1], flush=True)
server.serve_forever()
