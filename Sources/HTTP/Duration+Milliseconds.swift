extension Duration {
  /// Whole milliseconds, cut toward zero.
  public var milliseconds: Int {
    Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000)
  }
}
