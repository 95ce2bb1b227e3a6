import Foundation
import TestSupport

/// A smaller copy of the benchmark's source: pages of books that link to each other.
struct BookPages {
  let folder: TemporaryFolder
  let pages: Int

  /// - Parameters:
  ///   - edition: stands in every row, so that rows of two editions cannot be taken for each other.
  ///   - ids: the books there are.
  init(edition: Int, ids: Range<Int>, perPage: Int = 500) throws {
    folder = try TemporaryFolder()
    let starts = Array(stride(from: ids.lowerBound, to: ids.upperBound, by: perPage))
    pages = starts.count
    for (index, start) in starts.enumerated() {
      let books = (start..<min(start + perPage, ids.upperBound)).map { Self.book($0, edition: edition) }
      let next = index + 1 < pages ? "\"{{base}}/books/\(index + 2).json\"" : "null"
      let body = "{\"data\":{\"results\":[\(books.joined(separator: ",\n"))]},\"next\":\(next)}"
      try body.write(toFile: "\(folder.path)/\(index + 1).json", atomically: false, encoding: .utf8)
    }
  }

  private static func book(_ id: Int, edition: Int) -> String {
    """
    {"id":\(id),"title":"Title \(id) of edition \(edition)","autor":{"name":"Author \(id % 97)","country":null},\
    "genre":"Novel","price":\(id % 100).\(id % 9 + 1),"pages":\(50 + id % 900),"in_stock":\(id % 2 == 0),\
    "published":"20\(10 + id % 15)-0\(id % 9 + 1)-15T10:00:00Z","updated_at":"2026-01-0\(edition)T00:00:00Z",\
    "isbn":"978-\(id)","tags":["a","b\(id % 7)"],"thumbnail":{"path":"http://i.example/\(id)","extension":"jpg"},\
    "summary":"\(String(repeating: "word \(id % 13) ", count: 20))"}
    """
  }

  var routes: [Route] {
    (1...pages).map { Route("/books/\($0).json", file: "\(folder.path)/\($0).json") }
  }
}
