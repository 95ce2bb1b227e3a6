import CCrypto

/// A file of certificates in PEM form.
package enum CertificateFile {
  /// When the first certificate of a file ends, in milliseconds since 1970; nil where the file holds none.
  package static func end(of path: String) -> Int64? {
    guard let file = BIO_new_file(path, "r") else { return nil }
    defer { BIO_free(file) }
    guard let certificate = PEM_read_bio_X509(file, nil, nil, nil) else { return nil }
    defer { X509_free(certificate) }
    let epoch = ASN1_TIME_set(nil, 0)
    defer { ASN1_TIME_free(epoch) }
    var (days, seconds): (Int32, Int32) = (0, 0)
    guard ASN1_TIME_diff(&days, &seconds, epoch, X509_get0_notAfter(certificate)) == 1 else { return nil }
    return (Int64(days) * 86_400 + Int64(seconds)) * 1000
  }
}
