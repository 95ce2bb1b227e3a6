extension Paging {
  /// One answer is all there is.
  public static var none: Paging {
    Paging(makePager: { _ in SinglePage() }, paths: [], description: "none", reads: PageReads())
  }
}

struct SinglePage: Pager {
  func firstRequest() -> PageRequest { .items([]) }
  func decide(after page: Page) -> PageDecision { .end(.proven) }
}
