import SyncEngine
import TestSupport
import Testing

/// What each style asks for, request by request, over five records in pages of two.
@Suite("Requests of each paging style", .fewAtATime, .once)
struct RequestSequenceTests {
  private func check(
    _ path: String, _ paging: Paging, query: Query = [:], body: RequestBody? = nil, options: String = "",
    pages: Int = 3, requests: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let source = Source(.pages(), path, query: query, body: body, rows: "data", paging: paging, maxPages: 9)
    let walk = try await PageServer.walk(source, "{\"n\": 5, \"size\": 2\(options)}", as: KeptRow.self)
    expect(walk.list, is: requests, sourceLocation: sourceLocation)
    #expect(
      walk.line == "\(pages) pages, 5 records, 5 inserted, 0 updated, 0 unchanged, 0 deleted, proven",
      sourceLocation: sourceLocation)
  }

  @Test func none() async throws {
    try await check("all", .none, pages: 1, requests: "GET /all")
  }

  @Test("links: in the body, in a field of their own, in the Link header by any relation")
  func links() async throws {
    try await check("next", .next("next"), requests: "GET /next\nGET /next?p=1\nGET /next?p=2")
    try await check(
      "next-header", .next(header: "next-page"),
      requests: "GET /next-header\nGET /next-header?p=1\nGET /next-header?p=2")
    try await check("link", .linkHeader, requests: "GET /link\nGET /link?p=1\nGET /link?p=2")
    try await check(
      "link", .linkHeader(rel: "Older"), options: #", "rel": "older""#,
      requests: "GET /link\nGET /link?p=1\nGET /link?p=2")
  }

  @Test("a link is asked for by POST with the same body where the first page was")
  func linkByPost() async throws {
    try await check(
      "next", .next("next"), body: .json(["q": "x"]),
      requests: #"""
        POST /next {"q":"x"}
        POST /next?p=1 {"q":"x"}
        POST /next?p=2 {"q":"x"}
        """#)
  }

  @Test("a cursor out of the body or a header goes into the query, a header, a JSON body or a form")
  func cursorPlaces() async throws {
    try await check(
      "cursor", .cursor("cursor", parameter: "after"),
      requests: "GET /cursor\nGET /cursor?after=t1\nGET /cursor?after=t2")
    try await check(
      "cursor-header", .cursor(header: "X-Next", parameter: "after"),
      requests: "GET /cursor-header\nGET /cursor-header?after=t1\nGET /cursor-header?after=t2")
    try await check(
      "cursor", .cursor("cursor", parameter: "X-After", in: .header),
      requests: "GET /cursor\nGET /cursor X-After: t1\nGET /cursor X-After: t2")
    try await check(
      "cursor", .cursor("cursor", parameter: "paging.after", in: .body),
      body: .json(["q": "x", "paging": ["size": 2]]),
      requests: #"""
        POST /cursor {"q":"x","paging":{"size":2}}
        POST /cursor {"q":"x","paging":{"size":2,"after":"t1"}}
        POST /cursor {"q":"x","paging":{"size":2,"after":"t2"}}
        """#)
    try await check(
      "cursor", .cursor("cursor", parameter: "after", in: .body), body: .form(["q": "a b"]),
      requests: "POST /cursor q=a%20b\nPOST /cursor q=a%20b&after=t1\nPOST /cursor q=a%20b&after=t2")
    try await check(
      "cursor", .cursor("cursor", parameter: "after", in: .body),
      body: .graphQL("query { x }", variables: ["first": 2]),
      requests: #"""
        POST /cursor {"query":"query { x }","variables":{"first":2}}
        POST /cursor {"query":"query { x }","variables":{"first":2,"after":"t1"}}
        POST /cursor {"query":"query { x }","variables":{"first":2,"after":"t2"}}
        """#)
  }

  @Test("a cursor that is a number stays one in JSON, text that looks like one stays text")
  func numberCursors() async throws {
    try await check(
      "cursor", .cursor("cursor", parameter: "after", in: .body), body: .json([:]),
      options: #", "token": "number""#,
      requests: "POST /cursor {}\nPOST /cursor {\"after\":1}\nPOST /cursor {\"after\":2}")
    try await check(
      "cursor", .cursor("cursor", parameter: "after", in: .body), body: .json([:]),
      options: #", "token": "{}""#,
      requests: #"""
        POST /cursor {}
        POST /cursor {"after":"1"}
        POST /cursor {"after":"2"}
        """#)
  }

  @Test("braces, quotes and separators in a token are sent as they are")
  func braces() async throws {
    let token = #", "token": "{{a}}{parent.id}&\"{}""#
    try await check(
      "cursor", .cursor("cursor", parameter: "after", in: .body), body: .json([:]), options: token,
      requests: #"""
        POST /cursor {}
        POST /cursor {"after":"{{a}}{parent.id}&\"1"}
        POST /cursor {"after":"{{a}}{parent.id}&\"2"}
        """#)
  }

  @Test("a parameter of the paging stands in place of the source's own, as where the first cursor is given")
  func firstCursor() async throws {
    try await check(
      "cursor", .cursor("cursor", parameter: "after"), query: ["after": "*", "q": "x"],
      requests: "GET /cursor?after=%2A&q=x\nGET /cursor?q=x&after=t1\nGET /cursor?q=x&after=t2")
    try await check(
      "cursor", .cursor("cursor", parameter: "after", in: .body), body: .json(["after": nil]),
      requests: #"""
        POST /cursor {"after":null}
        POST /cursor {"after":"t1"}
        POST /cursor {"after":"t2"}
        """#)
  }

  @Test("offsets and page numbers stop at the total; in a body they are numbers")
  func counted() async throws {
    try await check(
      "offset", .offset("offset", limit: "limit", size: 2, total: "total"), options: #", "total": true"#,
      requests: """
        GET /offset?offset=0&limit=2
        GET /offset?offset=2&limit=2
        GET /offset?offset=4&limit=2
        """)
    try await check(
      "page", .page("page", pages: "pages"), options: #", "pages": true"#,
      requests: "GET /page?page=1\nGET /page?page=2\nGET /page?page=3")
    try await check(
      "page", .page("page", size: 2, sizeParameter: "per_page", total: "total", in: .body),
      body: .json(["per_page": 1]), options: #", "total": true"#,
      requests: #"""
        POST /page {"page":1,"per_page":2}
        POST /page {"page":2,"per_page":2}
        POST /page {"page":3,"per_page":2}
        """#)
    try await check(
      "offset", .offset("offset", size: 2, total: "total", in: .body), body: .form(["q": "x"]),
      options: #", "total": true"#,
      requests: """
        POST /offset q=x&offset=0
        POST /offset q=x&offset=2
        POST /offset q=x&offset=4
        """)
  }

  @Test("keysets go on from the last record, as number or text, and end at an empty page or by the flag")
  func keyset() async throws {
    try await check(
      "keyset", .keyset("after", field: "id", size: 2, sizeParameter: "limit"), pages: 4,
      requests: """
        GET /keyset?limit=2
        GET /keyset?after=2&limit=2
        GET /keyset?after=4&limit=2
        GET /keyset?after=5&limit=2
        """)
    try await check(
      "keyset", .keyset("after", field: "id", more: "more", in: .body), body: .json([:]),
      options: #", "more": true"#,
      requests: "POST /keyset {}\nPOST /keyset {\"after\":2}\nPOST /keyset {\"after\":4}")
    // The sort values of a search, which only a body takes.
    try await check(
      "keyset", .keyset("after", field: "sort", isUnique: true, more: "more", in: .body), body: .json([:]),
      options: #", "more": true, "sort": true"#,
      requests: #"""
        POST /keyset {}
        POST /keyset {"after":[2, "b2"]}
        POST /keyset {"after":[4, "b4"]}
        """#)
    let inQuery = try await PageServer.walk(
      Source(.pages(), "keyset", rows: "data", paging: .keyset("after", field: "sort")),
      #"{"n": 5, "size": 2, "sort": true}"#, as: KeptRow.self)
    #expect(inQuery.line.hasSuffix(#"the record has no "sort" to go on from"#), "\(inQuery.line)")
  }

  @Test func ranges() async throws {
    try await check(
      "range", .range("items", size: 2),
      requests: """
        GET /range Range: items=0-1
        GET /range Range: items=2-3
        GET /range Range: items=4-5
        """)
  }

  @Test("a flag that there is more ends the walk where it is false")
  func flag() async throws {
    try await check(
      "cursor", .cursor("cursor", parameter: "after", more: "more"), options: #", "more": true"#,
      requests: "GET /cursor\nGET /cursor?after=t1\nGET /cursor?after=t2")
  }

  @Test("what goes into a body needs one")
  func noBody() async throws {
    let source = Source(.pages(), "page", rows: "data", paging: .page("page", in: .body))
    let walk = try await PageServer.walk(source, #"{"n": 1}"#)
    #expect(
      walk.line.hasSuffix("the paging sets \"page\" in the body, but the source declares none"),
      "\(walk.line)")
    #expect(walk.requests.isEmpty)
  }
}
