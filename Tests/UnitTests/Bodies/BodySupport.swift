import HTTP
import JSON

@testable import SyncEngine

/// What a body reads as: its JSON text, or why it does not.
func read(
  _ body: [UInt8], _ format: BodyFormat, rows: Rows = .list(.root), type: String? = nil,
  headers: HTTPHeaders = ["Content-Length": "1"], keys: [[String]] = [], redactor: Redactor = Redactor()
) throws -> String {
  var headers = headers
  if let type { headers["Content-Type"] = type }
  let response = HTTPResponse(
    status: 200, headers: headers, body: body, url: try HTTPURL("https://probe.example.invalid/"))
  do {
    return try BodyReader(format, rows: rows, keyMembers: keys, redactor: redactor)
      .document(of: response).root.text
  } catch { return error.description }
}

func read(
  _ body: String, _ format: BodyFormat, rows: Rows = .list(.root), type: String? = nil,
  headers: HTTPHeaders = ["Content-Length": "1"], keys: [[String]] = []
) throws -> String {
  try read(Array(body.utf8), format, rows: rows, type: type, headers: headers, keys: keys)
}

/// An answer that ends with its connection.
let withoutLength: HTTPHeaders = [:]
