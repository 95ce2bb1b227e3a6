import HTTP

// What an API needs besides its server, for those who look whether it is there.
extension API {
  /// The secrets that requests are authorised by.
  package var secrets: [Secret] {
    var found: [Secret] = []
    for authentication in auth {
      switch authentication.kind {
      case .additions(let secrets, _): found += secrets
      case .token(let source, _): found += source.secrets
      case .awsSignature(let signature): found += signature.secrets
      case .tls(_, _, let password, _): found += [password].compactMap(\.self)
      case .netrc: break
      }
    }
    return found.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
  }

  /// The files of its TLS connections, with the password where that can be read; nil where none are declared.
  package var tlsFiles: TLSFiles? {
    var files: TLSFiles?
    for case .tls(let certificate, let key, let password, let authority) in auth.map(\.kind) {
      var made = files ?? TLSFiles()
      if let certificate { (made.certificate, made.key) = (certificate, key) }
      made.keyPassword = password.flatMap { try? $0.resolve() } ?? made.keyPassword
      made.authority = authority ?? made.authority
      files = made
    }
    return files
  }

  /// The address without what authentication puts into its path.
  ///
  /// - Throws: ``DeclarationError``
  package func bareAddress() throws(DeclarationError) -> HTTPURL {
    do { return try address() } catch { throw DeclarationError("API \"\(name)\": \(error)") }
  }
}

extension Secret {
  /// Why there is no value, as a sentence; nil where there is one. The value itself goes nowhere.
  package var fault: String? {
    do {
      _ = try resolve()
      return nil
    } catch {
      return error.message.replacing("its secret comes from ", with: "").replacing(", which ", with: " ")
    }
  }
}

extension Entity {
  /// How long pages of a run that was ended are of use, in milliseconds; nil where none are kept.
  package static var journalValidity: Int64? { source.resume.age }
}

extension Engine {
  /// The tables that runs of an entity write to.
  ///
  /// - Throws: ``DeclarationError``
  package func tables(of entity: any Entity.Type) throws -> [TableSchema] { try plan(of: entity).tables }
}
