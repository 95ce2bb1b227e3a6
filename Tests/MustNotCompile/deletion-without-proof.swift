// expect: 'ArmedDeletion?' initializer is inaccessible
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

func delete(_ seen: KeyIndex) -> ArmedDeletion? {
  ArmedDeletion(seen: seen, scope: nil, mark: nil, allowed: nil)
}
