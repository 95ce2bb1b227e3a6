import HTTP

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Holds one token for all entities of an API, and renews it once for all that need it.
actor TokenKeeper {
  private let endpoint: TokenEndpoint
  private let place: Authentication.TokenPlace
  /// Nil for tokens that end with the program.
  private let vault: TokenVault?
  /// How long a renewal waits for another process's.
  private let wait: Duration
  /// How long a renewal whose answer must not be lost goes on when nobody waits for it any more.
  private let grace: Duration

  private var token: Token?
  /// What the endpoint gave and the store did not take: it must not be lost.
  private var unkept: Token?
  private var renewal: (number: Int, task: Task<Void, Never>)?
  private var renewals = 0
  /// Who waits for a renewal, by a number of its own.
  private var waiters: [Int: (renewal: Int, continuation: CheckedContinuation<Token, any Error>)] = [:]
  private var lastWaiter = 0

  init(
    endpoint: TokenEndpoint, place: Authentication.TokenPlace, vault: TokenVault?, wait: Duration,
    grace: Duration
  ) {
    (self.endpoint, self.place, self.vault, self.wait, self.grace) = (endpoint, place, vault, wait, grace)
  }

  /// A token that has not expired.
  func addition() async throws -> Authentication.Addition {
    if let token, token.isFresh(at: time(nil)) { return place.addition(token.value) }
    return place.addition(try await renewed(void: nil).value)
  }

  /// Makes a new token unless the refused request carried an old one.
  func renew(after refused: HTTPRequest) async throws {
    if let token, !place.addition(token.value).isCarried(by: refused), token.isFresh(at: time(nil)) { return }
    let void = token?.value
    token = nil
    _ = try await renewed(void: void)
  }

  /// - Parameter void: the value of a token that the API refused.
  private func renewed(void: String?) async throws -> Token {
    let number: Int
    if let renewal {
      number = renewal.number
    } else {
      renewals += 1
      number = renewals
      renewal = (number, Task { await self.renew(void: void, number) })
    }
    lastWaiter += 1
    let waiter = lastWaiter
    // A task's value would be waited for beyond the end of who waits.
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { waiters[waiter] = (number, $0) }
    } onCancel: {
      Task { await self.giveUp(waiter) }
    }
  }

  /// Makes a token for all that wait for this renewal.
  private func renew(void: String?, _ number: Int) async {
    let result: Result<Token, any Error>
    do { result = .success(try await obtain(void: void, number)) } catch { result = .failure(error) }
    for (waiter, waiting) in waiters where waiting.renewal == number {
      waiters[waiter] = nil
      waiting.continuation.resume(with: result)
    }
  }

  /// Lets one go that was cancelled, and ends a renewal that nobody waits for any more. One whose answer may void what
  /// the next one needs gets a while to end by itself, for which the last one stays.
  private func giveUp(_ waiter: Int) async {
    guard let number = waiters[waiter]?.renewal else { return }
    if endpoint.source.rotates, count(of: number) == 1 { try? await Task.sleep(for: grace) }
    guard let given = waiters.removeValue(forKey: waiter) else { return }
    given.continuation.resume(throwing: CancellationError())
    guard let renewal, renewal.number == number, count(of: number) == 0 else { return }
    renewal.task.cancel()
    self.renewal = nil
  }

  private func count(of number: Int) -> Int { waiters.values.count { $0.renewal == number } }

  private func obtain(void: String?, _ number: Int) async throws -> Token {
    defer { if renewal?.number == number { renewal = nil } }
    do {
      let made = try await shared(void: void)
      token = made
      return made
    } catch let error as HTTPError where error.kind != .credentials {
      throw HTTPError(.credentials, "no token: \(endpoint.url): \(error)")
    } catch let error as HTTPError {
      throw HTTPError(.credentials, "no token: \(error)")
    } catch is LeaseTimeout {
      throw HTTPError(
        .credentials,
        "no token: another process has been renewing it for more than \(wait.components.seconds) s")
    } catch let error as StoreError {
      throw HTTPError(.credentials, "no token: \(error)")
    }
  }

  private func shared(void: String?) async throws -> Token {
    guard let vault else { return try await endpoint.token(refresh: nil) }
    let lease = try await vault.lease(wait: wait)
    defer { lease.end() }
    if unkept == nil, let stored = try await vault.load() {
      hide(stored)
      if stored.value != void, stored.isFresh(at: time(nil)) { return stored }
      return try await kept(endpoint.token(refresh: stored.refresh), in: vault)
    }
    if let unkept, unkept.value != void { return try await kept(unkept, in: vault) }
    return try await kept(endpoint.token(refresh: unkept?.refresh), in: vault)
  }

  /// Keeps a token in the store, and only then hands it out.
  private func kept(_ made: Token, in vault: TokenVault) async throws -> Token {
    hide(made)
    unkept = made
    try await vault.keep(made)
    unkept = nil
    return made
  }

  private func hide(_ token: Token) {
    endpoint.redactor.add(token.value)
    if let refresh = token.refresh { endpoint.redactor.add(refresh) }
  }
}
