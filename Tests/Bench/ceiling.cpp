// What a program made for one source alone can do: the measure of Scripts/bench.
//
//   ceiling DATABASE URL     the address of the first page of books
//
// One thread fetches a page (libcurl), parses it (simdjson's DOM), binds each book by hand to one prepared upsert, and
// goes on with the next page. Everything is one transaction; the time ends when the database is closed.
#include <curl/curl.h>
#include <simdjson.h>
#include <sqlite3.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace dom = simdjson::dom;
using std::string;
using std::string_view;

namespace {

[[noreturn]] void fail(const char *what) {
  fprintf(stderr, "ceiling: %s\n", what);
  exit(1);
}

const char schema[] =
    "CREATE TABLE IF NOT EXISTS book ("
    "  id INTEGER PRIMARY KEY, title TEXT, author TEXT, country TEXT, genre TEXT, price REAL, pages INTEGER,"
    "  in_stock INTEGER, published TEXT, updated_at TEXT, isbn TEXT, tags TEXT, thumbnail TEXT, summary TEXT"
    ") STRICT";

const char upsert[] =
    "INSERT INTO book VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
    "title = excluded.title, author = excluded.author, country = excluded.country, genre = excluded.genre, "
    "price = excluded.price, pages = excluded.pages, in_stock = excluded.in_stock, published = excluded.published, "
    "updated_at = excluded.updated_at, isbn = excluded.isbn, tags = excluded.tags, "
    "thumbnail = excluded.thumbnail, summary = excluded.summary";

struct Database {
  sqlite3 *handle = nullptr;
  sqlite3_stmt *book = nullptr;

  explicit Database(const char *path) {
    const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    check(sqlite3_open_v2(path, &handle, flags, nullptr));
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = NORMAL");
    run(schema);
    check(sqlite3_prepare_v2(handle, upsert, -1, &book, nullptr));
  }

  void check(int code) {
    if (code != SQLITE_OK) fail(sqlite3_errmsg(handle));
  }
  void run(const char *sql) { check(sqlite3_exec(handle, sql, nullptr, nullptr, nullptr)); }

  // The values have to stay where they are until the row is written.
  void bind(int column, string_view value) {
    sqlite3_bind_text(book, column, value.data(), static_cast<int>(value.size()), SQLITE_STATIC);
  }
  void bind(int column, dom::element value) {
    if (value.is_null()) {
      sqlite3_bind_null(book, column);
    } else {
      bind(column, string_view(value));
    }
  }

  void write(dom::object record) {
    const dom::object author = record["autor"], image = record["thumbnail"];
    const string tags = simdjson::minify(dom::element(record["tags"]));
    const string_view path = image["path"], extension = image["extension"];
    const string address = string(path).append(".").append(extension);

    sqlite3_bind_int64(book, 1, int64_t(record["id"]));
    bind(2, dom::element(record["title"]));
    bind(3, dom::element(author["name"]));
    bind(4, dom::element(author["country"]));
    bind(5, dom::element(record["genre"]));
    sqlite3_bind_double(book, 6, double(record["price"]));
    sqlite3_bind_int64(book, 7, int64_t(record["pages"]));
    sqlite3_bind_int(book, 8, bool(record["in_stock"]));
    bind(9, dom::element(record["published"]));
    bind(10, dom::element(record["updated_at"]));
    bind(11, dom::element(record["isbn"]));
    bind(12, string_view(tags));
    bind(13, string_view(address));
    bind(14, dom::element(record["summary"]));
    if (sqlite3_step(book) != SQLITE_DONE) fail(sqlite3_errmsg(handle));
    sqlite3_reset(book);
  }

  // As the last connection it brings what is in the log into the database.
  void close() {
    sqlite3_finalize(book);
    check(sqlite3_close(handle));
  }
};

struct Client {
  CURL *curl = curl_easy_init();
  string body;

  Client() {
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
  }

  static size_t receive(char *bytes, size_t size, size_t count, void *body) {
    static_cast<string *>(body)->append(bytes, size * count);
    return size * count;
  }

  const string &get(const string &url) {
    body.clear();
    curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
    const CURLcode code = curl_easy_perform(curl);
    if (code != CURLE_OK) fail(curl_easy_strerror(code));
    return body;
  }
};

// The address of the next page may be a path on the same server.
string following(const string &url, string_view next) {
  if (next.empty() || next.front() != '/') return string(next);
  return url.substr(0, url.find('/', url.find("://") + 3)).append(next);
}

}  // namespace

int main(int count, char **words) {
  if (count != 3) {
    fprintf(stderr, "usage: ceiling DATABASE URL\n");
    return 2;
  }
  Database database(words[1]);
  string url = words[2];
  Client client;
  dom::parser parser;
  long rows = 0;

  const auto start = std::chrono::steady_clock::now();
  try {
    database.run("BEGIN IMMEDIATE");
    while (!url.empty()) {
      const dom::element page = parser.parse(client.get(url));
      for (dom::object record : dom::array(page["data"]["results"])) {
        database.write(record);
        ++rows;
      }
      const dom::element next = page["next"];
      url = next.is_null() ? string() : following(url, string_view(next));
    }
    database.run("COMMIT");
    database.close();
  } catch (const simdjson::simdjson_error &error) {
    fail(error.what());
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  printf("ceiling: %ld rows in %.3f s, %.0f rows/s\n", rows, time.count(), rows / time.count());
}
