"""nginx over pages that lie there compressed too: plain, behind a password, a key, TLS, a limit, and broken."""
import gzip
import json
import os
import subprocess

from walking import walk

ready = "/pages/1.json"
COUNT, SIZE = 6000, 1000


def item(i, name=None):
    return {"id": i, "name": name or f"item {i} ü", "share": i / 7}


def write(folder, items):
    pages = os.path.join(folder, "www/pages")
    os.makedirs(pages, exist_ok=True)
    count = -(-len(items) // SIZE)
    for number in range(1, count + 1):
        page = json.dumps({
            "next": f"{number + 1}.json" if number < count else None,
            "items": items[(number - 1) * SIZE:number * SIZE]}).encode()
        for path, content in ((f"{pages}/{number}.json", page), (f"{pages}/{number}.json.gz", gzip.compress(page))):
            with open(path + ".new", "wb") as file:
                file.write(content)
            os.rename(path + ".new", path)


def openssl(folder, *words):
    subprocess.run(["openssl", *words], check=True, cwd=folder, capture_output=True)


def certify(folder):
    """An authority, and a certificate of it for this machine."""
    key = ["-newkey", "rsa:2048", "-nodes", "-days", "2"]
    openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=Authority of a test")
    openssl(folder, "req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost")
    with open(os.path.join(folder, "names"), "w") as file:
        file.write("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl(
        folder, "x509", "-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
        "2", "-extfile", "names", "-out", "server.pem")


def prepare(folder, port):
    from serve import free_port

    write(folder, [item(i) for i in range(1, COUNT + 1)])
    certify(folder)
    secure = free_port()
    with open(os.path.join(folder, "secure-port"), "w") as file:
        file.write(str(secure))
    with open(os.path.join(folder, "passwords"), "w") as file:
        file.write("user:{PLAIN}secret\n")
    os.makedirs(os.path.join(folder, "temporary"))
    temporary = "\n".join(
        f"{part}_temp_path {folder}/temporary;" for part in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    with open(os.path.join(folder, "nginx.conf"), "w") as file:
        file.write(f"""
daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/errors warn;
{"user root;" if os.getuid() == 0 else ""}
events {{ worker_connections 100; }}
http {{
  types {{ application/json json; }}
  default_type application/json;
  log_format short '$request_uri $server_protocol $status $sent_http_content_encoding';
  access_log {folder}/requests short;
  {temporary}
  limit_req_zone $binary_remote_addr zone=few:1m rate=5r/s; limit_req_status 429;
  server {{
    listen 127.0.0.1:{port};
    listen 127.0.0.1:{secure} ssl http2;
    ssl_certificate {folder}/server.pem; ssl_certificate_key {folder}/server.key;
    root {folder}/www; gzip_static on;
    location /auth/ {{ alias {folder}/www/; auth_basic "shop"; auth_basic_user_file {folder}/passwords; }}
    location /key/ {{ alias {folder}/www/; if ($http_x_api_key != "k1") {{ return 403 '{{"error":"no key"}}'; }} }}
    location /limited/ {{ alias {folder}/www/; limit_req zone=few burst=1 nodelay; error_page 429 = @later; }}
    location @later {{ add_header Retry-After 1 always; return 429 '{{"error":"slow down"}}'; }}
    location /moved/ {{ rewrite ^/moved/(.*)$ /$1 permanent; }}
    location /cut/ {{ return 200 '{{"items":[{{"id":1,"name":"a","share":1}},{{"id":'; }}
    location /html/ {{ default_type text/html; return 200 '<html><body>maintenance</body></html>'; }}
    location /unavailable/ {{ add_header Retry-After 1 always; return 503; }}
    location /closed/ {{ return 444; }}
  }}
}}
""")


def command(folder, _port):
    return ["nginx", "-e", os.path.join(folder, "errors"), "-c", os.path.join(folder, "nginx.conf")], {}


def fill(_address, _folder):
    pass


def change(_address, folder):
    items = [item(i, "changed" if i % 300 == 6 else None) for i in range(1, COUNT + 1) if i % 200 != 3]
    write(folder, items + [item(i) for i in range(COUNT + 1, COUNT + 41)])


def listing(address, _folder):
    for page in walk(address + ready, lambda page, fields, url: page["next"]):
        for row in page["items"]:
            yield [row["id"], row["name"], row["share"]]
