import Foundation
import TestSupport

/// Answers in the shapes of the four APIs, written by hand.
enum SeedServer {
  static let fixtures = Repository.root + "/Tests/Fixtures"

  static func books(_ file: String = "books.json") -> Route {
    Route("/books", file: "\(fixtures)/books/\(file)")
  }

  static let articles = (0...2).map { page in
    Route("/articlesearch.json", query: ["page": "\(page)"], file: "\(fixtures)/articles/page\(page).json")
  }

  static let heroes = [0, 100, 200].map { offset in
    Route(
      "/characters", query: ["offset": "\(offset)", "limit": "100"],
      file: "\(fixtures)/characters/offset\(offset).json", replace: ["http://i.example.com": "{{base}}"])
  }

  static let pictures = (1...250).map {
    Route("/u/prod/\(String($0, radix: 16))/52.jpg", body: "picture \($0)")
  }

  static let posts =
    [Route("/posts", file: "\(fixtures)/posts/posts.json")]
    + (1...4).map { Route("/posts/\($0)/comments", file: "\(fixtures)/posts/comments-\($0).json") }
}
