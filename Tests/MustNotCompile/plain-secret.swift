// expect: cannot convert value of type 'String' to expected argument type 'Secret'
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

let api = API("test2", url: "https://api.example.invalid/", auth: .bearer("a token in the source"))
