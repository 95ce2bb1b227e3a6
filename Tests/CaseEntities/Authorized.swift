import SyncEngine

/// Entities behind credentials, which come from the environment.
enum Authorized {
  private static let account = Secret.environment("AUTH_ID")
  private static let key = Secret.environment("AUTH_SECRET")
  private static let password = Secret.environment("AUTH_PASSWORD")

  private static func source(_ path: String, _ auth: Authentication) -> Source {
    Source(
      API("auth", url: "http://127.0.0.1:1/", auth: auth, retry: .none), path, rows: "data",
      paging: .next("next"))
  }

  struct Refreshed: Entity {
    var id = 0
    var v: String?
    static let source = Authorized.source(
      "oauth/items", .refreshToken(.environment("AUTH_REFRESH"), at: "token", client: account, secret: key))
    static var mapping: Mapping<Refreshed> {
      Key(\.id)
      Field(\.v)
    }
  }

  struct LoggedIn: Entity {
    var id = 0
    var v: String?
    static let source = Authorized.source(
      "session/items",
      .login(
        "login", ["user": .command(["printf", "ann"]), "password": password], adding: ["realm": "staff"],
        token: .cookie("SID")))
    static var mapping: Mapping<LoggedIn> {
      Key(\.id)
      Field(\.v)
    }
  }

  struct Basic: Entity {
    var id = 0
    var v: String?
    static let source = Authorized.source(
      "basic/items", .basic(user: .command(["printf", "ann"]), password: password))
    static var mapping: Mapping<Basic> {
      Key(\.id)
      Field(\.v)
    }
  }

  struct Signed: Entity {
    var id = 0
    var v: String?
    static let source = Authorized.source(
      "aws/items",
      .awsSignature(accessKey: account, secretKey: key, sessionToken: password, region: "r", service: "s"))
    static var mapping: Mapping<Signed> {
      Key(\.id)
      Field(\.v)
    }
  }
}
