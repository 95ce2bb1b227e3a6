import HTTP

/// The entities of a program have names of their own, and every parent is among them.
enum EntityListValidator {
  static func validate(_ plans: [EntityPlan]) throws(DeclarationError) {
    if plans.isEmpty {
      throw DeclarationError("no entity is declared; add one to the program's list of entities")
    }
    var names: [String: String] = [:]
    for plan in plans {
      if let twin = names.updateValue(plan.name, forKey: plan.name.asciiLowercased) {
        throw DeclarationError(
          plan.name == plan.schema.name
            ? "two entities have the table \"\(twin)\"\(twin == plan.name ? "" : " (case does not count)"); give them names of their own: static let name = …"
            : "two entities are named \"\(twin)\"")
      }
    }
    for (table, sharing) in Dictionary(grouping: plans, by: { $0.schema.name.asciiLowercased })
    where sharing.count > 1 {
      if let plan = sharing.first(where: {
        $0.deletion.isByAbsence && $0.deletion.conditions.isEmpty && $0.parent == nil
      }) {
        throw DeclarationError(
          "\(plan.name): the table \"\(table)\" is that of \(sharing.map(\.name).joined(separator: " and ")) too, and what is missing here may be there; say which rows are this one's: .missing(within: …)"
        )
      }
    }
    let tables = Set(plans.map { $0.schema.name.asciiLowercased })
    for plan in plans {
      if let parent = plan.parent, plan.source.parents?.entity != nil,
        !tables.contains(parent.schema.name.asciiLowercased)
      {
        throw DeclarationError(
          "\(plan.name): its parent \"\(parent.schema.name)\" is not in the program's list of entities")
      }
    }
    var owners: [String: String] = [:]
    for schema in plans.flatMap(\.tables) {
      guard let owner = schema.references.first(where: \.isOwner)?.table else { continue }
      if let other = owners.updateValue(owner, forKey: schema.name.asciiLowercased), other != owner {
        throw DeclarationError(
          "the table \"\(schema.name)\" belongs to rows of \"\(other)\" and of \"\(owner)\"; children of two kinds of rows need two tables"
        )
      }
    }
    // The same name is the same API: its limits and its configured URL hold for all of its entities.
    var urls: [String: String] = [:]
    for plan in plans {
      let api = plan.source.api
      if let other = urls.updateValue(api.url, forKey: api.name), other != api.url {
        throw DeclarationError(
          "two APIs are named \"\(api.name)\": \(HTTPURL.withoutUser(other)) and \(HTTPURL.withoutUser(api.url))"
        )
      }
    }
  }
}
