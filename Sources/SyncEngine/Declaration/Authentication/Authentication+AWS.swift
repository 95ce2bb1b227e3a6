extension Authentication {
  /// AWS Signature Version 4 in the Authorization field
  /// (docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
  ///
  /// ```swift
  /// .awsSignature(
  ///   accessKey: .environment("AWS_ACCESS_KEY_ID"), secretKey: .environment("AWS_SECRET_ACCESS_KEY"),
  ///   region: "eu-central-1", service: "execute-api")
  /// ```
  ///
  /// Signed are Host, Content-Type, all `X-Amz-` fields, the whole query and the body.
  ///
  /// - Parameter sessionToken: of temporary credentials.
  public static func awsSignature(
    accessKey: Secret, secretKey: Secret, sessionToken: Secret? = nil, region: String, service: String
  ) -> Authentication {
    Authentication(
      .awsSignature(
        AWSSignature(
          secrets: [accessKey, secretKey] + (sessionToken.map { [$0] } ?? []), region: region,
          service: service)))
  }
}
