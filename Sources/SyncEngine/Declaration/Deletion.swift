import FoundationEssentials
import JSON

/// What happens to rows that the source no longer returns.
///
/// ```swift
/// static let deletion = Deletion<Book>.missing
/// static let deletion = Deletion<Task>.missing(within: .column(\.project, is: 10), atMost: 0.1, after: .runs(3))
/// static let deletion = Deletion<Book>.marked(\.deletedAt).verified(by: "books/{id}")
/// ```
///
/// Whatever is declared, only a walk that was provably complete removes or marks a row for its absence, and only under
/// the guard: a share of the rows, measured against the largest count of the last 24 hours, and never all of them
/// because an answer is empty. `syncd once --allow-deletes N` is a person's word for one run.
public struct Deletion<E: Entity>: Sendable {
  let policy: DeletionPolicy

  /// They stay.
  public static var never: Deletion { Deletion(policy: DeletionPolicy()) }

  /// They are deleted after a walk that was provably complete, with the default guard.
  public static var missing: Deletion { missing() }

  /// They are deleted after a walk that was provably complete.
  ///
  /// - Warning: Rows are removed from the table.
  /// - Parameters:
  ///   - scope: the rows that the source answers for; others are never touched.
  ///   - share: the largest share of the rows in scope, 0 to 1, that one run may delete; exactly the share passes.
  ///   - allowEmpty: whether an answer without any record may delete all of them.
  ///   - absence: in how many provably complete runs in a row a row has to be missing.
  public static func missing(
    within scope: RowScope<E> = .table, atMost share: Double = 0.5, allowEmpty: Bool = false,
    after absence: Absence = .runs(1)
  ) -> Deletion {
    Deletion(
      policy: DeletionPolicy(
        isByAbsence: true, bound: DeletionGuard(share: share, allowEmpty: allowEmpty),
        conditions: scope.conditions, runs: absence.count))
  }

  /// They stay, with the time at which they were found missing in a ``Local`` column, which is cleared when the row
  /// returns. A row that is marked already does not count in the guard.
  public static func marked(
    _ keyPath: any WritableKeyPath<E, Date?> & Sendable, within scope: RowScope<E> = .table,
    atMost share: Double = 0.5, allowEmpty: Bool = false, after absence: Absence = .runs(1)
  ) -> Deletion {
    var policy = missing(within: scope, atMost: share, allowEmpty: allowEmpty, after: absence).policy
    policy.mark = propertyName(of: keyPath) ?? ""
    return Deletion(policy: policy)
  }

  /// A record may say itself that its row is gone: where the path leads to anything but null, false, 0 and `""`, or to one
  /// of the given values, only its key counts, and its row is deleted or marked, in an increment too. The guard holds.
  ///
  /// ```swift
  /// static let deletion = Deletion<Note>.never.tombstone(at: "deleted")
  /// static let deletion = Deletion<Order>.missing.tombstone(at: "status", is: "removed", "void")
  /// ```
  public func tombstone(at path: JSONPath, is values: String...) -> Deletion {
    var policy = policy
    policy.tombstone = Tombstone(path: path, values: values)
    return Deletion(policy: policy)
  }

  /// Each row is asked for by itself before it goes: 404 and 410 say that it is gone. If one is there, or the answer is
  /// another one, the list was not complete, and nothing is deleted in that run.
  ///
  /// - Parameter path: as that of ``Source``, with the row's key columns in braces: `"books/{id}"`.
  public func verified(by path: String) -> Deletion {
    var policy = policy
    policy.verification = path
    return Deletion(policy: policy)
  }
}

/// How long a row has to be missing.
public struct Absence: Sendable, Hashable {
  let count: Int
  /// In so many runs in a row whose walks were provably complete.
  public static func runs(_ count: Int) -> Absence { Absence(count: count) }
}

/// The rows of a table that a source answers for.
public struct RowScope<E: Entity>: Sendable {
  let conditions: [RowCondition]

  /// All of them.
  public static var table: RowScope { RowScope(conditions: []) }

  /// Those with a value in a column.
  public static func column<V: ColumnValue>(
    _ keyPath: any KeyPath<E, V> & Sendable, is value: V
  ) -> RowScope {
    RowScope(conditions: [.equal(property: propertyName(of: keyPath) ?? "", value.stored)])
  }

  /// Those for which an SQL expression over the table's columns is true, such as `"origin = 'remote'"`.
  public static func sql(_ condition: String) -> RowScope { RowScope(conditions: [.sql(condition)]) }

  /// Those in both scopes.
  public func and(_ other: RowScope) -> RowScope { RowScope(conditions: conditions + other.conditions) }
}

/// What is true of rows in a scope.
enum RowCondition: Sendable {
  case equal(property: String, StoredValue)
  case sql(String)
}

/// A ``Deletion`` without its Swift type.
struct DeletionPolicy: Sendable {
  var isByAbsence = false
  var bound = DeletionGuard(share: 0.5, allowEmpty: false)
  var conditions: [RowCondition] = []
  var runs = 1
  /// The property of the column that takes the time in place of a removal.
  var mark: String?
  var verification: String?
  var tombstone: Tombstone?
}

/// What tells a record that stands for a row which is gone.
struct Tombstone: Sendable {
  let path: JSONPath
  /// Where empty, anything that says yes.
  let values: [String]

  /// - Throws: where it cannot be told whether the row is alive.
  func isOne(_ record: JSONValue) throws(JSONPath.Obstacle) -> Bool {
    // What is no object is bad by the mapping, with its own message.
    guard record.kind == .object, let found = try path.value(in: record) else { return false }
    if !values.isEmpty { return found.scalarText.map(values.contains) ?? false }
    return !found.saysNothing
  }
}
