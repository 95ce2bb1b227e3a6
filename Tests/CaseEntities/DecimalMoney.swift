import SyncEngine

import struct FoundationEssentials.Decimal

/// 004: money sent as JSON numbers keeps its digits.
enum DecimalMoney {
  struct Invoice: Entity {
    var id: Int64 = 0
    var amount: Decimal?
    static let table = "invoices"
    static let source = Source(.case, "invoices", paging: .none)
    static var mapping: Mapping<Invoice> {
      Key(\.id)
      Field(\.amount)
    }
  }
}
