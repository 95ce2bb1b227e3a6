import HTTP
import SyncEngine

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// When certificates end: those of servers, and those that are shown to them.
enum CertificateCheck {
  private static let soon: Int64 = 14 * 86_400_000

  static func server(of api: APIUnderCheck, _ url: HTTPURL, _ tls: TLSFiles?) async -> Finding? {
    // Where there is no connection, the answer to the request has said so.
    guard let certificate = try? await ServerCertificate.of(url, tls: tls), let end = certificate.ends else {
      return nil
    }
    let subject = "certificate of \(api.name)"
    let now = Timestamp.now
    if let begins = certificate.begins, begins > now {
      return Finding(
        .failure, subject, "\(url.origin.host): valid from \(Timestamp.text(begins)) on, which is to come",
        advice: "see whether this machine's clock is right; else tell who runs the service")
    }
    return finding(
      subject, "\(url.origin.host)", end: end, now: now,
      advice:
        "tell who runs the service: its certificate has to be renewed there, and nothing can be asked once it has ended"
    )
  }

  /// Files that the API's connections are made with.
  static func files(of api: APIUnderCheck) -> [Finding] {
    guard let tls = api.api.tlsFiles else { return [] }
    return [(tls.certificate, "client certificate"), (tls.authority, "authority")].compactMap { file, kind in
      guard let file else { return nil }
      let subject = "\(kind) of \(api.name)"
      guard access(file, R_OK) == 0 else {
        return Finding(
          .failure, subject, "\(file) cannot be read: \(String(cString: strerror(errno)))",
          advice: "put the file there, readable for the user that runs this")
      }
      guard let end = CertificateFile.end(of: file) else {
        return Finding(
          .failure, subject, "\(file) holds no certificate in PEM form",
          advice: "it has to begin with -----BEGIN CERTIFICATE-----")
      }
      return finding(
        subject, file, end: end, now: Timestamp.now,
        advice: "have a new one issued and put it in the file's place; no restart is needed")
    }
  }

  private static func finding(
    _ subject: String, _ name: String, end: Int64, now: Int64, advice: String
  ) -> Finding {
    let day = Timestamp.text(end).prefix(10)
    if end <= now {
      return Finding(
        .failure, subject, "\(name): ended \(readableAge(milliseconds: now - end)) ago (\(day))",
        advice: advice)
    }
    let text = "\(name): valid for \(readableAge(milliseconds: end - now)) (until \(day))"
    return end - now < soon
      ? Finding(.warning, subject, text, advice: advice) : Finding(.ok, subject, text)
  }
}
