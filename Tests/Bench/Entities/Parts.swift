import SyncEngine

import struct FoundationEssentials.Date

/// A thousand entities: a type for each three digits, with a table and an address of its own.
enum Parts {
  static var all: [any Entity.Type] {
    digits.flatMap { a in digits.flatMap { b in digits.map { c in part(a, b, c) } } }
  }

  private static let digits: [any Digit.Type] = [
    Zero.self, One.self, Two.self, Three.self, Four.self, Five.self, Six.self, Seven.self, Eight.self,
    Nine.self,
  ]

  private static func part<A: Digit, B: Digit, C: Digit>(
    _: A.Type, _: B.Type, _: C.Type
  ) -> any Entity.Type {
    Part<A, B, C>.self
  }

  struct Part<A: Digit, B: Digit, C: Digit>: Entity {
    var id: Int64 = 0
    var name = ""
    var price: Double?
    var stock: Int?
    var updatedAt: Date?

    static var number: String { "\(A.value)\(B.value)\(C.value)" }
    static var table: String { "part_\(number)" }
    static var source: Source { Source(.bench, "parts/\(number).json", paging: .none) }

    static var mapping: Mapping<Part> {
      Key(\.id)
      Field(\.name)
      Field(\.price)
      Field(\.stock)
      Field(\.updatedAt)
    }

    static var deletion: Deletion<Part> { .missing }
  }

  protocol Digit: Sendable { static var value: Int { get } }

  enum Zero: Digit { static let value = 0 }
  enum One: Digit { static let value = 1 }
  enum Two: Digit { static let value = 2 }
  enum Three: Digit { static let value = 3 }
  enum Four: Digit { static let value = 4 }
  enum Five: Digit { static let value = 5 }
  enum Six: Digit { static let value = 6 }
  enum Seven: Digit { static let value = 7 }
  enum Eight: Digit { static let value = 8 }
  enum Nine: Digit { static let value = 9 }
}
