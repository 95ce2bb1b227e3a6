import PostgresStore
import SQLiteStore
import SyncCommand
import SyncEngine

@main
struct Main: SyncCommand {
  static let entities: [any Entity.Type] = [
    Book.self, Article.self, Hero.self, Post.self, Comment.self,
  ]
  static let stores: [any Store.Type] = [SQLite.self, PostgreSQL.self]
}
