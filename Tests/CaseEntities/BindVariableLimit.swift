import SyncEngine

/// 040: 2,000 records of 40 fields in one page, the first one nearly empty.
enum BindVariableLimit {
  struct Wide: Entity {
    var id: Int64 = 0
    var c1: Int64?
    var c2: Int64?
    var c3: Int64?
    var c4: Int64?
    var c5: Int64?
    var c6: Int64?
    var c7: Int64?
    var c8: Int64?
    var c9: Int64?
    var c10: Int64?
    var c11: Int64?
    var c12: Int64?
    var c13: Int64?
    var c14: Int64?
    var c15: Int64?
    var c16: Int64?
    var c17: Int64?
    var c18: Int64?
    var c19: Int64?
    var c20: Int64?
    var c21: Int64?
    var c22: Int64?
    var c23: Int64?
    var c24: Int64?
    var c25: Int64?
    var c26: Int64?
    var c27: Int64?
    var c28: Int64?
    var c29: Int64?
    var c30: Int64?
    var c31: Int64?
    var c32: Int64?
    var c33: Int64?
    var c34: Int64?
    var c35: Int64?
    var c36: Int64?
    var c37: Int64?
    var c38: Int64?
    var c39: Int64?
    static let source = Source(.case, "wide", paging: .none)
    static var mapping: Mapping<Wide> {
      Key(\.id)
      Field(\.c1)
      Field(\.c2)
      Field(\.c3)
      Field(\.c4)
      Field(\.c5)
      Field(\.c6)
      Field(\.c7)
      Field(\.c8)
      Field(\.c9)
      Field(\.c10)
      Field(\.c11)
      Field(\.c12)
      Field(\.c13)
      Field(\.c14)
      Field(\.c15)
      Field(\.c16)
      Field(\.c17)
      Field(\.c18)
      Field(\.c19)
      Field(\.c20)
      Field(\.c21)
      Field(\.c22)
      Field(\.c23)
      Field(\.c24)
      Field(\.c25)
      Field(\.c26)
      Field(\.c27)
      Field(\.c28)
      Field(\.c29)
      Field(\.c30)
      Field(\.c31)
      Field(\.c32)
      Field(\.c33)
      Field(\.c34)
      Field(\.c35)
      Field(\.c36)
      Field(\.c37)
      Field(\.c38)
      Field(\.c39)
    }
  }
}
