import SyncEngine

/// Whether what an API asks for as proof is there. No value is shown.
enum SecretCheck {
  static func run(_ api: APIUnderCheck, engine: Engine?, all: [any Entity.Type]) -> [Finding] {
    let secrets = api.api.secrets
    let subject = "secrets of \(api.name)"
    let faults = secrets.compactMap(\.fault)
    if !faults.isEmpty {
      return faults.map { fault in
        Finding(
          .failure, subject, fault,
          advice:
            "set it where the program is started: export it, or name it in the service's EnvironmentFile= or LoadCredential=; a file has to be readable for this user"
        )
      }
    }
    // What is more than a value: netrc files, keys that can be read, files for TLS.
    if let engine, let entity = api.entities.first {
      do { try engine.prepare(all, needingSecrets: [entity]) } catch let error as DeclarationError {
        return [
          Finding(
            .failure, "access to \(api.name)", error.message, advice: "correct what it names, then look again"
          )
        ]
      } catch { return [Finding(.failure, "access to \(api.name)", "\(error)")] }
    }
    if secrets.isEmpty { return [] }
    return [Finding(.ok, subject, secrets.map(\.description).joined(separator: ", "))]
  }
}
