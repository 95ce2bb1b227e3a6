import SyncEngine

/// 035: two declarations share a table, and rows of other programs live there too.
enum ScopedDelete {
  struct Ten: Entity {
    var id: Int64 = 0
    var project: Int64?
    var origin: String?
    var title: String?
    static let table = "tasks"
    static let name = "p10"
    static let source = Source(.case, "projects/10/tasks", paging: .none)
    static var mapping: Mapping<Ten> {
      Key(\.id)
      Field(\.project, constant: 10)
      Field(\.origin, constant: "remote")
      Field(\.title)
    }
    static let deletion = Deletion<Ten>.missing(
      within: .column(\.project, is: 10).and(.column(\.origin, is: "remote")))
  }

  /// An empty list is one.
  struct EmptyTen: Entity {
    var id: Int64 = 0
    var project: Int64?
    var origin: String?
    var title: String?
    static let table = "tasks"
    static let name = "p10"
    static let source = Source(.case, "projects/10/tasks", paging: .none)
    static var mapping: Mapping<EmptyTen> {
      Key(\.id)
      Field(\.project, constant: 10)
      Field(\.origin, constant: "remote")
      Field(\.title)
    }
    static let deletion = Deletion<EmptyTen>.missing(
      within: .column(\.project, is: 10).and(.column(\.origin, is: "remote")), allowEmpty: true)
  }

  struct Twenty: Entity {
    var id: Int64 = 0
    var project: Int64?
    var origin: String?
    var title: String?
    static let table = "tasks"
    static let name = "p20"
    static let source = Source(.case, "projects/20/tasks", paging: .none)
    static var mapping: Mapping<Twenty> {
      Key(\.id)
      Field(\.project, constant: 20)
      Field(\.origin, constant: "remote")
      Field(\.title)
    }
    static let deletion = Deletion<Twenty>.missing(within: .sql("project = 20 AND origin = 'remote'"))
  }
}
