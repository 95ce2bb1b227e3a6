// expect: 'ProofOfCompleteness' initializer is inaccessible
import SyncEngine

extension API { static let test = API("test", url: "https://api.example.invalid/") }

let proof = ProofOfCompleteness(walks: 1, mayShift: false)
