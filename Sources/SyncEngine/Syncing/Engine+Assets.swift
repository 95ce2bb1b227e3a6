extension Engine {
  /// Downloads what the committed rows' addresses lead to; nil where nothing is declared. The rows stay whatever
  /// becomes of it: what is missing is told, and tried again by the next run.
  func fetchAssets(_ prepared: Prepared) async -> AssetReport? {
    let declared = prepared.plan.tables.flatMap { schema in schema.assets.map { (schema, $0) } }
    // Which rows are a slice's is not known: they have theirs when all slices were walked.
    guard !declared.isEmpty, prepared.plan.slice == nil else { return nil }
    let fetcher = AssetFetcher(
      client: prepared.client, home: prepared.plan.requests.origin,
      concurrency: prepared.plan.source.api.concurrency, redactor: redactor)
    var total = AssetReport()
    for (schema, asset) in declared {
      do {
        let pending = try await store.pendingAssets(asset, in: schema)
        let report = await fetcher.fetch(pending, asset) { try await store.save($0, asset, in: schema) }
        total.fetched += report.fetched
        total.unchanged += report.unchanged
        total.failed += report.failed
        total.failure = total.failure ?? report.failure
      } catch {
        total.failed += 1
        total.failure =
          total.failure ?? (error is CancellationError ? "the run was stopped" : redactor.redact("\(error)"))
      }
    }
    return total
  }
}
